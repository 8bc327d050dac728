"""The closed list of what control says no with, and its sentences in Chinese and English.

A Problem is a value: code, parameters and, for faulty input, the fields at fault. It becomes
`application/problem+json` (RFC 9457) at the API and one line on the command line. The one exception
that carries it is ProblemError. Parameters are shown to people: never a host, path or stack of ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from control.domain.codes import Code, FieldCode
from control.domain.language import Language, Sentence
from control.domain.problem_words import CATALOG, FIELDS

__all__ = ["Code", "FieldCode", "FieldFault", "Language", "Problem", "ProblemError", "Sentence", "fault", "invalid"]
__all__ += ["problem"]


@dataclass(frozen=True, slots=True)
class FieldFault:
    """One field of an input that is wrong. `name` is its path: `entries[0].target_port`."""

    name: str
    code: FieldCode
    params: dict[str, Any] = field(default_factory=dict)

    def say(self, language: Language) -> str:
        """What is wrong, for a person."""
        return FIELDS[self.code].say(language, self.params)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why control said no."""

    code: Code
    params: dict[str, Any] = field(default_factory=dict)
    fields: tuple[FieldFault, ...] = ()

    @property
    def status(self) -> int:
        """The HTTP status."""
        return CATALOG[self.code].status

    def title(self, language: Language) -> str:
        """A few words that are the same for every problem of this code."""
        return CATALOG[self.code].title.say(language, self.params)

    def detail(self, language: Language) -> str:
        """What happened and what to try next."""
        return CATALOG[self.code].detail.say(language, self.params)

    def render(self, language: Language) -> dict[str, Any]:
        """The body of an `application/problem+json` answer (RFC 9457 section 3)."""
        body: dict[str, Any] = {
            "type": "about:blank",
            "code": self.code.value,
            "status": self.status,
            "title": self.title(language),
            "detail": self.detail(language),
        }
        if self.fields:
            body["fields"] = {fault.name: fault.say(language) for fault in self.fields}
        if "retry_after_s" in self.params:
            body["retry_after_s"] = self.params["retry_after_s"]
        return body


class ProblemError(Exception):
    """Carries a Problem up to whoever tells the person."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.code}: {problem.detail('en')}")
        self.problem = problem


def problem(code: Code, **params: Any) -> ProblemError:
    """The exception for `code`, ready to raise."""
    return ProblemError(Problem(code, params))


def invalid(*faults: FieldFault) -> ProblemError:
    """The exception for faulty input, ready to raise."""
    return ProblemError(Problem(Code.INVALID_INPUT, {}, faults))


def fault(name: str, code: FieldCode, **params: Any) -> FieldFault:
    """One faulty field."""
    return FieldFault(name, code, params)
