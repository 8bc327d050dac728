"""The ssh menu as a conversation: keys in, screen or choice out."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.menu import TYPED_LIMIT, Chosen, Left, Menu
from gateway.core.menu_screen import width
from tests.gateway.core.ssh_world import ALICE, BOB, NOW, way

JOBS = [
    way("jupyter-17", name="训练"),
    way("vim-2", name="lab", number=2),
    way("bash-3", name="lab", owner=BOB, number=3),
]


def menu(language: str = "zh", term: str = "xterm", *, jobs: bool = True) -> Menu:
    """Alice's menu of three jobs, two of which share a name; one is Bob's."""
    made = Menu(ALICE.id, ALICE.name, language, term)
    made.show(JOBS if jobs else [])
    return made


def chosen(done: Chosen | Left | None) -> str:
    """The id of the chosen job."""
    assert isinstance(done, Chosen)
    return done.way.job.id


def screen(drawn: bytes) -> str:
    """What was drawn, without cursor moves."""
    return re.sub(r"\x1b\[[0-9]*[A-Za-z]", "", drawn.decode())


@pytest.mark.parametrize(
    ("typed", "job_id"),
    [
        (b"1\r", "jupyter-17"),
        (b"2\n", "vim-2"),
        (b"3\r\n", "bash-3"),
        (b"vim-2\r", "vim-2"),
        ("训练\r".encode(), "jupyter-17"),
        (b"9\x7f1\r", "jupyter-17"),
        (b"99\x152\r", "vim-2"),
        (b" 2 \r", "vim-2"),
        (b"\x1b[B\r", "jupyter-17"),
        (b"\x1b[B\x1b[B\r", "vim-2"),
        (b"\x1b[A\r", "bash-3"),
        (b"\x1bOA\x1bOB\r", "jupyter-17"),
        (b"/bash\r", "bash-3"),
        (b"/bob\r", "bash-3"),
        (b"/lab\r2\r", "vim-2"),
        (b"/lab\x1b[B\x1b[B\r", "bash-3"),
        (b"/xy\x7f\x7f\x7f1\r", "jupyter-17"),
        (b"/zzz\r1\r", "jupyter-17"),
        (b"/x\x151\x7fvim\r", "vim-2"),
    ],
)
def test_keys_choose_a_job(typed: bytes, job_id: str) -> None:
    """Numbers, ids, names, arrows and filters all lead to a job."""
    assert chosen(menu().type(typed)) == job_id


def test_a_filter_that_leaves_one_job_lets_enter_take_it() -> None:
    """After the filter is accepted with several, narrowing it again to one and Enter goes in."""
    made = menu()
    assert made.type(b"/lab\r") is None
    assert "过滤: lab" in screen(made.draw(NOW))
    made.show(JOBS[:2])
    assert chosen(made.type(b"\r")) == "vim-2"


@pytest.mark.parametrize("typed", [b"q", b"\x03", b"\x04", b"12\x03", b"/q\x04", b"/\x03"])
def test_q_and_control_keys_leave(typed: bytes) -> None:
    """q outside a filter and a line, Ctrl-C and Ctrl-D anywhere."""
    assert menu().type(typed) == Left()


def test_q_waits_for_enter_where_a_job_begins_with_it() -> None:
    """Whoever has a job named qe can type its name; q and Enter still leave."""
    made = menu()
    made.show([*JOBS, way("qe-4", number=4)])
    assert chosen(made.type(b"qe-4\r")) == "qe-4"
    assert made.type(b"q\r") == Left()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (b"99\r", "没有编号、作业或名称为“99”的作业"),
        (b"lab\r", "有多个作业名为“lab”"),
        (b"\r", "请先输入编号"),
        (b"/zzz\r", "没有符合“zzz”的作业"),
        (b"\x1b[2J\r", "请先输入编号"),
    ],
)
def test_wrong_input_says_so(typed: bytes, said: str) -> None:
    """The menu stays, and a sentence tells what was wrong; the next key takes it away."""
    made = menu()
    assert made.type(typed) is None
    assert said in screen(made.draw(NOW))
    made.type(b"1")
    assert said not in screen(made.draw(NOW))


def test_escape_drops_what_was_typed() -> None:
    """Filter, line and mark are gone after ESC."""
    made = menu()
    for typed in (b"/bash", b"\x1b", b"12", b"\x1b\x1b", b"\x1b[B", b"\x1b", b"\t"):
        assert made.type(typed) is None
    assert made.type(b"\r") is None
    assert "请先输入编号" in screen(made.draw(NOW))


def test_what_is_typed_ahead_goes_with_the_choice() -> None:
    """Bytes after the choice are for the job."""
    done = menu().type(b"1\rls\r")
    assert done == Chosen(JOBS[0], b"ls\r")


def test_a_long_paste_is_bounded() -> None:
    """Five kilobytes of paste, in the line or in the filter, cost no more than their limit."""
    made = menu("en")
    assert made.type(b"x" * 5000) is None
    assert made.type(b"\r") is None
    assert "x" * TYPED_LIMIT in screen(made.draw(NOW)).replace("\r\n", "")
    assert made.type(b"/" + b"y" * 5000) is None
    assert len(screen(made.draw(NOW))) < 1500


def test_the_list_shows_every_job_with_its_owner() -> None:
    """Title, headings, jobs, help and prompt."""
    shown = screen(menu().draw(NOW))
    assert "星光作业 · alice" in shown
    for word in ("编号", "jupyter-17", "训练", "local", "运行中", "1:00", "node1", "bob", "q 退出"):
        assert word in shown
    assert shown.endswith("> ")
    assert "Starlight jobs of alice" in screen(menu("en").draw(NOW))


def test_an_empty_list_says_what_to_do() -> None:
    """No table, but a sentence; arrows and Enter do no harm."""
    made = menu(jobs=False)
    assert made.type(b"\x1b[A\r") is None
    shown = screen(made.draw(NOW))
    assert "请在控制台提交作业" in shown
    assert "编号" not in shown


def test_jobs_keep_their_numbers_as_others_come_and_go() -> None:
    """A number never comes to mean another job, and a mark on a job that went is gone."""
    made = menu()
    made.type(b"\x1b[B")
    made.show([JOBS[1], way("new-9", number=9)])
    assert made.type(b"1\r") is None
    assert chosen(made.type(b"2\r")) == "vim-2"
    assert chosen(made.type(b"4\r")) == "new-9"
    made.type(b"\x1b[B")
    made.show([JOBS[1]])
    assert chosen(made.type(b"\r")) == "vim-2"


def test_nothing_is_written_while_nothing_changes() -> None:
    """A redraw costs bytes only for what is new: nothing, the prompt, or the whole."""
    made = menu()
    made.draw(NOW)
    assert made.draw(NOW + 1) == b""
    made.type(b"12")
    assert made.draw(NOW) == b"\r> 12"
    made.type(b"\x7f")
    assert made.draw(NOW) == b"\r> 1 \b"
    assert b"\x1b[6A\x1b[J" in made.draw(NOW + 60)


def test_resize_and_ctrl_l_draw_on_a_clean_screen() -> None:
    """What an old size left on the screen is wiped; a size before the first drawing needs no wipe."""
    made = menu()
    made.resize(40, 10)
    assert not made.draw(NOW).startswith(b"\x1b[H\x1b[2J")
    made.resize(120, 40)
    assert made.draw(NOW).startswith(b"\x1b[H\x1b[2J")
    made.type(b"\x0c")
    assert made.draw(NOW).startswith(b"\x1b[H\x1b[2J")


@pytest.mark.parametrize("size", [(0, 0), (80, 24), (40, 24), (20, 5), (3, 1), (4_000_000_000, 4_000_000_000)])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_no_line_reaches_the_edge(size: tuple[int, int], language: str) -> None:
    """On any terminal each line is narrower than the screen, so that the cursor's way back is known."""
    made = menu(language)
    made.resize(*size)
    made.type(b"no such job at all\r")
    columns = size[0] or 80
    assert all(width(line) < max(columns, 2) for line in screen(made.draw(NOW)).split("\r\n"))


def test_a_list_longer_than_the_screen_follows_the_mark() -> None:
    """Only a part is shown, with its place in the whole; the marked row is always in it."""
    made = Menu(ALICE.id, ALICE.name, "en", "xterm")
    made.show([way(f"job-{number}", number=number) for number in range(1, 51)])
    made.resize(80, 12)
    assert "1-8 of 50" in screen(made.draw(NOW))
    made.type(b"\x1b[A")
    shown = screen(made.draw(NOW))
    assert "43-50 of 50" in shown
    assert "> 50" in shown
    assert len(shown.split("\r\n")) <= 12


def test_a_dumb_terminal_gets_plain_text() -> None:
    """No escape sequence reaches a terminal that has no cursor moves; a change prints the list again."""
    made = menu(term="dumb")
    drawn = made.draw(NOW)
    made.type(b"99\r")
    drawn += made.draw(NOW)
    made.resize(40, 20)
    drawn += made.draw(NOW)
    assert b"\x1b" not in drawn
    assert drawn.count(b"jupyter-17") == 3


def test_a_sentence_stays_until_the_next_key() -> None:
    """Why a job was not entered is shown in the menu."""
    made = menu()
    made.say("作业已挂起。")
    assert "作业已挂起。" in screen(made.draw(NOW))
    made.type(b"1")
    assert "作业已挂起。" not in screen(made.draw(NOW))


def test_entering_a_job_is_announced() -> None:
    """The last line of the menu names the job."""
    assert menu().farewell(JOBS[0]) == "\r\n正在进入 jupyter-17 …\r\n".encode()


@given(
    st.lists(
        st.one_of(st.binary(max_size=30), st.sampled_from([b"\x1b[A", b"\x1b[B", b"/", b"\r", b"\x1b"])), max_size=20
    )
)
def test_no_keys_break_the_menu(packets: list[bytes]) -> None:
    """Whatever is typed, every line stays within the screen and shows nothing that moves a cursor."""
    made = menu()
    made.resize(40, 12)
    for packet in packets:
        if made.type(packet) is not None:
            break
        for line in screen(made.draw(NOW)).split("\r\n"):
            assert width(line.replace("\r", "").replace("\b", "")) < 80
            assert line.replace("\r", "").replace("\b", "").isprintable()
