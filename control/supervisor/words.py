"""What the supervisor tells the person at the terminal, in Chinese and English."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from control.config import Settings
from control.supervisor.data import ADMIN_PASSWORD_FILE, AUTHORITY_FILE


@dataclass(frozen=True, slots=True)
class Words:
    """One sentence in both languages."""

    zh: str
    en: str

    def in_language(self, language: str) -> str:
        """The sentence in `zh`, else in English."""
        return self.zh if language == "zh" else self.en


def language_of(environ: Mapping[str, str]) -> str:
    """`zh` when the terminal's locale is Chinese, else `en` (POSIX: LC_ALL, LC_MESSAGES, LANG in this order)."""
    locale = next((environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(name)), "")
    return "zh" if locale.startswith("zh") else "en"


def banner(settings: Settings, language: str) -> str:
    """What is told when everything serves: where the console is, the password, the ports, how to trust the CA."""
    lines = [_READY, *_console(settings), *_ports(settings), *_trust(settings)]
    return "\n".join(line.in_language(language) for line in lines)


def stopped(living: Sequence[str] | None, settings: Settings, language: str) -> str:
    """What is told when the platform has stopped: how many jobs live on, and how to end them."""
    if living is None:
        said = Words(f"{settings.data_dir} 上没有平台在运行", f"nothing runs on {settings.data_dir}")
    elif not living:
        said = Words("已停止", "stopped")
    else:
        names = ", ".join(living[:_NAMED]) + (" ..." if len(living) > _NAMED else "")
        count = len(living)
        how = "starlight down --jobs (make stop ARGS=--jobs)"
        said = Words(
            f"已停止；{count} 个作业仍在运行：{names}\n下次启动后可继续使用；要结束它们：{how}",
            f"stopped; {count} {'job lives' if count == 1 else 'jobs live'} on: {names}\n"
            f"the next start takes them up again; to end them: {how}",
        )
    return said.in_language(language)


def ended(count: int, language: str) -> str:
    """What is told when jobs were ended too."""
    return Words(f"已结束 {count} 个作业", f"ended {count} jobs").in_language(language)


_NAMED: Final = 10
"""Jobs whose ids are told when the platform stops."""
_READY = Words("星光网关已就绪。", "Starlight Gateway is ready.")


def _console(settings: Settings) -> list[Words]:
    file = settings.data_dir / ADMIN_PASSWORD_FILE
    if settings.admin_password:
        password = Words("密码由 STARLIGHT_ADMIN_PASSWORD 给出", "password as given in STARLIGHT_ADMIN_PASSWORD")
    elif file.exists():
        password = Words(f"首次密码见 {file}", f"first password in {file}")
    else:
        password = Words("密码由您保管", "password as you know it")
    return [
        Words(f"  控制台    {settings.console_url}", f"  console   {settings.console_url}"),
        Words(f"  登录      用户 admin，{password.zh}", f"  sign in   as admin, {password.en}"),
    ]


def _ports(settings: Settings) -> list[Words]:
    fixed = f"http {settings.http_port} · https {settings.https_port} · ssh {settings.ssh_port}"
    return [
        Words(
            f"  端口      {fixed} · tcp {settings.tcp_port} · 随机端口 {settings.random_ports}",
            f"  ports     {fixed} · tcp {settings.tcp_port} · random {settings.random_ports}",
        )
    ]


def _trust(settings: Settings) -> list[Words]:
    file = settings.data_dir / AUTHORITY_FILE
    system = f"sudo cp {file} /usr/local/share/ca-certificates/starlight.crt && sudo update-ca-certificates"
    return [
        Words(
            f"  信任证书  将 {file} 导入浏览器（证书颁发机构）；curl 用 --cacert；系统：",
            f"  trust     import {file} into the browser (authorities); curl: --cacert; the system:",
        ),
        Words(f"            {system}", f"            {system}"),
    ]
