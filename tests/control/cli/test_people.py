"""`starlight login` and `starlight user ...`"""

from __future__ import annotations

import stat

from tests.control.api.desk import PASSWORD, Desk
from tests.control.cli.shell import Shell


async def test_login_keeps_a_token_that_only_its_owner_can_read(desk: Desk, shell: Shell) -> None:
    """Neither the password nor a world-readable file is left behind."""
    path = shell.home / ".config" / "starlight" / "login.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert PASSWORD not in path.read_text()
    assert (await shell.run("job", "list")).status == 0


async def test_a_wrong_password_leaves_the_old_login(desk: Desk, shell: Shell) -> None:
    """A failed login says so, and nothing is overwritten."""
    wrong = await shell.run("login", desk.base, "--user", "alice", "--password-stdin", typed="wrong horse\n")
    assert (wrong.status, wrong.err) == (1, "starlight: The user name or the password is not right.\n")
    assert (await shell.run("job", "list")).status == 0


async def test_the_address_is_looked_at_before_a_password_is_asked_for(shell: Shell) -> None:
    """A mistyped address costs nobody a password."""
    wrong = await shell.run("login", "http://127.0.0.1:9", typed="")
    assert (wrong.status, "cannot be reached" in wrong.err, "User name" in wrong.err) == (1, True, False)


async def test_without_a_login_it_says_how_to_get_one(shell: Shell) -> None:
    """A fresh home, a broken file, an address that is no Starlight: each in a sentence."""
    fresh = await shell.run("job", "list", env={"HOME": str(shell.home / "elsewhere")})
    assert (fresh.status, "starlight login" in fresh.err) == (1, True)
    away = await shell.run("job", "list", env={"STARLIGHT_URL": "http://127.0.0.1:9", "STARLIGHT_TOKEN": "sl_x"})
    assert (away.status, "cannot be reached" in away.err) == (1, True)
    (shell.home / ".config" / "starlight" / "login.json").write_text("{")
    broken = await shell.run("job", "list", "--json")
    assert (broken.status, broken.json["code"]) == (1, "login_unreadable")


async def test_a_token_in_the_environment_is_for_scripts(desk: Desk, shell: Shell) -> None:
    """No file is needed then."""
    token = (await shell.caller.post("/me/tokens", {"name": "ci"})).body["token"]
    env = {"HOME": str(shell.home / "none"), "STARLIGHT_URL": desk.base, "STARLIGHT_TOKEN": token}
    assert (await shell.run("job", "list", env=env)).status == 0


async def test_an_administrator_keeps_accounts(admin_shell: Shell) -> None:
    """Added, listed, disabled, enabled, a password set."""
    added = await admin_shell.run("user", "add", "carol", "--password-stdin", typed=PASSWORD + "\n")
    assert (added.status, added.out) == (0, "Added carol\n")
    listed = await admin_shell.run("user", "list")
    assert [line.split()[1] for line in listed.out.splitlines()] == ["NAME", "carol", "root"]
    assert (await admin_shell.run("user", "disable", "carol")).out == "carol: disabled\n"
    assert (await admin_shell.run("user", "disable", "carol", "--enable")).out == "carol: enabled\n"
    changed = await admin_shell.run("user", "passwd", "carol", "--password-stdin", typed="battery staple\n")
    assert changed.status == 0
    short = await admin_shell.run("user", "passwd", "carol", "--password-stdin", typed="x\n")
    assert (short.status, "password: At least 8 characters." in short.err) == (1, True)


async def test_a_person_changes_their_own_password(desk: Desk, shell: Shell) -> None:
    """The current one first, then the new one."""
    typed = f"{PASSWORD}\nbattery staple\n"
    assert (await shell.run("user", "passwd", "--password-stdin", typed=typed)).status == 0
    fresh = await desk.anyone.post("/sessions", {"username": "alice", "password": "battery staple"})
    assert fresh.status == 201
    assert (await shell.run("user", "list")).err == "starlight: Only an administrator can do this.\n"
