"""Signing in, with the clients and the tricks that people have."""

import asyncio
from pathlib import Path

import asyncssh
import pytest

from gateway.contract.people import Key, User
from gateway.entries.ssh.home_keys import HomeKeys
from gateway.entries.ssh.sign_in import TRIES_LIMIT, SignIn, fingerprint
from tests.gateway.entries.ssh.world import KEYS, PASSWORD, Done, World, lone_job, run, world

NO_KEYS = (
    "-o",
    "PubkeyAuthentication=no",
    "-o",
    "BatchMode=no",
    "-o",
    "LogLevel=INFO",
    "-o",
    "NumberOfPasswordPrompts=3",
)


async def by_password(made: World, method: str, *tries: str, user: str = "alice") -> Done:
    """ssh with these answers to its password prompts, one after the other."""
    script = made.home / "askpass"
    script.write_text(
        f'#!/bin/sh\nn=$(cat {made.home}/n); echo $((n+1)) > {made.home}/n\nsed -n "$((n+1))p" {made.home}/pw\n'
    )
    script.chmod(0o700)
    (made.home / "pw").write_text("".join(f"{word}\n" for word in tries))
    (made.home / "n").write_text("0\n")
    argv = [
        "ssh",
        *NO_KEYS,
        "-o",
        f"PreferredAuthentications={method}",
        *made.options(),
        f"{user}@127.0.0.1",
        "echo in $JOB",
    ]
    return await run(*argv, env={"SSH_ASKPASS": str(script), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"})


@pytest.mark.parametrize("method", ["password", "keyboard-interactive"])
async def test_each_password_method_works_alone(tmp_path: Path, method: str) -> None:
    """B65: right at once, and wrong, wrong, right; control hears the name, the word and the address."""
    async with world(tmp_path, *lone_job()) as made:
        assert (await by_password(made, method, PASSWORD)).out == b"in jupyter-17\n"
        assert (await by_password(made, method, "wrong", "wrong", PASSWORD)).out == b"in jupyter-17\n"
        assert made.asked[-1] == {"user": "alice", "password": PASSWORD, "address": "127.0.0.1"}
        assert (await by_password(made, method, PASSWORD, user="alice+jupyter-17")).out == b"in jupyter-17\n"
        assert (await by_password(made, method, "wrong", "wrong", "wrong")).status == 255


async def test_plink_signs_in_with_a_password(tmp_path: Path) -> None:
    """B17, B59: PuTTY's client gets a reply to every request, its own ones included."""
    async with world(tmp_path, *lone_job()) as made:
        key = asyncssh.import_private_key(made.table.secrets("ssh-host")[0].value).get_fingerprint()
        argv = ["plink", "-batch", "-ssh", "-hostkey", key, "-P", str(made.port), "-pw", PASSWORD, "alice@127.0.0.1"]
        done = await run(*argv, "echo in $JOB; exit 3")
        assert (done.status, done.out) == (3, b"in jupyter-17\n")


async def test_only_methods_that_work_are_offered(tmp_path: Path) -> None:
    """B73, B63: the list of methods is true, and key exchange is strict."""
    async with world(tmp_path, *lone_job()) as made:
        done = await made.ssh("true", user="nobody", options=("-vvv", "-o", "IdentityFile=none"))
        assert done.status == 255
        assert "Authentications that can continue: publickey,keyboard-interactive,password" in done.err
        assert "kex-strict-s-v00@openssh.com" in done.err


@pytest.mark.parametrize(
    "weak",
    [
        "Ciphers=aes128-cbc",
        "Ciphers=chacha20-poly1305@openssh.com",
        "KexAlgorithms=diffie-hellman-group1-sha1",
        "MACs=hmac-md5",
    ],
)
async def test_weak_algorithms_are_refused(tmp_path: Path, weak: str) -> None:
    """B63: nothing that Terrapin or worse could use."""
    async with world(tmp_path, *lone_job()) as made:
        options = ("-o", weak, *(("-o", "Ciphers=aes128-ctr") if weak.startswith("MAC") else ()))
        assert (await made.ssh("true", options=options)).status == 255


async def test_a_key_that_is_offered_is_not_the_key_that_is_used(tmp_path: Path) -> None:
    """B67: Bob's public key is shown and Alice's signs: never as Bob, and a stranger's key opens nothing."""
    async with world(tmp_path, *lone_job()) as made:
        made.put(Key(7, 1, KEYS["stranger"].get_fingerprint()))
        (made.home / "only-public").write_bytes(KEYS["stranger"].export_public_key())
        done = await made.ssh("echo in", options=("-i", str(made.home / "only-public"), "-i", str(made.home / "alice")))
        assert done.out == b"in\n"
        visitor = made.bridge.calls[-1]
        assert visitor.visitor == "alice"
        assert "key:1" in visitor.grounds
        assert "key:7" not in visitor.grounds
        assert (await run("ssh", *made.options("bob"), "alice@127.0.0.1", "true")).status == 255


async def test_keys_open_the_door_while_control_is_away_and_passwords_say_why(tmp_path: Path) -> None:
    """The table knows keys; a password needs control, and the person is told that it does not answer."""
    async with world(tmp_path, *lone_job()) as made:
        made.control["answer"] = None
        assert (await made.ssh("echo in")).out == b"in\n"
        done = await by_password(made, "password", PASSWORD)
        assert done.status == 255
        assert "控制服务暂时没有应答" in done.err
        assert "does not answer" in done.err
        made.control["answer"] = {"ok": False, "code": "rate_limited"}
        assert "Too many attempts" in (await by_password(made, "password", PASSWORD)).err


async def test_six_wrong_passwords_end_the_connection(tmp_path: Path) -> None:
    """B68: the seventh try is not heard, be it the right one."""

    class Client(asyncssh.SSHClient):
        tries = 0

        def password_auth_requested(self) -> str:
            Client.tries += 1
            return "wrong" if Client.tries <= TRIES_LIMIT else PASSWORD

    async with world(tmp_path, *lone_job()) as made:
        with pytest.raises(asyncssh.DisconnectError, match="Too many authentication failures"):
            await asyncssh.connect(
                "127.0.0.1",
                made.port,
                username="alice",
                client_factory=Client,
                client_keys=None,
                preferred_auth="password",
                known_hosts=None,
                config=None,
                agent_path=None,
            )
        assert len(made.asked) == TRIES_LIMIT


async def test_many_offered_keys_are_no_failures(tmp_path: Path) -> None:
    """An agent with twenty keys gets to the right one."""
    keys = [asyncssh.generate_private_key("ssh-ed25519") for _ in range(20)]
    async with world(tmp_path, *lone_job()) as made:
        client = await asyncssh.connect(
            "127.0.0.1",
            made.port,
            username="alice",
            client_keys=[*keys, KEYS["alice"]],
            known_hosts=None,
            config=None,
            agent_path=None,
        )
        async with client:
            assert (await client.run("echo in")).stdout == "in\n"


async def test_a_very_long_password_is_not_asked_about(tmp_path: Path) -> None:
    """Control never sees what no password can be."""
    async with world(tmp_path, *lone_job()) as made:
        with pytest.raises(asyncssh.PermissionDenied):
            await asyncssh.connect(
                "127.0.0.1",
                made.port,
                username="alice",
                password="x" * 1025,
                client_keys=None,
                known_hosts=None,
                config=None,
                agent_path=None,
            )
        assert made.asked == []


async def test_a_crowd_of_silent_connections_keeps_nobody_out(tmp_path: Path) -> None:
    """B69: three hundred connections that say nothing, and a login works as ever."""
    async with world(tmp_path, *lone_job()) as made:
        silent = [await asyncio.open_connection("127.0.0.1", made.port) for _ in range(300)]
        async with asyncio.timeout(5):
            assert (await made.ssh("echo in")).out == b"in\n"
        for _, writer in silent:
            writer.transport.abort()


async def test_a_disabled_person_is_not_let_in_by_key_and_told_so(tmp_path: Path) -> None:
    """The key is right, the account is not: one sentence in both languages, no session."""
    async with world(tmp_path, *lone_job()) as made:
        made.put(User(1, "alice", "user", disabled=True))
        done = await made.ssh("true", options=("-o", "LogLevel=INFO"))
        assert done.status == 255
        assert "您的账号已被停用" in done.err


async def test_bad_signatures_count_as_tries_and_strangers_keys_do_not(tmp_path: Path) -> None:
    """A wrong signature by a known key is a failure; what an agent offers, even signed, is none."""
    async with world(tmp_path) as made:
        told: list[str] = []
        sign_in = SignIn(made.gate, HomeKeys(made.gate), "::1", told.append)
        assert not await sign_in.key_signed(KEYS["alice"].public_data, good=True)  # nobody was named yet
        sign_in.begin("alice")
        for _ in range(50):
            assert not await sign_in.key_signed(KEYS["stranger"].public_data, good=True)
        for _ in range(TRIES_LIMIT - 1):
            assert not await sign_in.key_signed(KEYS["alice"].public_data, good=False)
        assert sign_in.visitor is None
        with pytest.raises(asyncssh.DisconnectError):
            await sign_in.key_signed(KEYS["alice"].public_data, good=False)
        with pytest.raises(asyncssh.DisconnectError):
            await sign_in.password(PASSWORD)  # sent at the same time: not heard any more
        assert (made.asked, told) == ([], [])


async def test_what_was_proved_under_one_name_does_not_count_under_another(tmp_path: Path) -> None:
    """Naming another user starts anew."""
    async with world(tmp_path) as made:
        sign_in = SignIn(made.gate, HomeKeys(made.gate), "::1", lambda _text: None)
        sign_in.begin("alice")
        assert await sign_in.password(PASSWORD)
        assert sign_in.visitor is not None
        assert sign_in.visitor.name == "alice"
        sign_in.begin("bob")
        assert sign_in.visitor is None


async def test_a_person_whom_the_table_does_not_know_yet_is_asked_to_come_again(tmp_path: Path) -> None:
    """Control says yes to somebody whose record has not arrived."""
    async with world(tmp_path) as made:
        told: list[str] = []
        made.control["answer"] = {"ok": True, "user_id": 99}
        sign_in = SignIn(made.gate, HomeKeys(made.gate), "::1", told.append)
        sign_in.begin("carol")
        assert not await sign_in.password(PASSWORD)
        assert told


def test_fingerprints_are_written_as_openssh_does() -> None:
    """The table's form and ours are one."""
    assert fingerprint(KEYS["alice"].public_data) == KEYS["alice"].get_fingerprint()
