"""The four conditions of a job, as the manual shows them: stored as code and parameters, said when read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from control.domain.errors import Language, Sentence
from control.domain.jobs.states import State


class ConditionType(StrEnum):
    """What has to hold before a job can be used."""

    INITIALIZED = "Initialized"
    READY = "Ready"
    CONTAINERS_READY = "ContainersReady"
    POD_SCHEDULED = "PodScheduled"


class ConditionCode(StrEnum):
    """Why a condition does not hold. The value is the word shown as its reason."""

    MET = ""
    NOT_INITIALIZED = "ContainersNotInitialized"
    NOT_READY = "ContainersNotReady"
    UNSCHEDULABLE = "Unschedulable"


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition; `since` is when it last changed, seconds since the epoch."""

    type: ConditionType
    code: ConditionCode
    since: float
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether it holds."""
        return self.code is ConditionCode.MET

    def message(self, language: Language) -> str:
        """Why it does not hold; empty when it does."""
        return SENTENCES[self.code].say(language, self.params)


SENTENCES: Final[dict[ConditionCode, Sentence]] = {
    ConditionCode.MET: Sentence("", ""),
    ConditionCode.NOT_INITIALIZED: Sentence(
        "运行环境尚未准备好：[{container}]", "containers with incomplete status: [{container}]"
    ),
    ConditionCode.NOT_READY: Sentence("容器未就绪：[{container}]", "containers with unready status: [{container}]"),
    ConditionCode.UNSCHEDULABLE: Sentence("正在等待调度", "waiting to be scheduled"),
}

CONTAINER_WORDS: Final[dict[State, str]] = {
    State.QUEUED: "Waiting",
    State.CREATING: "ContainerCreating",
    State.RUNNING: "Running",
    State.SUSPENDED: "Paused",
    State.FAULT: "Unusable",
    State.UNKNOWN: "Unknown",
    State.FINISHED: "Completed",
    State.FAILED: "Error",
    State.CREATE_FAILED: "CreateContainerError",
    State.CANCELLED: "Cancelled",
    State.ABNORMAL_EXIT: "Killed",
}
"""What the manual's `Container NAME WORD` line says in each state."""


def derive(
    state: State, *, container: str, scheduled: bool, previous: tuple[Condition, ...], now: float
) -> tuple[Condition, ...]:
    """The conditions of a job in `state`; those that did not change keep their `since`."""
    initialized = scheduled and state is not State.CREATE_FAILED
    ready = state is State.RUNNING
    holds: Mapping[ConditionType, ConditionCode] = {
        ConditionType.INITIALIZED: ConditionCode.MET if initialized else ConditionCode.NOT_INITIALIZED,
        ConditionType.READY: ConditionCode.MET if ready else ConditionCode.NOT_READY,
        ConditionType.CONTAINERS_READY: ConditionCode.MET if ready else ConditionCode.NOT_READY,
        ConditionType.POD_SCHEDULED: ConditionCode.MET if scheduled else ConditionCode.UNSCHEDULABLE,
    }
    before = {condition.type: condition for condition in previous}
    return tuple(_carry(before.get(kind), kind, code, container, now) for kind, code in holds.items())


def to_plain(conditions: tuple[Condition, ...]) -> list[dict[str, Any]]:
    """The conditions as they are stored."""
    return [
        {"type": each.type.value, "code": each.code.value, "since": each.since, "params": each.params}
        for each in conditions
    ]


def from_plain(plain: list[dict[str, Any]]) -> tuple[Condition, ...]:
    """The conditions as they were stored."""
    return tuple(
        Condition(ConditionType(each["type"]), ConditionCode(each["code"]), each["since"], each["params"])
        for each in plain
    )


def _carry(before: Condition | None, kind: ConditionType, code: ConditionCode, container: str, now: float) -> Condition:
    if before is not None and before.code is code:
        return before
    params = {} if code in (ConditionCode.MET, ConditionCode.UNSCHEDULABLE) else {"container": container}
    return Condition(kind, code, now, params)
