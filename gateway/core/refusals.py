"""The closed list of reasons why the gateway says no, with the sentence a person reads.

A Refusal names only what the person may know: the code, the job and the entry they asked for. What
went wrong inside (a host, a path, an exception) belongs to the log. Each entry speaks the same
Refusal in its own tongue: a page, problem+json, an SSH message, a closed connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Code(StrEnum):
    """Why a visit is refused or cut. The value is public: problem+json `code` and `X-Starlight-Reason`."""

    SIGN_IN = "sign_in"
    FORBIDDEN = "entry_forbidden"
    USER_DISABLED = "user_disabled"
    WRONG_PASSWORD = "wrong_password"  # noqa: S105 - the name of a refusal
    KEY_OPTION = "key_option"
    KEY_CONDITION = "key_condition"
    UNKNOWN_HOST = "unknown_host"
    NO_SUCH_JOB = "no_such_job"
    NO_SUCH_HOME = "no_such_home"
    AMBIGUOUS_JOB = "ambiguous_job"
    SEVERAL_JOBS = "several_jobs"
    NO_JOBS = "no_jobs"
    JOB_ENDED = "job_ended"
    JOB_STARTING = "job_starting"
    JOB_SUSPENDED = "job_suspended"
    NOT_LISTENING = "not_listening"
    UNREACHABLE = "job_unreachable"
    UNSUPPORTED = "unsupported"
    OPEN_NEEDS_SSHD = "open_needs_sshd"
    NEEDS_TLS = "needs_tls"
    NEEDS_CERTIFICATE = "needs_certificate"
    STALE = "snapshot_stale"
    CONTROL_AWAY = "control_away"
    BAD_REQUEST = "bad_request"
    TOO_LARGE = "too_large"
    BODY_TOO_LARGE = "body_too_large"
    TIMEOUT = "timeout"
    APP_FAULT = "app_fault"
    APP_UNVERIFIED = "app_unverified"
    MISDIRECTED = "misdirected"
    CROSS_ORIGIN = "cross_origin"
    RATE_LIMITED = "rate_limited"
    TOO_MANY_REQUESTS = "too_many_requests"
    BUSY = "gateway_busy"
    WITHDRAWN = "withdrawn"
    CUT = "visit_cut"
    IDLE = "idle"
    UPSTREAM_LOST = "upstream_lost"
    RESTARTING = "gateway_restarting"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One no: its code, and the job and entry that the person asked for where they may know them.

    `retry_s`: seconds after which trying again is worth it, where that is known.
    """

    code: Code
    job_id: str | None = None
    entry_name: str | None = None
    retry_s: int | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a person reads: an HTTP status (RFC 9110 section 15), what happened, and what to try next."""

    status: int
    zh: str
    en: str
    next_zh: str
    next_en: str


SENTENCES: Final[dict[Code, Sentence]] = {
    Code.SIGN_IN: Sentence(
        401,
        "需要先登录才能访问此入口。",
        "Sign in to use this access entry.",
        "请登录后重试。",
        "Sign in, then try again.",
    ),
    Code.FORBIDDEN: Sentence(
        403,
        "您没有访问此入口的权限。",
        "You have no right to use this access entry.",
        "请向作业的所有者索取共享码，并在控制台的“使用共享码”中输入。",
        "Ask the job's owner for a share code and redeem it in the console.",
    ),
    Code.USER_DISABLED: Sentence(
        403, "您的账号已被停用。", "Your account is disabled.", "请联系管理员。", "Please contact an administrator."
    ),
    Code.WRONG_PASSWORD: Sentence(
        401,
        "用户名或密码不正确。",
        "The user name or password is wrong.",
        "请检查后重试。",
        "Check both, then try again.",
    ),
    Code.KEY_OPTION: Sentence(
        403,
        "~/.ssh/authorized_keys 中此密钥所在行带有这里不支持的选项。",
        "In ~/.ssh/authorized_keys, the line of this key has an option that is not supported here.",
        "请去掉该选项，或在控制台的“个人设置”中添加此公钥。",
        "Remove the option, or add the key to your profile in the console.",
    ),
    Code.KEY_CONDITION: Sentence(
        403,
        "~/.ssh/authorized_keys 中此密钥所在行不允许此操作。",
        "In ~/.ssh/authorized_keys, the line of this key does not allow this.",
        "请修改该行的选项，或使用其他密钥登录。",
        "Change the options of that line, or sign in with another key.",
    ),
    Code.UNKNOWN_HOST: Sentence(
        404,
        "此地址没有对应的访问入口。",
        "No access entry has this address.",
        "请从控制台的作业详情页重新打开入口。",
        "Open the entry again from the job's page in the console.",
    ),
    Code.NO_SUCH_JOB: Sentence(
        404,
        "找不到您可以进入的同名作业。",
        "There is no job of that name that you can enter.",
        "请在控制台查看作业编号。",
        "Look up the job's id in the console.",
    ),
    Code.NO_SUCH_HOME: Sentence(
        404,
        "您在该集群上没有可以进入的主目录，或者所用的密钥在 ~/.ssh/authorized_keys 中，只能进入作业。",
        "You have no home on that cluster, or your key is one of ~/.ssh/authorized_keys, which open jobs only.",
        "请检查集群名称，或使用密码、“个人设置”中的公钥登录。",
        "Check the cluster's name, or sign in with your password or a key of your profile.",
    ),
    Code.AMBIGUOUS_JOB: Sentence(
        404,
        "有多个作业使用此名称。",
        "Several jobs have this name.",
        "请改用作业编号。",
        "Use the job's id instead.",
    ),
    Code.SEVERAL_JOBS: Sentence(
        404,
        "您有多个可以进入的作业，但没有指明要进入哪一个。",
        "There are several jobs that you can enter and none was named.",
        "请用“用户名+作业”的形式指明，例如 alice+jupyter-17。",
        "Name one as USER+JOB, for example alice+jupyter-17.",
    ),
    Code.NO_JOBS: Sentence(
        404,
        "您目前没有可以进入的作业。",
        "There is no job that you can enter now.",
        "请在控制台提交作业，或为作业添加 SSH 访问入口。",
        "Submit a job in the console, or add an ssh entry to one.",
    ),
    Code.JOB_ENDED: Sentence(
        410,
        "作业已结束，访问入口已关闭。",
        "The job has ended and its access entries are closed.",
        "如需继续使用，请重新提交作业。",
        "Submit the job again to go on.",
    ),
    Code.JOB_STARTING: Sentence(
        503, "作业尚未开始运行。", "The job is not running yet.", "请稍候片刻再试。", "Wait a moment, then try again."
    ),
    Code.JOB_SUSPENDED: Sentence(
        503,
        "作业已挂起。",
        "The job is suspended.",
        "请在控制台恢复作业后重试。",
        "Resume the job in the console, then try again.",
    ),
    Code.NOT_LISTENING: Sentence(
        502,
        "作业正在运行，但目标端口上还没有程序在监听。",
        "The job is running, but nothing in it listens on the target port yet.",
        "请稍候片刻，或检查程序监听的端口。",
        "Wait a moment, or check the port that the program listens on.",
    ),
    Code.UNREACHABLE: Sentence(
        503,
        "暂时无法连接到作业。",
        "The job cannot be reached at the moment.",
        "请稍后重试，或在作业详情页查看状态说明。",
        "Try again later, or read the status on the job's page.",
    ),
    Code.UNSUPPORTED: Sentence(
        501,
        "作业所在的环境不支持此操作。",
        "The job's environment does not support this.",
        "请改用其他方式。",
        "Please use another way.",
    ),
    Code.OPEN_NEEDS_SSHD: Sentence(
        403,
        "此入口为“开放”级别，网关不会为未登录的访客打开终端。",
        "This entry's level is open, and the gateway opens no shell for anybody without a right of their own.",
        "请让所有者将入口改为“登录”级别或通过共享码共享。",
        "Ask the owner to set the level to login, or to share it by a code.",
    ),
    Code.NEEDS_TLS: Sentence(
        403,
        "此入口不能通过未加密的端口访问。",
        "This entry cannot be used over an unencrypted port.",
        "请使用加密连接，或让所有者将入口改为“开放”级别。",
        "Use an encrypted connection, or ask the owner to set the level to open.",
    ),
    Code.NEEDS_CERTIFICATE: Sentence(
        401,
        "此客户端证书不能用于该入口，或者已过期、已被撤销。",
        "This client certificate is not for this entry, has expired, or was withdrawn.",
        "请在控制台中为该入口下载新的客户端证书。",
        "Download a new client certificate for the entry in the console.",
    ),
    Code.STALE: Sentence(
        503,
        "网关与控制服务失去联系已久，暂不接受新的访问。",
        "The gateway has been out of touch with its control service for too long to admit new visits.",
        "已打开的连接不受影响，请稍后重试。",
        "Open connections go on; try again later.",
    ),
    Code.CONTROL_AWAY: Sentence(
        503,
        "控制服务暂时没有应答。",
        "The control service does not answer at the moment.",
        "请稍后重试；SSH 密钥登录不受影响。",
        "Try again in a moment; signing in with an SSH key still works.",
    ),
    Code.BAD_REQUEST: Sentence(
        400, "无法理解此请求。", "The request is malformed.", "请检查客户端程序。", "Check the client program."
    ),
    Code.TOO_LARGE: Sentence(
        431,
        "请求头过大。",
        "The request's head is too large.",
        "请清除此网站的 Cookie 后重试。",
        "Clear this site's cookies.",
    ),
    Code.BODY_TOO_LARGE: Sentence(
        413,
        "发送的内容超过此入口允许的大小。",
        "What was sent is larger than this access entry takes.",
        "请减小内容后重试，或请作业的所有者调高上限。",
        "Send less, or ask the job's owner to raise the limit.",
    ),
    Code.TIMEOUT: Sentence(
        504, "程序没有在规定时间内应答。", "The program did not answer in time.", "请稍后重试。", "Try again later."
    ),
    Code.APP_FAULT: Sentence(
        502,
        "程序的应答不完整或不合规范。",
        "The program's answer was cut short or malformed.",
        "请查看作业日志。",
        "Look at the job's log.",
    ),
    Code.APP_UNVERIFIED: Sentence(
        502,
        "程序出示的证书与此入口指定的不一致，连接已中止。",
        "The program shows another certificate than the one named for this access entry.",
        "请联系作业的所有者；如果程序更换了证书，需要更新入口中的证书指纹。",
        "Ask the job's owner: if the program has a new certificate, the entry must be told its fingerprint.",
    ),
    Code.MISDIRECTED: Sentence(
        421,
        "此连接不能用于所请求的主机名。",
        "This connection does not serve the requested host name.",
        "请重新打开页面。",
        "Open the page again.",
    ),
    Code.CROSS_ORIGIN: Sentence(
        403,
        "请求来自其他网站，已被拒绝。",
        "The request came from another site and was refused.",
        "请直接在入口页面中操作。",
        "Do this from the entry's own page.",
    ),
    Code.RATE_LIMITED: Sentence(
        429,
        "来自此地址的尝试或连接过多。",
        "Too many attempts or connections from this address.",
        "请稍后重试。",
        "Wait a while, then try again.",
    ),
    Code.TOO_MANY_REQUESTS: Sentence(
        429,
        "您向此入口发送的请求过于频繁。",
        "You send more requests to this access entry than its owner allows.",
        "请稍后重试，或请作业的所有者调高上限。",
        "Wait a moment and try again, or ask the job's owner to raise the limit.",
    ),
    Code.BUSY: Sentence(
        503,
        "网关或此入口的连接数已达上限。",
        "The gateway, or this access entry, holds as many connections as it may.",
        "请稍后重试。",
        "Try again later.",
    ),
    Code.WITHDRAWN: Sentence(
        403,
        "访问权限已被收回，连接已断开。",
        "The right to this visit was withdrawn and the connection ended.",
        "如需继续，请联系作业的所有者。",
        "Ask the job's owner if you need to go on.",
    ),
    Code.CUT: Sentence(
        403,
        "作业的所有者或管理员断开了此连接。",
        "The job's owner or an administrator ended this connection.",
        "如仍有权限，可以重新连接。",
        "You may connect again if you still have the right to.",
    ),
    Code.IDLE: Sentence(
        403,
        "连接长时间没有数据往来，已被断开。",
        "Nothing went over this connection for so long that it was ended.",
        "请重新连接；作业不受影响。",
        "Connect again; the job goes on.",
    ),
    Code.UPSTREAM_LOST: Sentence(
        502,
        "与作业的连接中断。",
        "The connection to the job broke.",
        "请重新连接；如果再次中断，请查看作业状态。",
        "Connect again; if it breaks again, look at the job's state.",
    ),
    Code.RESTARTING: Sentence(
        503,
        "网关正在重启，连接已断开。",
        "The gateway is restarting and ended the connection.",
        "请重新连接。",
        "Connect again.",
    ),
}
"""Every code has its sentence; a test holds the list complete in both languages."""


def status(refusal: Refusal) -> int:
    """The HTTP status of a refusal."""
    return SENTENCES[refusal.code].status


def sentence(refusal: Refusal, language: str) -> str:
    """What happened, in `zh` or, for any other language, `en`."""
    said = SENTENCES[refusal.code]
    return said.zh if language == "zh" else said.en


def next_step(refusal: Refusal, language: str) -> str:
    """What the person can try, in `zh` or, for any other language, `en`."""
    said = SENTENCES[refusal.code]
    return said.next_zh if language == "zh" else said.next_en
