"""The menu's lines: right widths for Chinese and for narrow terminals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.menu_screen import Row, cut, elapsed, fit, table_lines, width, wrap
from gateway.core.menu_words import EN, ZH
from tests.gateway.core.ssh_world import NOW, job


def rows(*, shared: bool = False) -> list[Row]:
    """Two jobs, one with a Chinese name."""
    return [Row(1, job("jupyter-17", name="大模型训练"), shared=False), Row(2, job("b-2", name="b"), shared=shared)]


def test_a_wide_terminal_shows_every_column() -> None:
    """Number, id, name, cluster, state, time and node, aligned in cells."""
    head, first, second = table_lines(rows(), None, ZH, 100, NOW)
    assert head.split() == ["编号", "作业", "名称", "集群", "状态", "时长", "节点"]
    assert first.split() == ["1", "jupyter-17", "大模型训练", "local", "运行中", "1:00", "node1"]
    assert width(first[: first.index("local")]) == width(second[: second.index("local")])


def test_the_owner_is_shown_once_a_job_is_shared() -> None:
    """The column of owners names those of shared jobs only."""
    head, first, second = table_lines(rows(shared=True), None, EN, 100, NOW)
    assert "User" in head
    assert "alice" not in first
    assert "alice" in second


@pytest.mark.parametrize(
    ("columns", "headings"),
    [
        (56, ["编号", "作业", "名称", "集群", "状态", "时长"]),
        (48, ["编号", "作业", "名称", "状态", "时长"]),
        (40, ["编号", "作业", "名称", "时长"]),
        (26, ["编号", "作业", "名称"]),
        (20, ["编号", "作业"]),
        (10, ["编号", "…"]),
    ],
)
def test_narrow_terminals_lose_columns_before_letters(columns: int, headings: list[str]) -> None:
    """The number and the id stay to the last."""
    lines = table_lines(rows(), None, ZH, columns, NOW)
    assert lines[0].split() == headings
    assert all(width(line) <= columns for line in lines)
    assert lines[1].split()[0] == "1"


def test_a_long_name_is_shortened_before_it_is_dropped() -> None:
    """A name gives cells until it has six left."""
    (_, line) = table_lines([Row(1, job("a-1", name="训" * 20), shared=False)], None, ZH, 24, NOW)
    assert "训…" in line


def test_the_marked_row_is_marked() -> None:
    """An arrow points to the row that Enter would take."""
    shown = rows()
    lines = table_lines(shown, shown[1], EN, 80, NOW)
    assert [line[0] for line in lines] == [" ", " ", ">"]


def test_control_characters_in_names_are_neutralised() -> None:
    """A job's name cannot move the cursor of who looks at the list."""
    (_, line) = table_lines([Row(1, job("a-1", name="\x1b[2J\r\nx"), shared=False)], None, EN, 80, NOW)
    assert line.isprintable()


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ("2027-01-15T07:00:00Z", "1:00"),
        ("2027-01-15T07:59:30+00:00", "0:00"),
        ("2027-01-13T06:55:00Z", "2d 01:05"),
        ("2027-01-15T09:00:00Z", "0:00"),
        ("", ""),
        ("soon", ""),
    ],
)
def test_elapsed_time_is_hours_and_minutes(since: str, expected: str) -> None:
    """A job of the future, or one that did not start, does no harm."""
    assert elapsed(since, NOW) == expected


def test_text_is_wrapped_in_cells() -> None:
    """English breaks at spaces, Chinese anywhere."""
    assert wrap("type a number then Enter", 12) == ["type a", "number then", "Enter"]
    assert wrap("输入编号后按回车", 7) == ["输入编", "号后按", "回车"]
    assert wrap("", 10) == [""]


@given(st.text(max_size=60), st.integers(0, 60))
def test_cut_and_fit_never_exceed_their_cells(text: str, columns: int) -> None:
    """Whatever the text, no more cells than asked for; `fit` gives exactly as many."""
    assert width(cut(text, columns)) <= columns
    assert width(fit(text, columns)) == columns


@given(st.text(alphabet="ab训练 ", max_size=80), st.integers(2, 40))
def test_wrapped_lines_fit_and_lose_no_letter_where_words_do(text: str, columns: int) -> None:
    """No line is wider than asked."""
    assert all(width(line) <= columns for line in wrap(text, columns))
