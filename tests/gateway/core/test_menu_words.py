"""The menu's texts: both languages whole, and nothing from a name that could move a cursor."""

from dataclasses import fields

from gateway.core.menu_words import EN, ZH, Words, clean, job_list, words
from gateway.core.refusals import Code, Refusal
from tests.gateway.core.ssh_world import way


def test_both_languages_say_everything() -> None:
    """No text is missing, and both fill in the same names."""
    for field in fields(Words):
        assert getattr(ZH, field.name)
        assert getattr(EN, field.name)
    assert ZH.states.keys() == EN.states.keys()
    assert words("zh") is ZH
    assert words("fr") is EN


def test_job_list_names_id_and_name_and_how_to_name_one() -> None:
    """The message for those without a terminal has the reason, a line a job and an example."""
    ways = [way("jupyter-17", name="训练"), way("b-2", name="evil\x1b[2J")]
    why, *lines = job_list(Refusal(Code.SEVERAL_JOBS), ways, "alice", "gate", 8022, "zh").split("\n")
    assert "没有指明" in why
    assert lines == ["  jupyter-17  训练", "  b-2  evil?[2J", "例如：ssh -p 8022 alice+jupyter-17@gate"]
    near = job_list(Refusal(Code.SEVERAL_JOBS), ways, "alice", "0a1b.proxy.localhost", 8022, "en")
    assert near.endswith("ssh -p 8022 alice+jupyter-17@127.0.0.1"), "ssh resolves no name under localhost"
    said = job_list(Refusal(Code.AMBIGUOUS_JOB), ways, "alice", "gate", 8022, "en")
    assert said.startswith("Several jobs have this name.")


def test_clean_neutralises_control_and_direction_characters() -> None:
    """Escape, line ends, C1 controls and bidi overrides become question marks."""
    assert clean("a\x1b\r\n\x9b\u202e\u200bb训") == "a??????b训"
