"""Real apps behind private entries, used by their owner in a real browser: what breaks at a proxy breaks here.

JupyterLab has a test of its own (tests/console/test_jupyterlab.py), because the product itself offers it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.test_jupyterlab import signed_in
from tests.judges.conftest import listening
from tests.system.product import Person, Product, eventually

SHOWN_MS = 60_000
TOKENS = ["Light", " from", " the", " stars", "."]


@pytest.fixture(scope="module", params=["http", "https"])
def protocol(request: pytest.FixtureRequest) -> str:
    """Each app is used through an entry of each kind; over https the browser chooses among the versions of HTTP."""
    return str(request.param)


@contextmanager
def running(alice: Person, protocol: str, command: str, said: bytes) -> Iterator[dict[str, Any]]:
    """Alice's job that runs the shell command, once it said so; its `web` entry."""
    web = {"name": "web", "protocol": protocol, "level": "private", "target_port": "auto", "port": "fixed"}
    job = alice.run(["/bin/sh", "-c", command], entries=[web])
    try:
        listening(alice, job["id"], said)
        yield alice.entry(job, "web")
    finally:
        alice.call("POST", f"/jobs/{job['id']}/close")


@pytest.fixture(scope="module")
def page(browser: Browser, product: Product, alice: Person) -> Iterator[Page]:
    """A page of Alice's browser, where she is signed in at the console."""
    context = signed_in(browser, product, alice, ignore_https_errors=True)
    yield context.new_page()
    context.close()


def test_tensorboard_draws_a_curve(page: Page, protocol: str, alice: Person, programs: Path) -> None:
    """Its single page asks for data by many requests at once, some of them POST."""
    python = programs / "judges/bin/python"
    command = f"{python} {programs}/apps/curve.py logs && exec {python} -m tensorboard.main --logdir logs --host "
    command += '127.0.0.1 --port "$STARLIGHT_PORT_WEB" 2>&1'
    with running(alice, protocol, command, b"http://127.0.0.1") as entry:
        page.goto(entry["url"])
        expect(page.get_by_text("loss/train").first).to_be_visible(timeout=SHOWN_MS)


def test_streamlit_answers_on_its_socket_and_takes_a_file(
    page: Page, protocol: str, alice: Person, programs: Path
) -> None:
    """A WebSocket with a subprotocol and an Origin that the app compares with Host; an upload by PUT."""
    command = f"exec {programs}/judges/bin/python -m streamlit run {programs}/apps/greeter.py --server.headless true "
    command += '--server.address 127.0.0.1 --server.port "$STARLIGHT_PORT_WEB" --browser.gatherUsageStats false 2>&1'
    with running(alice, protocol, command, b"http://127.0.0.1") as entry:
        page.goto(entry["url"])
        page.get_by_label("Name").fill("Alice", timeout=SHOWN_MS)
        page.get_by_role("button", name="Greet").click()
        expect(page.get_by_text("Hello Alice")).to_be_visible(timeout=SHOWN_MS)
        content = bytes(range(256)) * 4096
        page.locator("input[type=file]").set_input_files([{"name": "a.bin", "mimeType": "x/y", "buffer": content}])
        expect(page.get_by_text(f"{len(content)} bytes came")).to_be_visible(timeout=SHOWN_MS)


def test_gradio_spells_through_its_queue(page: Page, protocol: str, alice: Person, programs: Path) -> None:
    """The question goes by POST, the answer comes letter by letter as events on another request."""
    command = f"GRADIO_ANALYTICS_ENABLED=False exec {programs}/judges/bin/python -u {programs}/apps/speller.py 2>&1"
    with running(alice, protocol, command, b"http://127.0.0.1") as entry:
        page.goto(entry["url"])
        page.get_by_label("Text", exact=True).fill("stars", timeout=SHOWN_MS)
        page.get_by_role("button", name="Submit").click()
        expect(page.get_by_label("Spelled")).to_have_value("s-t-a-r-s", timeout=SHOWN_MS)


def test_novnc_shows_a_desktop_and_types_into_it(page: Page, protocol: str, alice: Person, programs: Path) -> None:
    """Pixels come and keys go through one WebSocket: a line typed in the browser changes the desktop's colour."""
    with running(alice, protocol, f"exec sh {programs}/apps/desktop.sh 2>&1", b"desktop") as entry:
        page.goto(f"{entry['url']}vnc.html?autoconnect=1&resize=off&path=websockify")
        eventually(lambda: colour(page) == (0x33, 0x66, 0xCC), what="the desktop's blue")
        page.mouse.move(*inside_terminal(page))
        page.keyboard.type("starlight\n")
        eventually(lambda: colour(page) == (0xCC, 0x66, 0x33), what="the desktop's orange, after a typed line")
        assert (programs / "typed").read_text() == "typed: starlight\n"


def colour(page: Page) -> tuple[int, ...]:
    """The colour at the lower right of the desktop, where nothing covers it."""
    script = "c => Array.from(c.getContext('2d').getImageData(c.width - 20, c.height - 20, 1, 1).data).slice(0, 3)"
    canvas = page.locator("#noVNC_container canvas")
    return tuple(canvas.evaluate(script)) if canvas.count() else ()


def inside_terminal(page: Page) -> tuple[float, float]:
    """A point on the page over the terminal, at the desktop's upper left."""
    box = page.locator("#noVNC_container canvas").bounding_box()
    assert box is not None
    return box["x"] + 60, box["y"] + 40


CLIENT = """
import sys, urllib.request
from openai import OpenAI

origin, host, token = sys.argv[1:]
own = {"Host": host, "X-Starlight-Token": token}
client = OpenAI(base_url=f"{origin}/v1", api_key="the-apps-own", default_headers=own, max_retries=0, timeout=30)
messages = [{"role": "user", "content": "Say it."}]
for chunk in client.chat.completions.create(model="stars", messages=messages, stream=True):
    if chunk.choices[0].delta.content:
        print(repr(chunk.choices[0].delta.content), flush=True)
        told = urllib.request.Request(f"{origin}/arrived", data=b"{}", headers=own)
        assert urllib.request.urlopen(told, timeout=10).status == 204
"""


def test_tokens_of_a_model_reach_the_openai_client_one_by_one(
    product: Product, alice: Person, programs: Path, judges_python: Path
) -> None:
    """The model says the next token only when the last one was acknowledged: one held back ends the test."""
    command = f"exec python3 -u {programs}/apps/tokens.py 2>&1"
    with running(alice, "http", command, b"serving") as entry:
        token = alice.call("POST", f"/entries/{entry['id']}/token", {})["token"]
        port = product.ports["HTTP"]
        argv = [judges_python, "-c", CLIENT, f"http://127.0.0.1:{port}", f"{entry['host']}:{port}", token]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=90)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [repr(token) for token in TOKENS]
