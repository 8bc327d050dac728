"""What each Problem and each fault of a field says to a person, in Chinese and English."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from control.domain.certificate_words import CERTIFICATE_FIELDS
from control.domain.codes import Code, FieldCode
from control.domain.language import Sentence


@dataclass(frozen=True, slots=True)
class Words:
    """What a Problem of one code says: its HTTP status, a title, and what to try next."""

    status: int
    title: Sentence
    detail: Sentence


def _entry(status: int, title: tuple[str, str], detail: tuple[str, str]) -> Words:
    return Words(status, Sentence(*title), Sentence(*detail))


CATALOG: Final[dict[Code, Words]] = {
    Code.MALFORMED: _entry(
        400,
        ("请求格式错误", "Malformed request"),
        ("请求内容无法解析：{why}。", "The request could not be read: {why}."),
    ),
    Code.INVALID_INPUT: _entry(
        422,
        ("输入有误", "Invalid input"),
        ("有字段填写不正确，请按提示修改后重试。", "Some fields are not right; mend those named and try again."),
    ),
    Code.TOO_LARGE: _entry(
        413,
        ("请求过大", "Request too large"),
        ("请求内容超过上限 {limit_bytes} 字节。", "The request is over the limit of {limit_bytes} bytes."),
    ),
    Code.MEDIA_TYPE: _entry(
        415,
        ("不支持的内容类型", "Unsupported media type"),
        ("此接口只接受 {wanted}。", "This call takes {wanted} only."),
    ),
    Code.METHOD: _entry(
        405,
        ("不支持的方法", "Method not allowed"),
        ("此地址不支持该方法，可用：{allowed}。", "This address does not take that method; it takes {allowed}."),
    ),
    Code.SIGN_IN: _entry(
        401,
        ("需要登录", "Sign-in required"),
        ("请先登录，或检查令牌是否已过期。", "Sign in first, or check whether your token has expired."),
    ),
    Code.WRONG_PASSWORD: _entry(
        401,
        ("登录失败", "Sign-in failed"),
        ("用户名或密码不正确。", "The user name or the password is not right."),
    ),
    Code.TOO_MANY_ATTEMPTS: _entry(
        429,
        ("尝试次数过多", "Too many attempts"),
        (
            "密码错误次数过多，请在 {retry_after_s} 秒后重试。",
            "Too many wrong passwords; try again in {retry_after_s} s.",
        ),
    ),
    Code.RATE_LIMITED: _entry(
        429,
        ("请求过于频繁", "Too many requests"),
        ("请求过于频繁，请在 {retry_after_s} 秒后重试。", "Too many requests; try again in {retry_after_s} s."),
    ),
    Code.CSRF: _entry(
        403,
        ("缺少页面密钥", "Page secret missing"),
        (
            "使用 Cookie 时请求必须带有页面自己的密钥（X-CSRF-Token）。请重新登录。",
            "A call by cookie needs the page's own secret (X-CSRF-Token). Sign in again.",
        ),
    ),
    Code.CROSS_ORIGIN: _entry(
        403,
        ("跨站请求被拒绝", "Cross-origin request refused"),
        ("此操作只能由控制台自己的页面发起。", "Only the console's own pages may do this."),
    ),
    Code.FORBIDDEN: _entry(
        403,
        ("没有权限", "Forbidden"),
        ("您没有进行此操作的权限。", "You have no right to do this."),
    ),
    Code.ADMIN_ONLY: _entry(
        403,
        ("仅限管理员", "Administrators only"),
        ("此操作仅限管理员。", "Only an administrator can do this."),
    ),
    Code.SCOPE: _entry(
        403,
        ("令牌权限不足", "Token scope insufficient"),
        ("此令牌的权限范围是 {scope}，不能用于此操作。", "This token's scope is {scope}; it cannot do this."),
    ),
    Code.USER_DISABLED: _entry(
        403,
        ("账号已停用", "Account disabled"),
        ("此账号已被管理员停用。", "An administrator has disabled this account."),
    ),
    Code.ROUTE_NOT_FOUND: _entry(
        404,
        ("地址不存在", "No such address"),
        ("没有这个接口，请查看 /api/v1/openapi.json。", "There is no such call; see /api/v1/openapi.json."),
    ),
    Code.NOT_FOUND: _entry(
        404,
        ("未找到", "Not found"),
        ("没有找到 {what}，或您无权查看。", "There is no {what}, or you may not see it."),
    ),
    Code.USER_EXISTS: _entry(
        409,
        ("用户名已存在", "User name taken"),
        ("用户名 {name} 已被使用。", "The user name {name} is taken."),
    ),
    Code.KEY_EXISTS: _entry(
        409,
        ("公钥已存在", "Key already there"),
        ("这个公钥已经添加过：{fingerprint}。", "This public key is already there: {fingerprint}."),
    ),
    Code.LAST_ADMIN: _entry(
        409,
        ("至少保留一名管理员", "The last administrator"),
        ("平台必须至少保留一名可用的管理员。", "The platform needs at least one enabled administrator."),
    ),
    Code.USER_HAS_JOBS: _entry(
        409,
        ("用户还有作业", "The user has live jobs"),
        ("请先关闭该用户的 {count} 个作业。", "Close this user's {count} live jobs first."),
    ),
    Code.JOB_ENDED: _entry(
        409,
        ("作业已结束", "Job has ended"),
        ("作业 {job} 已经结束，不能进行此操作。", "Job {job} has ended; this cannot be done any more."),
    ),
    Code.JOB_STATE: _entry(
        409,
        ("作业状态不允许", "Not in this state"),
        ("作业 {job} 当前为“{state}”，不能进行此操作。", "Job {job} is {state}; this cannot be done now."),
    ),
    Code.ENTRY_NAME_TAKEN: _entry(
        409,
        ("入口名称重复", "Entry name taken"),
        ("此作业已有名为 {name} 的访问入口。", "This job already has an entry named {name}."),
    ),
    Code.TARGET_PORT_TAKEN: _entry(
        409,
        ("目的端口重复", "Target port taken"),
        (
            "目的端口 {port} 已被访问入口 {name} 使用。",
            "Target port {port} is already used by the entry {name}.",
        ),
    ),
    Code.TOO_MANY_JOBS: _entry(
        409,
        ("作业过多", "Too many jobs"),
        (
            "您已有 {maximum} 个未结束的作业，这是每位用户的上限；请等待或关闭其中一个后重试。",
            "You have {maximum} jobs that have not ended, the most for one person; close one or wait, then try again.",
        ),
    ),
    Code.NO_FREE_PORT: _entry(
        503,
        ("没有空闲端口", "No free port"),
        ("端口 {ports} 中没有空闲的端口，请稍后重试。", "No port of {ports} is free; try again later."),
    ),
    Code.DOMAIN_TAKEN: _entry(
        409,
        ("域名已被使用", "Domain taken"),
        (
            "域名 {domain} 已被另一个访问入口使用，该作业结束后才会释放。",
            "The domain {domain} is used by another entry; it is free again when that job ends.",
        ),
    ),
    Code.NO_ORDER: _entry(
        409,
        ("没有申请证书", "No certificate asked for"),
        (
            "访问入口 {name} 的证书不是自动签发的。",
            "The certificate of the entry {name} is not one that an authority is asked for.",
        ),
    ),
    Code.RECORD_MISSING: _entry(
        409,
        ("还没有看到 TXT 记录", "TXT record not seen yet"),
        (
            "{record} 上还没有值为 {value} 的 TXT 记录（当前：{found}）。DNS 生效可能需要几分钟。",
            "No TXT record {record} with {value} is seen yet (now: {found}). DNS can take some minutes.",
        ),
    ),
    Code.NO_DOMAIN: _entry(
        409,
        ("没有自定义域名", "No domain of its own"),
        ("访问入口 {name} 没有自定义域名。", "The entry {name} has no domain of its own."),
    ),
    Code.ENTRY_FORBIDDEN: _entry(
        403,
        ("无权访问此入口", "No right to this entry"),
        (
            "此访问入口是私有的。若您有共享码，请先使用共享码。",
            "This entry is private. If you have a share code, redeem it first.",
        ),
    ),
    Code.ENTRY_NOT_SHAREABLE: _entry(
        409,
        ("此入口无需共享码", "Not shared by code"),
        (
            "只有“私有”级别的访问入口可以用共享码共享，此入口为“{level}”。",
            "Only a private entry is shared by a code; this one's level is {level}.",
        ),
    ),
    Code.NOT_SHARED: _entry(
        404,
        ("未共享", "Not shared"),
        ("访问入口 {name} 没有共享。", "The entry {name} is not shared."),
    ),
    Code.NO_CLIENT_CERTIFICATE: _entry(
        409,
        ("此入口不用客户端证书", "No client certificate here"),
        (
            "只有“私有”或“登录”级别的 tcp 入口使用客户端证书。",
            "Only a tcp entry of level private or login takes a client certificate.",
        ),
    ),
    Code.CLIENT_CERTIFICATES_FULL: _entry(
        409,
        ("客户端证书过多", "Too many client certificates"),
        (
            "每人在一个入口上最多持有 {limit} 张证书，请先撤销不用的。",
            "A person holds at most {limit} certificates for one entry; withdraw one that is not used.",
        ),
    ),
    Code.SHARE_CODE_WRONG: _entry(
        404,
        ("共享码无效", "Share code not valid"),
        (
            "共享码不正确，或共享已取消。请向分享者确认。",
            "The share code is not right, or sharing was cancelled. Ask the person who gave it.",
        ),
    ),
    Code.SHARE_EXPIRED: _entry(
        410,
        ("共享码已过期", "Share code expired"),
        ("此共享码已过期，请向分享者索取新的。", "This share code has expired; ask for a new one."),
    ),
    Code.SHARE_USED_UP: _entry(
        410,
        ("共享码次数已用完", "Share code used up"),
        (
            "此共享码的使用次数已用完，请向分享者索取新的。",
            "This share code was used as often as allowed; ask for a new one.",
        ),
    ),
    Code.HOP_INVALID: _entry(
        403,
        ("跳转已失效", "Hop no longer valid"),
        ("此次跳转已失效或已被使用，请重新打开访问入口。", "This hop has expired or was used; open the entry again."),
    ),
    Code.CLUSTER_UNKNOWN: _entry(
        422,
        ("没有这个集群", "No such cluster"),
        (
            "没有名为 {name} 的集群或分区，可用：{known}。",
            "There is no cluster or partition {name}; there are {known}.",
        ),
    ),
    Code.CLUSTER_UNHEALTHY: _entry(
        503,
        ("集群不可用", "Cluster not available"),
        ("集群 {name} 暂时没有应答，请稍后重试。", "The cluster {name} does not answer now; try again later."),
    ),
    Code.APP_UNKNOWN: _entry(
        422,
        ("没有这个应用", "No such app"),
        ("没有名为 {name} 的应用，可用：{known}。", "There is no app {name}; there are {known}."),
    ),
    Code.ISOLATION: _entry(
        403,
        ("本机无法隔离作业", "This machine cannot isolate jobs"),
        (
            (
                "本机不支持作业隔离，因此只运行管理员的作业。管理员可运行 starlight doctor 查看原因，"
                "或设置 STARLIGHT_ALLOW_UNISOLATED=1 自行承担风险。"
            ),
            (
                "This machine cannot keep jobs apart, so only administrators' jobs run. An administrator can see why "
                "with starlight doctor, or set STARLIGHT_ALLOW_UNISOLATED=1 and bear the risk."
            ),
        ),
    ),
    Code.UNSUPPORTED: _entry(
        422,
        ("此集群不支持", "Not supported here"),
        ("集群 {cluster} 不支持：{what}。", "The cluster {cluster} does not support {what}."),
    ),
    Code.LOG_UNAVAILABLE: _entry(
        404,
        ("没有日志", "No log"),
        ("作业 {job} 还没有日志，或日志已被清理。", "Job {job} has no log yet, or it was cleared away."),
    ),
    Code.UNAVAILABLE: _entry(
        503,
        ("暂时不可用", "Temporarily unavailable"),
        ("服务暂时不可用，请稍后重试。", "The service is not available now; try again in a moment."),
    ),
    Code.INTERNAL: _entry(
        500,
        ("内部错误", "Internal error"),
        (
            "平台内部出错，已记入日志（编号 {incident}）。",
            "Something failed inside the platform; the log holds it as {incident}.",
        ),
    ),
}

FIELDS: Final[dict[FieldCode, Sentence]] = {
    FieldCode.REQUIRED: Sentence("必须填写。", "This is required."),
    FieldCode.UNKNOWN: Sentence("没有这个字段。", "There is no such field."),
    FieldCode.TYPE: Sentence("类型应为 {wanted}。", "This must be {wanted}."),
    FieldCode.TOO_SHORT: Sentence("至少 {minimum} 个字符。", "At least {minimum} characters."),
    FieldCode.TOO_LONG: Sentence("最多 {maximum} 个字符。", "At most {maximum} characters."),
    FieldCode.OUT_OF_RANGE: Sentence(
        "必须在 {minimum} 到 {maximum} 之间。", "This must lie between {minimum} and {maximum}."
    ),
    FieldCode.NOT_ONE_OF: Sentence("只能是：{allowed}。", "This must be one of: {allowed}."),
    FieldCode.USER_NAME: Sentence(
        "用户名以小写字母开头，只含小写字母、数字、_ 和 -，最多 32 个字符。",
        "A user name starts with a lower-case letter, holds only a-z, 0-9, _ and -, and has at most 32 characters.",
    ),
    FieldCode.JOB_NAME: Sentence(
        "作业名称不能含有 + % # @ : / 和控制字符，首尾不能是空格。",
        "A job name holds none of + % # @ : / and no control characters, and no space at its ends.",
    ),
    FieldCode.ENTRY_NAME: Sentence(
        "入口名称以字母或数字开头，只含字母、数字、点、_、- 和中间的空格。",
        "An entry name starts with a letter or digit and holds only letters, digits, dots, _, - and inner spaces.",
    ),
    FieldCode.CONTROL_CHARACTERS: Sentence("不能含有控制字符。", "Control characters are not allowed."),
    FieldCode.RESERVED: Sentence("{value} 是保留字。", "{value} is a reserved word."),
    FieldCode.NOT_ALLOWED: Sentence("此处不可填写。", "This is not allowed here."),
    FieldCode.ENV_NAME: Sentence(
        "环境变量名只含字母、数字和 _，不以数字开头；值不能含有空字符。",
        "A variable's name holds letters, digits and _, and does not start with a digit; a value holds no NUL.",
    ),
    FieldCode.PUBLIC_KEY: Sentence("不是有效的 SSH 公钥。", "This is not a valid SSH public key."),
    FieldCode.WRONG_PASSWORD: Sentence("密码不正确。", "This is not your password."),
    FieldCode.IN_THE_PAST: Sentence("必须是将来的时间。", "This must be a time to come."),
    FieldCode.TERMINAL_OPEN: Sentence(
        "网页终端的验证级别不能是“不验证”。",
        "A web terminal cannot have the level open.",
    ),
    **CERTIFICATE_FIELDS,
    FieldCode.NOT_BUILT: Sentence("此功能尚未提供。", "This is not built yet."),
    FieldCode.INVALID: Sentence("无效：{why}。", "Not valid: {why}."),
}
