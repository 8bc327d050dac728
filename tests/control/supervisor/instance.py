"""A supervisor process whose workers are tiny ones: `python -m tests.control.supervisor.instance MANNER WORDS...`.

Everything but the workers' programs is the real thing: settings, locks, ports, spawning, draining.
"""

import sys
from pathlib import Path
from unittest import mock

from control.supervisor import command, crew
from control.supervisor.crew import Ground
from control.supervisor.worker import Recipe

TINY = Path(__file__).with_name("tiny.py").read_text()


def tiny_crew(ground: Ground, manner: str) -> list[Recipe]:
    """Control under its uid and two web gateways under theirs."""
    gateway = ground.who.gateway_uid
    return [
        tiny(ground, "control", ground.who.control_uid, "control", manner),
        tiny(ground, "web-0", gateway, "http", manner),
        tiny(ground, "web-1", gateway, "http", manner),
    ]


def tiny(ground: Ground, name: str, uid: int, listener: str, manner: str = "") -> Recipe:
    """The recipe of one tiny worker."""
    words = ["-c", TINY, listener, manner]
    return crew._as(ground, uid, name, words, crew._environment(ground, name, secrets=False))


if __name__ == "__main__":
    manner = sys.argv[1] if len(sys.argv) > 1 else ""
    with mock.patch.object(crew, "crew", lambda ground: tiny_crew(ground, manner)):
        sys.exit(command.main(["up", "--config", "/nonexistent", *sys.argv[2:]]))
