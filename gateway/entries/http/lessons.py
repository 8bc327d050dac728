"""What conversations teach one another: a request that was just admitted and answered, for others like it.

State: lessons of the last moments, by address and by the fields word for word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gateway.core.decide import Admission
from gateway.entries.http.brief import Judge

LIMIT: Final = 256
"""Lessons of one listener."""
SPOILED_S: Final = 10.0
"""Seconds for which nothing is taught again about requests whose answers were not as expected."""


@dataclass(slots=True)
class Lesson:
    """On which admission a request passed, what was sent for its fields, and which way.

    It is good at `revision` of the table, until the loop's time `until`. `renewing`: a request was sent the long way
    already to learn it anew in time, so that not all of a crowd have to when it is over.
    """

    admission: Admission
    sent: bytes
    key: object
    judge: Judge
    revision: int
    until: float
    renewing: bool = False


class Lessons:
    """The lessons of one listener."""

    def __init__(self) -> None:
        """None yet."""
        self._by_words: dict[tuple[str, bytes], Lesson] = {}
        self._spoiled: dict[tuple[str, bytes], float] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._by_words)

    def teach(self, address: str, came: bytes, lesson: Lesson) -> None:
        """For requests from this address whose head, from the end of its first line on, is `came`."""
        if (address, came) in self._spoiled:
            return
        if len(self._by_words) >= LIMIT and (address, came) not in self._by_words:
            del self._by_words[next(iter(self._by_words))]
        self._by_words[address, came] = lesson

    def recall(self, address: str, came: bytes) -> Lesson | None:
        """The lesson for these words, good or over."""
        return self._by_words.get((address, came))

    def spoil(self, address: str, came: bytes, now: float) -> None:
        """The lesson led nowhere: it is forgotten, and not taught again for a while."""
        self._by_words.pop((address, came), None)
        if len(self._spoiled) < LIMIT:
            self._spoiled[address, came] = now + SPOILED_S

    def sweep(self, now: float) -> None:
        """Forgets what is over."""
        for words in [words for words, lesson in self._by_words.items() if now > lesson.until]:
            del self._by_words[words]
        for words in [words for words, until in self._spoiled.items() if now > until]:
            del self._spoiled[words]
