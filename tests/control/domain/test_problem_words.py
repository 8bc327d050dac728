"""Every Problem and every fault of a field has its sentences, with the same parameters in both languages."""

from __future__ import annotations

import string

import pytest

from control.domain.errors import Code, FieldCode, fault
from control.domain.problem_words import CATALOG, FIELDS


@pytest.mark.parametrize("code", Code)
def test_every_problem_has_status_and_sentences(code: Code) -> None:
    """The enum and the catalog hold the same codes; each has a title and a detail in both languages."""
    entry = CATALOG[code]
    assert 400 <= entry.status < 600
    for sentence in (entry.title, entry.detail):
        assert sentence.zh
        assert sentence.en
        assert _fields(sentence.zh) == _fields(sentence.en)


@pytest.mark.parametrize("code", FieldCode)
def test_every_field_fault_has_a_sentence(code: FieldCode) -> None:
    """A field's fault is said in both languages, with the same parameters."""
    sentence = FIELDS[code]
    assert sentence.zh
    assert _fields(sentence.zh) == _fields(sentence.en)
    assert fault("name", code).say("zh")


def _fields(template: str) -> set[str | None]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
