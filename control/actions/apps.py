"""Apps: which there are, how far their installation is, and beginning it ahead of the first job."""

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
    """Begins an app's installation, or joins the one under way. Raises ProblemError NOT_FOUND."""
    async with acting(ctx, who, "app.install", f"app:{name}"):
        found = next((app for app in ctx.apps.known() if app.name == name), None)
        if found is None:
            raise problem(Code.NOT_FOUND, what=name)
    await ctx.apps.install(name)
    return AppSeen(found, ctx.apps.state(name))
