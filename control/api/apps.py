"""Apps: job templates that a newcomer can run at once."""

from __future__ import annotations

from typing import Final, Literal

from control.actions import apps
from control.actions.apps import AppSeen
from control.api.asked import Asked
from control.api.route import Access, Shape, route
from control.api.shapes.entries import EntryTemplate, print_spec


class Install(Shape):
    """How far an app's installation is; `progress` goes from 0 to 1."""

    state: Literal["ready", "absent", "installing", "failed"]
    progress: float | None
    message: str | None


class App(Shape):
    """A job template. The first job of one that is not installed yet has it installed."""

    name: str
    title: str
    description: str
    image: str | None
    command: list[str]
    entries: list[EntryTemplate]
    install: Install


async def list_apps(asked: Asked) -> list[App]:
    """The apps that can be submitted by name."""
    return [_print(asked, seen) for seen in apps.known(asked.ctx)]


async def install_app(asked: Asked, app: str) -> App:
    """Begins an app's installation, or joins the one under way, ahead of its first job."""
    return _print(asked, await apps.install(asked.ctx, asked.who, app))


def _print(asked: Asked, seen: AppSeen) -> App:
    language, app, state = asked.language, seen.app, seen.state
    message = None if state.message is None else state.message.say(language, {})
    return App(
        name=app.name,
        title=app.title.say(language, {}),
        description=app.description.say(language, {}),
        image=None,
        command=list(app.command),
        entries=[print_spec(spec) for spec in app.entries],
        install=Install(state=state.state.value, progress=state.progress, message=message),
    )


ROUTES: Final = (
    route("GET", "/apps", list_apps),
    route("POST", "/apps/{app}/install", install_app, access=Access.ADMIN, status=202),
)
