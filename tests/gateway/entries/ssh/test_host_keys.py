"""Host keys and options of the handshake."""

from pathlib import Path

import asyncssh
import pytest

from gateway.contract.routes import Secret
from gateway.entries.ssh.host_keys import Handshake, certified, newest
from tests.gateway.entries.ssh.world import lone_job, run, world


def secret(generation: int, kind: str = "ssh-ed25519") -> Secret:
    """A host key of this generation."""
    pem = asyncssh.generate_private_key(kind).export_private_key().decode()
    return Secret(f"{kind}-{generation}", "ssh-host", generation, pem)


def test_the_newest_key_of_each_kind_is_offered() -> None:
    """Old generations step back; kinds stand side by side."""
    keys = [secret(3), secret(2), secret(1, "ecdsa-sha2-nistp256")]
    offered = [key.get_fingerprint() for key in newest(keys)]
    expected = [asyncssh.import_private_key(keys[at].value).get_fingerprint() for at in (0, 2)]
    assert offered == expected


async def test_options_are_made_again_only_for_new_keys() -> None:
    """A rotation counts for the next connection; without a key there is no handshake."""
    handshake, first, second = Handshake(), secret(1), secret(2)
    options = await handshake.options([first])
    assert await handshake.options([first]) is options
    assert await handshake.options([second, first]) is not options
    with pytest.raises(ValueError, match="host key"):
        await Handshake().options([])


def certificate(key: asyncssh.SSHKey, authority: asyncssh.SSHKey, generation: int = 1) -> Secret:
    """A certificate for a host key, as control makes it."""
    made = authority.generate_host_certificate(key, "gate", principals=[], valid_after=0, valid_before=2**40)
    return Secret(f"ssh-host-cert-{generation}", "ssh-host-cert", generation, made.export_certificate().decode())


def test_a_key_goes_with_the_newest_certificate_that_is_its_own() -> None:
    """Certificates of other keys are left out; a key without one goes alone."""
    authority = asyncssh.generate_private_key("ssh-ed25519")
    old, new, bare = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(3))
    made = [certificate(new, authority, 3), certificate(new, authority, 2), certificate(old, authority, 1)]
    pair, alone = certified([new, bare], made)
    assert isinstance(pair, tuple)
    assert pair[1].export_certificate().decode() == made[0].value
    assert alone is bare


async def test_who_trusts_the_authority_is_asked_nothing_even_behind_a_jump(tmp_path: Path) -> None:
    """One line of known_hosts for the gateway and a job's name; with nothing known, ssh refuses; the bare key works."""
    authority = asyncssh.generate_private_key("ssh-ed25519")
    trusted = authority.export_public_key().decode().strip()
    async with world(tmp_path, *lone_job()) as made:
        key = asyncssh.import_private_key(made.table.secrets("ssh-host")[0].value)
        made.put(certificate(key, authority))
        known = made.home / "known"
        config = made.home / "config"
        config.write_text(
            f"Host gate\n HostName 127.0.0.1\n Port {made.port}\n HostKeyAlias gate\n"
            f"Host jupyter-17\n ProxyJump gate\n"
            f"Host *\n User alice\n IdentityFile {made.home / 'alice'}\n IdentitiesOnly yes\n BatchMode yes\n"
            f" UserKnownHostsFile {known}\n GlobalKnownHostsFile none\n StrictHostKeyChecking yes\n LogLevel ERROR\n"
        )
        ssh = ("ssh", "-F", str(config))
        known.write_text("")
        assert (await run(*ssh, "gate", "true")).status == 255
        known.write_text(f"@cert-authority gate,jupyter-17 {trusted}\n")
        for where in ("gate", "jupyter-17"):
            done = await run(*ssh, where, "echo $JOB")
            assert done.out == b"jupyter-17\n", done.err
        known.write_text(f"gate {key.export_public_key().decode()}")
        assert (await run(*ssh, "gate", "echo $JOB")).out == b"jupyter-17\n"
