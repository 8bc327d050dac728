"""The status text of a job, laid out as the manual shows it (状态说明).

Status, then the conditions, then the events; words stand four spaces apart. A condition that holds is
its name alone; one that does not adds its reason and message, and below ContainersReady each
container is named with its own word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from control.domain.conditions import CONTAINER_WORDS, Condition, ConditionType
from control.domain.errors import Language
from control.domain.events import EventCode, EventKind, message, reason
from control.domain.instants import manual_time
from control.domain.jobs.states import State

_GAP: Final = "    "
STATUS_WORDS: Final[dict[State, str]] = {
    State.QUEUED: "Pending",
    State.CREATING: "Pending",
    State.RUNNING: "Running",
    State.SUSPENDED: "Suspended",
    State.FAULT: "Fault",
    State.UNKNOWN: "Unknown",
    State.FINISHED: "Succeeded",
    State.FAILED: "Failed",
    State.CREATE_FAILED: "Failed",
    State.CANCELLED: "Cancelled",
    State.ABNORMAL_EXIT: "Failed",
}
"""The manual's word for the Status line."""
_EXPLAINED: Final = frozenset({State.CREATE_FAILED, State.ABNORMAL_EXIT, State.FAULT, State.UNKNOWN})
"""States whose Status line goes on with the reason: the word alone would not tell."""


@dataclass(frozen=True, slots=True)
class Happened:
    """An event as the text shows it."""

    at: float
    kind: EventKind
    code: EventCode
    params: dict[str, Any]


def render(
    state: State,
    conditions: Sequence[Condition],
    events: Sequence[Happened],
    *,
    container: str,
    because: tuple[EventCode, dict[str, Any]] | None,
    language: Language,
) -> str:
    """The text; `because` is the state's reason, as code and parameters."""
    lines = ["Status:", "  " + _GAP.join(_status(state, because, language)), "Conditions:"]
    for condition in conditions:
        lines += _condition(condition, state, container, language)
    lines += ["", "Events:"]
    lines += [_event(event, language) for event in events]
    return "\n".join(lines) + "\n"


def _status(state: State, because: tuple[EventCode, dict[str, Any]] | None, language: Language) -> list[str]:
    words = [STATUS_WORDS[state]]
    if because is not None and state in _EXPLAINED:
        words += [reason(*because), _one_line(message(*because, language))]
    return words


def _condition(condition: Condition, state: State, container: str, language: Language) -> list[str]:
    if condition.ok:
        return [f"  {condition.type}"]
    lines = ["  " + _GAP.join([condition.type.value, condition.code.value, condition.message(language)])]
    if condition.type is ConditionType.CONTAINERS_READY:
        lines.append(f"      Container {container} {CONTAINER_WORDS[state]}")
    return lines


def _event(event: Happened, language: Language) -> str:
    sentence = _one_line(message(event.code, event.params, language))
    return _GAP.join([manual_time(event.at), event.kind.value, reason(event.code, event.params), sentence])


def _one_line(text: str) -> str:
    return " ".join(text.split())
