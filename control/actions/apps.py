"""Apps: which there are, how far their installation is, and starting it."""

from __future__ import annotations

from dataclasses import dataclass

from control.actions.acting import acting
from control.actions.context import Context, Person
from control.domain.apps import App, AppState
from control.domain.errors import Code, problem


@dataclass(frozen=True, slots=True)
class AppSeen:
    """An app and how far its installation is."""

    app: App
    state: AppState


def known(ctx: Context) -> list[AppSeen]:
    """All apps, in the order in which they are offered."""
    return [AppSeen(app, ctx.apps.state(app.name)) for app in ctx.apps.known()]


async def install(ctx: Context, who: Person, name: str) -> AppSeen:
    """Starts the installation of an app. Raises ProblemError NOT_FOUND, or APP_UNAVAILABLE when it cannot start."""
    if name not in {app.name for app in ctx.apps.known()}:
        raise problem(Code.NOT_FOUND, what=name)
    async with acting(ctx, who, "app.install", f"app:{name}"):
        pass
    await ctx.apps.install(name)
    return next(seen for seen in known(ctx) if seen.app.name == name)
