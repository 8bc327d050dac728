"""Rules that a linter does not know: owned tasks, no unfinished words, no registry's host name, small files."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.house.files import ROOT, sources, tracked

BARE_TASK = re.compile(r"asyncio\.(create_task|ensure_future)|loop\(?\)?\.create_task")
UNFINISHED = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]))
REGISTRIES = re.compile(
    "|".join(["pypi" + r"\.org", "python" + r"hosted\.org", "npm" + r"js\.(org|com)", "deb" + r"ian\.org/debian"])
)
MOST_LINES = 400
_TEXT = {".py", ".md", ".sh", ".toml", ".lock", ".ts", ".vue", ".json", ".yaml", ".yml", ".service", ".js", ".html", ""}


def test_every_task_is_owned() -> None:
    """A bare create_task is lost when it fails: tasks are made by a TaskGroup."""
    found = [f"{path}:{number}" for path in sources() for number in lines_with(path, BARE_TASK)]
    assert not found


def test_nothing_is_left_unfinished() -> None:
    """What is not built yet is an issue, not a remark in the code."""
    found = [
        f"{path}:{number}" for path in tracked() if path.suffix == ".py" for number in lines_with(path, UNFINISHED)
    ]
    assert not found


def test_no_registry_is_named() -> None:
    """Packages come from where the machine's own pip, npm and apt are set up to fetch them."""
    texts = [path for path in tracked() if path.suffix in _TEXT]
    found = [f"{path}:{number}" for path in texts for number in lines_with(path, REGISTRIES)]
    assert not found


def test_files_stay_small() -> None:
    """Prints the ten largest files and functions; past 400 lines a file holds a second idea."""
    sizes = sorted(((len((ROOT / path).read_text().splitlines()), path) for path in sources()), reverse=True)
    print("\nten largest files:", *(f"{lines:5} {path}" for lines, path in sizes[:10]), sep="\n")
    longest = sorted((item for path in sources() for item in functions(path)), reverse=True)
    print("ten longest functions:", *(f"{lines:5} {name}" for lines, name in longest[:10]), sep="\n")
    assert sizes[0][0] <= MOST_LINES


def lines_with(path: Path, pattern: re.Pattern[str]) -> list[int]:
    """The numbers of the lines that hold the pattern."""
    lines = (ROOT / path).read_text(errors="replace").splitlines()
    return [number for number, line in enumerate(lines, start=1) if pattern.search(line)]


def functions(path: Path) -> list[tuple[int, str]]:
    """Each function's length in lines, and where it is."""
    nodes = ast.walk(ast.parse((ROOT / path).read_text()))
    found = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [((node.end_lineno or node.lineno) - node.lineno + 1, f"{path}:{node.lineno} {node.name}") for node in found]
