"""The apps that the submit dialog offers. Plain data: adding an app is adding one here.

`command` is what the job runs; `{apps}` stands for the app environments' directory, `{work}` for the
job's work directory. A word that names a variable of the job (`$STARLIGHT_PORT_LAB`) is read by the
shell that the command starts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class App:
    """One template. `environment` names what has to be built first (control/apps/environments.py), None: nothing.

    `entries` are EntrySpecs as the API takes them; titles and descriptions are for people.
    """

    name: str
    title_zh: str
    title_en: str
    description_zh: str
    description_en: str
    command: tuple[str, ...]
    entries: tuple[dict[str, Any], ...]
    environment: str | None = None
    env: dict[str, str] = field(default_factory=dict)


_LAB: Final = (
    'exec "{apps}/jupyterlab/bin/python" -m jupyterlab --no-browser --ServerApp.ip=127.0.0.1 '
    '--ServerApp.port="$STARLIGHT_PORT_LAB" --ServerApp.port_retries=0 --ServerApp.root_dir="$HOME" '
    "--ServerApp.allow_remote_access=True --ServerApp.trust_xheaders=True "
    "--IdentityProvider.token= --PasswordIdentityProvider.hashed_password= "
    "--LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"
)
# No password of its own: nothing but the job's own entries reaches its port, and they ask who comes.

APPS: Final[dict[str, App]] = {
    app.name: app
    for app in (
        App(
            name="jupyterlab",
            title_zh="JupyterLab",
            title_en="JupyterLab",
            description_zh="在浏览器中编写和运行笔记本。首次使用时自动安装。",
            description_en="Notebooks in the browser. Installed by itself at its first use.",
            command=("/bin/sh", "-c", _LAB),
            entries=({"name": "lab", "protocol": "http", "level": "private", "target_port": "auto", "port": "fixed"},),
            environment="jupyterlab",
            env={"JUPYTER_PREFER_ENV_PATH": "1"},
        ),
        App(
            name="terminal",
            title_zh="网页终端",
            title_en="Web terminal",
            description_zh="在浏览器中打开作业的终端，作业保持运行直到您关闭它。",
            description_en="A terminal of the job in the browser; the job runs until you close it.",
            command=("sleep", "infinity"),
            entries=(
                {
                    "name": "web-terminal",
                    "protocol": "http",
                    "level": "private",
                    "port": "fixed",
                    "service": "terminal",
                },
            ),
        ),
    )
}


def command_of(app: App, apps_dir: str, work_dir: str) -> list[str]:
    """The app's command on this machine."""
    return [word.replace("{apps}", apps_dir).replace("{work}", work_dir) for word in app.command]


def readonly_of(app: App, apps_dir: str) -> list[str]:
    """The directories that the job must see read-only, as a start spec's `readonly` takes them."""
    return [] if app.environment is None else [f"{apps_dir}/{app.environment}"]
