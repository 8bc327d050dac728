"""How a job ended: from the command's wait status to the fields of status.json and the event for people."""

from __future__ import annotations

import os
import signal
from typing import Any, Final

_SHELL_KILLED: Final = 128 + signal.SIGKILL


def outcome_of(wait_status: int | None, ending: str | None, *, out_of_memory: bool) -> dict[str, Any]:
    """Exit code or signal, and the cause: `ending` when the job was being ended, else what happened to the command.

    `wait_status` None: the command could not be started.
    """
    if wait_status is None:
        return {"cause": ending or "launch_failed"}
    if os.WIFSIGNALED(wait_status):
        cause = "oom" if out_of_memory else "signal"
        return {"cause": ending or cause, "signal": f"SIG{signal_name(os.WTERMSIG(wait_status))}"}
    code = os.WEXITSTATUS(wait_status)
    # A shell reports the end of its child by SIGKILL as exit code 137.
    cause = "oom" if out_of_memory and code == _SHELL_KILLED else "exit"
    return {"cause": ending or cause, "exit_code": code}


def event_of(fields: dict[str, Any]) -> tuple[str, str, str]:
    """Kind, reason and sentence of the job's last event."""
    match fields["cause"]:
        case "exit":
            kind = "Normal" if fields["exit_code"] == 0 else "Warning"
            return kind, "Exited", f"The command ended with exit code {fields['exit_code']}"
        case "oom":
            return "Warning", "OutOfMemory", "The kernel ended the command because the job used more memory than it may"
        case "signal":
            return "Warning", "Killed", f"The command was ended by {fields['signal']}"
        case "stopped":
            return "Normal", "Stopped", "The job was closed"
        case "time_limit":
            return "Warning", "Ended", "The job was ended at its time limit"
    return "Warning", "Ended", "The job could not be started"


def signal_name(number: int) -> str:
    """A signal's name without SIG; those between the named real-time signals count from the first."""
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:
        return f"RTMIN+{number - signal.SIGRTMIN}"
