"""An entry's own domain from the command line: added with files, looked at, renewed, confirmed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from control.domain.people import Role
from tests.certs.authority import Authority
from tests.control.api.desk import START, Desk
from tests.control.cli.shell import Shell, signed_in

CA = Authority(datetime.fromtimestamp(START, UTC))
NAME = "lab.example.org"


def files(folder: Path, *, days: float = 90, password: str | None = None) -> tuple[str, str]:
    """The paths of a certificate with its chain, and of its key."""
    leaf = CA.leaf(NAME, days=days)
    certificate, key = folder / f"{days}.pem", folder / f"{days}.key"
    certificate.write_text(leaf.pem + CA.intermediate.pem + CA.root.pem)
    key.write_text(leaf.key_pem(password))
    return str(certificate), str(key)


async def test_a_domain_from_the_first_file_to_the_next(desk: Desk, shell: Shell, tmp_path: Path) -> None:
    """The owner adds it and sees what is missing, an administrator confirms, the owner renews it."""
    root = await signed_in(desk, tmp_path / "root", "root", Role.ADMIN)
    job = (await desk.running_job(shell.caller))["id"]
    certificate, key = files(tmp_path, password="sesame")
    added = await shell.run(
        *("entry", "add", job, "--name", "web", "--protocol", "https", "--level", "open", "--target-port", "80"),
        *("--domain", NAME, "--certificate", certificate, "--private-key", key, "--key-password-stdin"),
        typed="sesame\n",
    )
    assert (added.status, f"https://{NAME}:8443/" in added.out) == (0, True), added.err
    looked = await shell.run("entry", "domain", f"{job}/web")
    assert "Owner: not proved" in looked.out
    assert f"_starlight.{NAME}" in looked.out
    entry = (await shell.run("entry", "list", job, "--json")).json[-1]["id"]
    assert (await root.run("entry", "domain", str(entry), "--approve", "--json")).json["active"]
    certificate, key = files(tmp_path, days=200)
    renewed = await shell.run(
        "entry", "domain", f"{job}/web", "--certificate", certificate, "--private-key", key, "--json"
    )
    assert renewed.json["certificate"]["days_left"] == 200
    refused = await shell.run("entry", "domain", f"{job}/web", "--certificate", certificate)
    assert refused.status == 1


async def test_a_certificate_is_asked_for_and_gone_on_with(desk: Desk, shell: Shell) -> None:
    """No files then; another way of looking is a change; what is not by hand yet needs no word."""
    job = (await desk.running_job(shell.caller))["id"]
    added = await shell.run(
        *("entry", "add", job, "--name", "web", "--protocol", "https", "--level", "open", "--target-port", "80"),
        *("--domain", NAME, "--acme", "--json"),
    )
    assert added.json["domain_state"]["acme"]["challenge"] == "http-01", added.err
    looked = await shell.run("entry", "domain", f"{job}/web", "--acme-challenge", "dns-01")
    assert "Certificate ends: -" in looked.out
    assert "A certificate is being asked for." in looked.out
    went = await shell.run("entry", "domain", f"{job}/web", "--go-on", "--json")
    assert went.json["domain_state"]["acme"]["challenge"] == "dns-01"


async def test_a_locked_key_is_told_with_the_option_that_opens_it(desk: Desk, shell: Shell, tmp_path: Path) -> None:
    """The option does not bear the name of its field, so that a person could not guess it."""
    job = (await desk.running_job(shell.caller))["id"]
    certificate, key = files(tmp_path, password="sesame")
    refused = await shell.run(
        *("entry", "add", job, "--name", "web", "--protocol", "https", "--level", "open", "--target-port", "80"),
        *("--domain", NAME, "--certificate", certificate, "--private-key", key),
    )
    assert refused.status == 1
    assert "  private_key_password (--key-password-stdin): " in refused.err
