"""The gateway's settings: from argv and the environment, all faults at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.config import ConfigError, GatewayConfig, Role, read_config

ARGV = ["--role", "web", "--name", "web-0"]


def test_the_least_that_is_needed() -> None:
    """A data directory is enough; everything else has its default."""
    config = read_config(ARGV, {"STARLIGHT_DATA_DIR": "/data"})
    assert (config.role, config.name) == (Role.WEB, "web-0")
    assert (config.run_dir, config.state_dir) == (Path("/data/run"), Path("/data/gateway"))
    assert (config.http_port, config.https_port, config.ssh_port) == (8888, 8443, 8022)
    assert config.feed_key is None
    assert config.lifeline_fd is None


def test_everything_that_can_be_told() -> None:
    """Each setting of the environment arrives in its field."""
    config = read_config(
        ["--role", "ssh", "--name", "ssh-0"],
        {
            "STARLIGHT_DATA_DIR": "/data",
            "STARLIGHT_RUN_DIR": "/run/x",
            "STARLIGHT_ASSETS_DIR": "/assets",
            "STARLIGHT_HOST": "0.0.0.0",
            "STARLIGHT_CONSOLE_PORT": "1",
            "STARLIGHT_HTTP_PORT": "2",
            "STARLIGHT_HTTPS_PORT": "3",
            "STARLIGHT_SSH_PORT": "4",
            "STARLIGHT_TCP_PORT": "5",
            "STARLIGHT_ACME_HTTP_PORT": "80",
            "STARLIGHT_ACME_TLS_PORT": "443",
            "STARLIGHT_BASE_DOMAIN": "apps.example",
            "STARLIGHT_CONSOLE_URL": "https://console.example",
            "STARLIGHT_CONSOLE_NAME": "console.example",
            "STARLIGHT_INSECURE_HTTP": "1",
            "STARLIGHT_MAX_STALE_S": "60.0",
            "STARLIGHT_SSH_IDLE_S": "600.0",
            "STARLIGHT_FEED_KEY": "00" * 32,
            "STARLIGHT_LIFELINE_FD": "9",
        },
    )
    assert config == GatewayConfig(
        role=Role.SSH,
        name="ssh-0",
        run_dir=Path("/run/x"),
        state_dir=Path("/data/gateway"),
        assets_dir=Path("/assets"),
        host="0.0.0.0",
        console_port=1,
        http_port=2,
        https_port=3,
        ssh_port=4,
        tcp_port=5,
        acme_http_port=80,
        acme_tls_port=443,
        base_domain="apps.example",
        console_url="https://console.example",
        console_name="console.example",
        insecure_http=True,
        max_stale_s=60.0,
        ssh_idle_s=600.0,
        feed_key=bytes(32),
        lifeline_fd=9,
    )


def test_all_faults_are_told_together() -> None:
    """Each fault names its setting."""
    wrong = {"STARLIGHT_HTTP_PORT": "x", "STARLIGHT_FEED_KEY": "00", "STARLIGHT_INSECURE_HTTP": "yes"}
    with pytest.raises(ConfigError) as caught:
        read_config(ARGV, wrong)
    lines = str(caught.value).splitlines()
    names = ("DATA_DIR", "HTTP_PORT", "INSECURE_HTTP", "FEED_KEY")
    assert [line.partition(":")[0] for line in lines] == [f"STARLIGHT_{name}" for name in names]


def test_secrets_are_not_printed() -> None:
    """A configuration in a log shows no key."""
    config = read_config(ARGV, {"STARLIGHT_DATA_DIR": "/data", "STARLIGHT_FEED_KEY": "ab" * 32})
    assert "\\xab" not in repr(config)


@pytest.mark.parametrize("argv", [[], ["--role", "web"], ["--role", "mail", "--name", "x"]])
def test_a_wrong_command_line_is_refused(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """argparse says how to call it."""
    with pytest.raises(SystemExit):
        read_config(argv, {"STARLIGHT_DATA_DIR": "/data"})
    assert "usage: python -m gateway" in capsys.readouterr().err


def test_only_ports_that_are_no_entrys_are_listened_on_for_authorities() -> None:
    """Where entries live on 80 or 443, they answer."""
    environment = {"STARLIGHT_DATA_DIR": "/data", "STARLIGHT_ACME_HTTP_PORT": "80", "STARLIGHT_ACME_TLS_PORT": "443"}
    assert read_config(ARGV, environment).acme_listeners == ("acme_http", "acme_tls")
    assert read_config(ARGV, environment | {"STARLIGHT_HTTPS_PORT": "443"}).acme_listeners == ("acme_http",)
    assert read_config(ARGV, {"STARLIGHT_DATA_DIR": "/data"}).acme_listeners == ()
