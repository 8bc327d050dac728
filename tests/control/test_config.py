"""Settings from environment and starlight.toml: defaults, every fault in one message, and the way to the workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from control.config import (
    SettingsError,
    is_loopback,
    read_settings,
    read_worker_settings,
    to_environment,
)
from control.setting_values import PortRange


def faults_of(environ: dict[str, str], file: Path | None = None) -> str:
    """All faults of these settings, one a line."""
    with pytest.raises(SettingsError) as caught:
        read_settings(environ, file)
    return "\n".join(caught.value.faults)


def test_defaults_are_the_documented_ones() -> None:
    """Nothing set is the platform on loopback with its well-known ports."""
    settings = read_settings({})
    ports = (settings.console_port, settings.http_port, settings.https_port, settings.ssh_port, settings.tcp_port)
    assert ports == (8080, 8888, 8443, 8022, 8999)
    assert settings.data_dir == Path.cwd() / "var"
    assert settings.random_ports == PortRange(32768, 65535)
    assert settings.console_url == "http://127.0.0.1:8080"
    assert settings.certificate_names == ("proxy.localhost", "*.proxy.localhost", "console.localhost")
    assert settings.database_url == f"sqlite+aiosqlite:///{Path.cwd()}/var/control/starlight.db"
    assert settings.max_stale_s == 300
    assert settings.gateway_processes >= 1


@pytest.mark.parametrize(
    ("name", "text", "attribute", "value"),
    [
        ("HTTP_PORT", "80", "http_port", 80),
        ("HOST", "localhost", "host", "127.0.0.1"),
        ("HOST", "::1", "host", "::1"),
        ("RANDOM_PORTS", "40000-40100", "random_ports", PortRange(40000, 40100)),
        ("BASE_DOMAIN", "Apps.Example.COM.", "base_domain", "apps.example.com"),
        ("CONSOLE_URL", "https://desk.example.com:8443/", "console_url", "https://desk.example.com:8443"),
        ("CONSOLE_URL", "https://desk.example.com", "console_name", "desk.example.com"),
        ("CONSOLE_NAME", "console.test", "console_name", "console.test"),
        ("DATABASE_URL", "postgresql://u:p@db/star", "database_url", "postgresql+asyncpg://u:p@db/star"),
        ("ALLOW_UNISOLATED", "1", "allow_unisolated", True),
        ("ALLOW_UNISOLATED", "0", "allow_unisolated", False),
        ("GATEWAY_PROCESSES", "3", "gateway_processes", 3),
        ("MAX_STALE_S", "60", "max_stale_s", 60.0),
        ("MAX_VISITS", "9", "max_visits", 9),
        ("MAX_VISITS_PER_ENTRY", "8", "max_visits_per_entry", 8),
        ("MAX_VISITS_PER_ADDRESS", "7", "max_visits_per_address", 7),
        ("MAX_JOBS_PER_USER", "6", "max_jobs_per_user", 6),
        ("SSH_IDLE_S", "600", "ssh_idle_s", 600.0),
        ("SSH_IDLE_S", "", "ssh_idle_s", None),
        ("UID_BASE", "60000", "uid_base", 60000),
        ("DATA_DIR", "/srv/starlight", "data_dir", Path("/srv/starlight")),
        ("HTTP_PORT", "", "http_port", 8888),
    ],
)
def test_a_setting_is_read(name: str, text: str, attribute: str, value: object) -> None:
    """Each variable arrives, in its own type and its normal form; an empty one counts as not set."""
    assert getattr(read_settings({f"STARLIGHT_{name}": text}), attribute) == value


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("HTTP_PORT", "0", "not a number from 1 to 65535"),
        ("HTTP_PORT", "65536", "not a number from 1 to 65535"),
        ("HTTP_PORT", "٨٠", "not a number"),
        ("HOST", "example.com", "not an IP address"),
        ("RANDOM_PORTS", "9000-8000", "ends before it begins"),
        ("RANDOM_PORTS", "9000", "not a range"),
        ("BASE_DOMAIN", "a..b", "not a host name"),
        ("BASE_DOMAIN", "10.0.0.1", "not a host name"),
        ("CONSOLE_URL", "https://desk/path", "without a path"),
        ("CONSOLE_URL", "ftp://desk", "not an address"),
        ("CONSOLE_URL", "https://desk:99999", "not an address"),
        ("ADMIN_PASSWORD", "short", "8 to 1,024"),
        ("DATABASE_URL", "mysql://u:secret@db/x", "begins with postgresql://"),
        ("ALLOW_UNISOLATED", "perhaps", "neither 1 nor 0"),
        ("GATEWAY_PROCESSES", "0", "not a number from 1 to 64"),
        ("REDIS_URL", "redis://x", "not built yet"),
        ("ACME_HTTP_PORT", "0", "not a number from 1 to 65535"),
        ("ACME_TLS_PORT", "8888", "STARLIGHT_HTTP_PORT and STARLIGHT_ACME_TLS_PORT are both 8888"),
        ("ACME_DIRECTORY", "http://acme.test/dir", "is not an https:// address"),
        ("ACME_DIRECTORY", "https://acme.test/dir", "STARLIGHT_ACME_TERMS_AGREED=1"),
        ("ACME_CONTACT", "nobody", "not an e-mail address"),
        ("NAME_SERVERS", "dns.example", "not an IP address"),
        ("HTPP_PORT", "80", "did you mean http_port?"),
        ("SSH_PORT", "8888", "STARLIGHT_HTTP_PORT and STARLIGHT_SSH_PORT are both 8888"),
        ("HOST", "0.0.0.0", "STARLIGHT_INSECURE_HTTP=1"),
        ("CONSOLE_URL", "http://desk.example.com", "STARLIGHT_INSECURE_HTTP=1"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_name_and_a_sentence(name: str, text: str, sentence: str) -> None:
    """The person reads which setting is wrong and what would be right."""
    told = faults_of({f"STARLIGHT_{name}": text})
    assert sentence in told
    assert f"STARLIGHT_{name}" in told or name == "HOST" or name == "CONSOLE_URL"


def test_all_faults_are_told_together() -> None:
    """Three wrong settings take one start to find, not three."""
    told = faults_of({"STARLIGHT_HTTP_PORT": "x", "STARLIGHT_SSH_PORT": "y", "STARLIGHT_REDIS_URL": "redis://h"})
    assert told.count("\n") == 2


def test_a_database_password_is_not_repeated() -> None:
    """A refused database address may hold a password: neither the fault nor the settings' text shows it."""
    assert "secret" not in faults_of({"STARLIGHT_DATABASE_URL": "mysql://u:secret@db/x"})
    settings = read_settings(
        {"STARLIGHT_DATABASE_URL": "postgresql://u:secret@db/x", "STARLIGHT_ADMIN_PASSWORD": "secret enough"}
    )
    assert "secret" not in repr(settings)


@pytest.mark.parametrize(
    ("environ", "console_host"),
    [
        ({}, "127.0.0.1"),
        ({"STARLIGHT_HOST": "::1"}, "::1"),
        ({"STARLIGHT_HOST": "0.0.0.0", "STARLIGHT_CONSOLE_URL": "https://desk.example.com"}, "127.0.0.1"),
        ({"STARLIGHT_HOST": "0.0.0.0", "STARLIGHT_INSECURE_HTTP": "1"}, "0.0.0.0"),
    ],
)
def test_the_plain_console_port_leaves_loopback_only_when_told(environ: dict[str, str], console_host: str) -> None:
    """Without STARLIGHT_INSECURE_HTTP the plain console port listens on loopback, whatever the others do."""
    assert read_settings(environ).console_host == console_host


def test_the_file_is_read_and_the_environment_wins(tmp_path: Path) -> None:
    """starlight.toml holds the same names in lower case, with TOML's own types."""
    file = tmp_path / "starlight.toml"
    file.write_text('http_port = 81\nssh_port = 23\nallow_unisolated = true\nbase_domain = "apps.test"\n')
    settings = read_settings({"STARLIGHT_SSH_PORT": "24"}, file)
    assert (settings.http_port, settings.ssh_port, settings.allow_unisolated) == (81, 24, True)
    assert settings.base_domain == "apps.test"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("http_prt = 81", "did you mean http_port?"),
        ('colour = "red"', "colour is not a setting"),
        ('[clusters.big]\nkind = "slurm"', "[clusters] is not built yet"),
        ("http_port = ", "Invalid value"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    """Unknown words and broken TOML stop the start with a sentence that names the file."""
    file = tmp_path / "starlight.toml"
    file.write_text(text)
    told = faults_of({}, file)
    assert sentence in told
    assert "starlight.toml" in told


def test_others_may_use_our_prefix() -> None:
    """What a job finds in its environment, or a worker, is no misspelt setting."""
    read_settings({"STARLIGHT_PORT_WEB": "20001", "STARLIGHT_RUN_DIR": "/x", "STARLIGHT_TOKEN": "sl_x"})


def test_a_worker_reads_the_same_settings_back() -> None:
    """What the supervisor resolved arrives unchanged, through nothing but the environment."""
    settings = read_settings(
        {"STARLIGHT_DATA_DIR": "/srv/star", "STARLIGHT_UID_BASE": "60000", "STARLIGHT_ADMIN_PASSWORD": "pass word"}
    )
    environ = to_environment(settings) | {
        "STARLIGHT_RUN_DIR": "/srv/star/run",
        "STARLIGHT_NAME": "web-0",
        "STARLIGHT_LIFELINE_FD": "5",
        "STARLIGHT_CONTROL_UID": "60001",
        "STARLIGHT_GATEWAY_UID": "60002",
        "STARLIGHT_JOB_UID_BASE": "61000",
        "STARLIGHT_FEED_KEY": "ab" * 32,
    }
    worker = read_worker_settings(environ)
    assert worker.settings == settings
    assert (worker.name, worker.lifeline_fd, worker.control_uid, worker.gateway_uid) == ("web-0", 5, 60001, 60002)
    assert worker.job_uid_base == 61000
    assert worker.feed_key == b"\xab" * 32
    assert read_worker_settings(environ | {"STARLIGHT_JOB_UID_BASE": ""}).job_uid_base is None


def test_a_worker_without_its_key_is_refused() -> None:
    """A worker started by hand is told who starts workers."""
    with pytest.raises(SettingsError, match="starlight up"):
        read_worker_settings({})


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.5", True), ("::1", True), ("console.localhost", True), ("0.0.0.0", False), ("example.com", False)],
)
def test_loopback_is_known_by_address_and_by_name(host: str, here: bool) -> None:
    """`*.localhost` can only mean this machine (RFC 6761 section 6.3)."""
    assert is_loopback(host) is here


def test_a_port_that_entries_have_is_bound_once() -> None:
    """Where entries live on 80, they answer authorities as well: no clash, no second listener."""
    settings = read_settings(
        {"STARLIGHT_HTTP_PORT": "80", "STARLIGHT_ACME_HTTP_PORT": "80", "STARLIGHT_ACME_TLS_PORT": "443"}
    )
    assert settings.acme_ports == {"acme_tls": 443}
    assert read_settings({}).acme_ports == {}


def test_what_is_told_of_an_authority_survives_the_way_to_a_worker() -> None:
    """Paths, ports and name servers as they were; the bundle is read from the supervisor's copy."""
    told = {
        "STARLIGHT_ACME_DIRECTORY": "https://acme.test/dir",
        "STARLIGHT_ACME_TERMS_AGREED": "1",
        "STARLIGHT_ACME_CONTACT": "ops@example.org",
        "STARLIGHT_ACME_CA_BUNDLE": "/etc/ca.pem",
        "STARLIGHT_NAME_SERVERS": "9.9.9.9, 127.0.0.1:5353,[2620:fe::fe]:54",
        "STARLIGHT_DATA_DIR": "/srv/starlight",
    }
    settings = read_settings(told)
    assert read_settings(to_environment(settings)) == settings
    assert settings.acme_trusted == Path("/srv/starlight/control/acme-ca.pem")
    assert [str(one) for one in settings.name_servers] == ["9.9.9.9:53", "127.0.0.1:5353", "[2620:fe::fe]:54"]
    assert read_settings({}).acme_trusted is None
