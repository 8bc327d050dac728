"""Apps: which there are, and how far their installation is."""

from __future__ import annotations

from dataclasses import dataclass

from control.actions.context import Context
from control.domain.apps import App, AppState


@dataclass(frozen=True, slots=True)
class AppSeen:
    """An app and how far its installation is."""

    app: App
    state: AppState


def known(ctx: Context) -> list[AppSeen]:
    """All apps, in the order in which they are offered."""
    return [AppSeen(app, ctx.apps.state(app.name)) for app in ctx.apps.known()]
