"""`tests/` mirrors the houses: a source file with logic has its test file at the same place."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.house.files import ROOT, sources

EXEMPT_NAMES = {"__init__.py", "__main__.py"}
EXEMPT_FOLDERS = ("control/store/migrations",)
"""A migration is tested by being applied, on both databases."""
DECIDING = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.Match, ast.Try, ast.comprehension, ast.BoolOp)


def test_every_source_file_with_logic_has_its_test_file() -> None:
    """`gateway/core/decide.py` is tested by `tests/gateway/core/test_decide.py`."""
    missing = [
        f"{path} -> {mirror(path)}"
        for path in sources()
        if path.name not in EXEMPT_NAMES
        and not str(path).startswith(EXEMPT_FOLDERS)
        and has_logic(ROOT / path)
        and not (ROOT / mirror(path)).exists()
    ]
    assert not missing, "without a test file:\n" + "\n".join(missing)


def mirror(path: Path) -> Path:
    """Where the test file of a source file lies."""
    return Path("tests", path.parent, f"test_{path.name}")


def has_logic(path: Path) -> bool:
    """Whether a function of the file decides or repeats something; plain shapes and one-line wiring do not."""
    nodes = ast.walk(ast.parse(path.read_text()))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return any(isinstance(inner, DECIDING) for function in functions for inner in ast.walk(function))
