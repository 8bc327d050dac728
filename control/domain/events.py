"""Events of a job: stored as code and parameters, said in the reader's language."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from control.domain.errors import Language, Sentence


class EventKind(StrEnum):
    """Whether an event is the usual course of things."""

    NORMAL = "Normal"
    WARNING = "Warning"


class EventCode(StrEnum):
    """What can happen to a job. The value is the word shown as the event's reason."""

    SUBMITTED = "Submitted"
    SCHEDULED = "Scheduled"
    CREATED = "Created"
    STARTED = "Started"
    SUSPENDED = "Suspended"
    RESUMED = "Resumed"
    FINISHED = "Finished"
    FAILED = "Failed"
    CREATE_FAILED = "CreateFailed"
    LAUNCH_REFUSED = "LaunchRefused"
    APP_INSTALLING = "Installing"
    KILLED = "Killed"
    OOM_KILLED = "OOMKilled"
    TIME_LIMIT = "TimeLimitExceeded"
    SHIM_DIED = "SupervisorLost"
    VANISHED = "Vanished"
    CLOSING = "Closing"
    CANCELLED = "Cancelled"
    OPERATOR_STOPPED = "StoppedByOperator"
    CLOSED = "Closed"
    UNREACHABLE = "EngineUnreachable"
    RECOVERED = "Recovered"
    FAULT = "Fault"
    ENTRY_ADDED = "EntryAdded"
    ENTRY_CHANGED = "EntryChanged"
    ENTRY_REMOVED = "EntryRemoved"
    ENTRY_READY = "EntryReady"
    ENTRY_SHARED = "EntryShared"
    ENTRY_UNSHARED = "EntryUnshared"
    PORT_LOST = "PortLost"
    DOMAIN_PROVED = "DomainProved"
    DOMAIN_LOST = "DomainLost"
    CERTIFICATE_REPLACED = "CertificateReplaced"
    CERTIFICATE_ENDS = "CertificateExpiring"
    CERTIFICATE_ENDED = "CertificateExpired"
    CERTIFICATE_ISSUED = "CertificateIssued"
    CERTIFICATE_REFUSED = "CertificateRefused"
    RECORD_WANTED = "RecordWanted"
    ENGINE = "Engine"


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event about to be stored with the change it tells of."""

    code: EventCode
    params: dict[str, Any] = field(default_factory=dict)
    kind: EventKind = EventKind.NORMAL


def reason(code: EventCode, params: dict[str, Any]) -> str:
    """The one word of an event. An engine's own event brings its word with it."""
    return str(params.get("reason", code.value)) if code is EventCode.ENGINE else code.value


def message(code: EventCode, params: dict[str, Any], language: Language) -> str:
    """The sentence of an event."""
    return SENTENCES[code].say(language, params)


SENTENCES: Final[dict[EventCode, Sentence]] = {
    EventCode.SUBMITTED: Sentence("{user} 提交了作业", "Submitted by {user}"),
    EventCode.SCHEDULED: Sentence("成功将 {job} 分配到 {node}", "Successfully assigned {job} to {node}"),
    EventCode.CREATED: Sentence("已创建运行环境 {job}", "Created container {job}"),
    EventCode.STARTED: Sentence("已启动 {job}", "Started container {job}"),
    EventCode.SUSPENDED: Sentence("作业已挂起，资源未释放", "Suspended; its resources stay held"),
    EventCode.RESUMED: Sentence("作业已恢复运行", "Resumed"),
    EventCode.FINISHED: Sentence("作业成功结束，退出码 0", "Finished with exit code 0"),
    EventCode.FAILED: Sentence("作业失败退出，退出码 {exit_code}", "Failed with exit code {exit_code}"),
    EventCode.CREATE_FAILED: Sentence("创建失败：{detail}", "Could not be created: {detail}"),
    EventCode.LAUNCH_REFUSED: Sentence(
        "集群拒绝启动此作业（{code}）", "The cluster refused to start this job ({code})"
    ),
    EventCode.APP_INSTALLING: Sentence("正在安装应用 {app}", "Installing the app {app}"),
    EventCode.KILLED: Sentence("作业被信号 {signal} 终止", "Ended by signal {signal}"),
    EventCode.OOM_KILLED: Sentence("作业超出内存限制，已被终止", "Ended for using more memory than its limit"),
    EventCode.TIME_LIMIT: Sentence(
        "作业超出时间限制 {time_limit_s} 秒，已被终止", "Ended at its time limit of {time_limit_s} s"
    ),
    EventCode.SHIM_DIED: Sentence(
        "看护进程已消失，作业随之结束", "The process that watches over the job is gone, and the job has ended"
    ),
    EventCode.VANISHED: Sentence("集群已没有此作业的记录", "The cluster has no trace of this job any more"),
    EventCode.CLOSING: Sentence("{user} 正在关闭作业", "{user} is closing the job"),
    EventCode.CANCELLED: Sentence("作业已由 {user} 取消", "Cancelled by {user}"),
    EventCode.OPERATOR_STOPPED: Sentence(
        "管理员停止平台时结束了该作业", "An operator ended the job while stopping the platform"
    ),
    EventCode.CLOSED: Sentence("{user} 将作业移入历史", "{user} moved the job to history"),
    EventCode.UNREACHABLE: Sentence(
        "集群没有应答，作业状态未知", "The cluster does not answer; the job's state is unknown"
    ),
    EventCode.RECOVERED: Sentence(
        "集群恢复应答，作业状态已确认", "The cluster answers again; the job's state is known"
    ),
    EventCode.FAULT: Sentence(
        "作业进程仍在运行，但已无法使用：{detail}", "The job's processes run, but it cannot be used: {detail}"
    ),
    EventCode.ENTRY_ADDED: Sentence("已添加访问入口 {entry}", "Added the entry {entry}"),
    EventCode.ENTRY_CHANGED: Sentence("已修改访问入口 {entry}", "Changed the entry {entry}"),
    EventCode.ENTRY_REMOVED: Sentence("已移除访问入口 {entry}", "Removed the entry {entry}"),
    EventCode.ENTRY_READY: Sentence("访问入口 {entry} 已启用", "The entry {entry} is served"),
    EventCode.ENTRY_SHARED: Sentence("访问入口 {entry} 已共享", "The entry {entry} is shared"),
    EventCode.ENTRY_UNSHARED: Sentence("访问入口 {entry} 已取消共享", "The entry {entry} is no longer shared"),
    EventCode.PORT_LOST: Sentence(
        "访问入口 {entry} 的端口 {port} 被占用，正在重试",
        "Port {port} of the entry {entry} is taken; it is tried again",
    ),
    EventCode.DOMAIN_PROVED: Sentence(
        "域名 {domain} 的归属已证明，访问入口 {entry} 可以使用",
        "The domain {domain} is proved to be yours; the entry {entry} uses it",
    ),
    EventCode.DOMAIN_LOST: Sentence(
        "域名 {domain} 已由证明了归属的其他人使用，访问入口 {entry} 不再等待它",
        "Somebody who proved to own the domain {domain} uses it; the entry {entry} waits for it no longer",
    ),
    EventCode.CERTIFICATE_REPLACED: Sentence(
        "访问入口 {entry} 的证书已更换，有效期至 {until}",
        "The certificate of the entry {entry} was replaced; the new one is good until {until}",
    ),
    EventCode.CERTIFICATE_ENDS: Sentence(
        "访问入口 {entry} 的证书将在 {days} 天内过期（{until}），请上传新的证书",
        "The certificate of the entry {entry} ends within {days} days, on {until}; upload a new one",
    ),
    EventCode.CERTIFICATE_ENDED: Sentence(
        "访问入口 {entry} 的证书已于 {until} 过期，浏览器会拒绝访问，请上传新的证书",
        "The certificate of the entry {entry} ended on {until} and browsers refuse it; upload a new one",
    ),
    EventCode.CERTIFICATE_ISSUED: Sentence(
        "{issuer} 已为域名 {domain} 签发证书，有效期至 {until}，到期前自动续期",
        "{issuer} gave a certificate for {domain}, good until {until}; it is renewed before",
    ),
    EventCode.CERTIFICATE_REFUSED: Sentence(
        "未能为域名 {domain} 取得证书，{next} 重试。签发机构说：{detail}（{kind}）",
        "No certificate for {domain} yet; it is asked for again at {next}. The authority says: {detail} ({kind})",
    ),
    EventCode.RECORD_WANTED: Sentence(
        "为取得域名 {domain} 的证书，请添加 TXT 记录 {record}，值为 {value}，然后点击“继续”",
        "For the certificate of {domain}, set the TXT record {record} to {value}, then say that it stands",
    ),
    EventCode.ENGINE: Sentence("{message}", "{message}"),
}
