"""Sentences in the two languages that people read here: Chinese and English."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

Language = Literal["zh", "en"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """The two languages of one sentence; `{name}` is filled from the parameters."""

    zh: str
    en: str

    def say(self, language: Language, params: dict[str, Any]) -> str:
        """The sentence in `language`, filled in."""
        return (self.zh if language == "zh" else self.en).format_map(_Shown(params))


class _Shown(dict[str, Any]):
    """Parameters bounded to what fits a sentence; a missing one shows as an ellipsis instead of failing."""

    def __getitem__(self, key: str) -> str:
        text = str(self.get(key, "…"))
        return text if len(text) <= _PARAMETER_CHARACTERS else text[:_PARAMETER_CHARACTERS] + "…"


_PARAMETER_CHARACTERS: Final = 200
