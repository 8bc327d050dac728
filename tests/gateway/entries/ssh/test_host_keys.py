"""Host keys and options of the handshake."""

import asyncssh
import pytest

from gateway.contract.routes import Secret
from gateway.entries.ssh.host_keys import Handshake, newest


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
