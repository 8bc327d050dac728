"""What is missing, and how to mend it."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path

import pytest

from control.config import Settings, read_settings
from control.supervisor import doctor
from control.supervisor.doctor import Finding, examine, tell
from tests.control.supervisor.running import PORT_NAMES, free_ports


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A platform that does not run, on ports that are free."""
    ports = dict(zip(PORT_NAMES, free_ports(len(PORT_NAMES)), strict=True))
    return read_settings(
        {
            "STARLIGHT_DATA_DIR": str(tmp_path / "data"),
            **{f"STARLIGHT_{name}_PORT": str(port) for name, port in ports.items()},
        }
    )


def found(settings: Settings) -> dict[str, Finding]:
    """All findings by name."""
    return {finding.name: finding for finding in examine(settings)}


def test_everything_worth_knowing_is_looked_at(settings: Settings) -> None:
    """Each part that can be missing has its finding, and each that is not well says how to mend it."""
    findings = found(settings)
    assert {"python", "console", "data directory", "bwrap", "pasta", "nft", "sftp-server"} <= findings.keys()
    assert {"user namespaces", "tun device", "uids", "*.proxy.localhost"} <= findings.keys()
    assert findings["python"].well
    assert findings[f"port {settings.http_port}"].well
    for finding in findings.values():
        assert finding.well == (finding.mend is None)


def test_a_missing_program_is_named_with_its_package(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line can be typed as it stands, in either language."""
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    finding = found(settings)["bwrap"]
    assert not finding.well
    assert not finding.needed
    assert finding.mend is not None
    assert "apt-get install bubblewrap" in finding.mend.en
    assert "apt-get install bubblewrap" in finding.mend.zh


def test_a_busy_port_is_needed_and_names_its_holder(settings: Settings) -> None:
    """The same words as at the start, before it is tried."""
    with socket.create_server(("127.0.0.1", settings.ssh_port)):
        finding = found(settings)[f"port {settings.ssh_port}"]
    assert not finding.well
    assert finding.needed
    assert "(pid " in finding.found
    assert finding.mend is not None
    assert "STARLIGHT_SSH_PORT" in finding.mend.en


def test_a_domain_of_one_s_own_needs_dns(tmp_path: Path) -> None:
    """Where the wildcard must point is told."""
    environ = {"STARLIGHT_BASE_DOMAIN": "apps.invalid", "STARLIGHT_PUBLIC_ADDRESS": "192.0.2.7"}
    finding = found(read_settings(environ | {"STARLIGHT_DATA_DIR": str(tmp_path)}))["*.apps.invalid"]
    assert finding.mend is not None
    assert "*.apps.invalid point at 192.0.2.7" in finding.mend.en


def test_what_a_certificate_authority_needs_is_told(tmp_path: Path) -> None:
    """Which of its two ports leads nowhere, and the line that mends it; nothing where no authority is set."""
    told = {
        "STARLIGHT_DATA_DIR": str(tmp_path),
        "STARLIGHT_ACME_DIRECTORY": "https://acme.test/dir",
        "STARLIGHT_ACME_TERMS_AGREED": "1",
        "STARLIGHT_ACME_TLS_PORT": "443",
        "STARLIGHT_ACME_CA_BUNDLE": str(tmp_path / "absent.pem"),
        "STARLIGHT_PUBLIC_ADDRESS": "192.0.2.7",
    }
    findings = found(read_settings(told))
    missing = findings["acme http-01"].mend
    assert missing is not None
    assert "forward port 80 of 192.0.2.7 to port 8888 here, or set STARLIGHT_ACME_HTTP_PORT=80" in missing.en
    assert findings["acme tls-alpn-01"].well
    assert "port 443" in findings
    assert findings["acme bundle"].needed
    assert not findings["acme bundle"].well
    assert not [name for name in found(read_settings({"STARLIGHT_DATA_DIR": str(tmp_path)})) if "acme" in name]


@pytest.mark.parametrize(("well", "needed", "status"), [(True, True, 0), (False, False, 0), (False, True, 1)])
def test_only_what_is_needed_fails(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    well: bool,
    needed: bool,
    status: int,
) -> None:
    """A note is no failure; a missing need is, for people and for programs alike."""
    finding = doctor._finding("thing", well, "facts", needed=needed, zh="修复它", en="mend it")
    monkeypatch.setattr(doctor, "examine", lambda _: [finding])
    assert tell(settings, {"LANG": "zh_CN.UTF-8"}, as_json=False) == status
    assert ("修复它" in capsys.readouterr().out) is not well
    assert tell(settings, {}, as_json=True) == status
    (plain,) = json.loads(capsys.readouterr().out)
    assert plain == {
        "name": "thing",
        "well": well,
        "needed": needed,
        "found": "facts",
        "mend": "" if well else "mend it",
    }
