"""The image, compose.yaml and the systemd unit: they name files that exist and settings that the gateway accepts."""

import re
import shlex
from typing import Any

import pytest
import typer
import yaml  # type: ignore[import-untyped]

from gatepost.cli.root import app
from gatepost.settings import load
from tests.deploy.files import ROOT, docker_lines, last_stage, unit

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
GATEWAYS = [name for name in SERVICES if name.startswith("gateway-")]
OURS = [*GATEWAYS, "sandbox"]
SERVICE = unit(ROOT / "deploy" / "systemd" / "gatepost.service")
_VARIABLE = re.compile(r"\$\{(\w+)(?::\?[^}]*)?\}")


def options_of(command: str) -> set[str]:
    """Return the options that a command of the gateway takes."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {name for one in commands[command].params for name in one.opts}


def check_command(words: list[str]) -> None:
    """Check that the gateway has this command, with these options."""
    assert {word for word in words[1:] if word.startswith("--")} <= options_of(words[0])


# -- the image --------------------------------------------------------------------------------------------------------


def test_the_image_contains_what_its_build_copies() -> None:
    """`.dockerignore` leaves out everything except these; what it lets through must exist and be what is copied."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    admitted = {line[1:] for line in lines if line.startswith("!")}
    assert "*" in lines
    assert all((ROOT / name).exists() for name in admitted)
    copied = {text.split()[0] for word, text in docker_lines() if word == "COPY" and "--from" not in text}
    assert copied - {"."} <= admitted
    needed = {"Makefile", "src", "docs", "packages", "dashboard", "scripts", "pyproject.toml", "README.md", "LICENSE"}
    assert needed | {"requirements.txt", "requirements-dev.txt"} == admitted


def test_the_image_has_an_unprivileged_user_and_valid_settings() -> None:
    stage = last_stage()
    assert stage["USER"] == "10001:10001"
    assert "useradd --uid 10001" in stage["RUN"]
    settings = load(environ=stage.env)
    assert (settings.data, settings.server.host) == (stage["VOLUME"], "0.0.0.0")
    assert str(settings.server.port) == stage["EXPOSE"]
    assert stage.words("ENTRYPOINT") == ["gatepost"]
    check_command(stage.words("CMD"))


# -- compose ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GATEWAYS)
def test_the_gateways_of_compose_accept_their_settings(name: str) -> None:
    service = SERVICES[name]
    settings = load(environ={key: _VARIABLE.sub("x", value) for key, value in service["environment"].items()})
    assert settings.database.url == "postgresql://gatepost:x@postgres/gatepost"
    assert settings.public_url.endswith(service["ports"][0].split(":")[1])
    assert settings.cloud.base_url == "http://sandbox:8081"
    assert settings.qr.link_url.startswith("ws://sandbox:8081/")


def test_both_gateways_share_everything_but_their_address() -> None:
    first, second = ({**SERVICES[name]["environment"]} for name in GATEWAYS)
    assert first.pop("GATEPOST_SERVER__PUBLIC_URL") != second.pop("GATEPOST_SERVER__PUBLIC_URL")
    assert first == second
    assert SERVICES[GATEWAYS[0]]["volumes"] == SERVICES[GATEWAYS[1]]["volumes"] == [f"data:{last_stage()['VOLUME']}"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_of_compose_is_complete(name: str) -> None:
    service = SERVICES[name]
    assert ":" in service["image"]
    assert not service["image"].endswith(":latest")
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    assert set(service.get("depends_on", ())) <= SERVICES.keys()
    for volume in service["volumes"]:
        source = volume.split(":")[0]
        assert (ROOT / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "postgres"])
def test_a_container_is_read_only_and_without_privileges(name: str) -> None:
    service = SERVICES[name]
    copied = any("file" not in COMPOSE["secrets"][one] for one in service.get("secrets", ()))
    assert service["read_only"] is not copied  # compose refuses a secret that is no file in a read-only container
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_the_example_names_every_variable_of_compose() -> None:
    used = set(_VARIABLE.findall((ROOT / "compose.yaml").read_text()))
    used |= {secret["environment"] for secret in COMPOSE["secrets"].values()}
    example = (ROOT / "deploy" / "example.env").read_text()
    assert set(re.findall(r"^(\w+)=$", example, re.MULTILINE)) == used


def test_the_sandbox_of_compose_is_started_with_options_that_it_has() -> None:
    check_command(SERVICES["sandbox"]["command"])


def test_prometheus_reads_both_gateways_with_the_token() -> None:
    config = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
    (job,) = config["scrape_configs"]
    port = last_stage()["EXPOSE"]
    assert job["static_configs"] == [{"targets": [f"{name}:{port}" for name in GATEWAYS]}]
    assert job["authorization"] == {"credentials_file": f"/run/secrets/{SERVICES['prometheus']['secrets'][0]}"}
    assert config["rule_files"] == ["/etc/prometheus/rules.yml"]
    assert (ROOT / "deploy" / "prometheus" / "rules.yml").is_file()
    assert "./deploy/prometheus:/etc/prometheus:ro" in SERVICES["prometheus"]["volumes"]


def test_grafana_finds_the_dashboard_and_prometheus() -> None:
    folder = ROOT / "deploy" / "grafana" / "provisioning"
    (provider,) = yaml.safe_load((folder / "dashboards" / "gatepost.yml").read_text())["providers"]
    assert f"./deploy/grafana:{provider['options']['path']}:ro" in SERVICES["grafana"]["volumes"]
    assert (ROOT / "deploy" / "grafana" / "gatepost.json").is_file()
    (source,) = yaml.safe_load((folder / "datasources" / "prometheus.yml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"


# -- systemd ----------------------------------------------------------------------------------------------------------


def test_the_unit_starts_the_gateway_with_options_and_settings_that_it_has() -> None:
    (line,) = SERVICE["ExecStart"]
    program, *words = shlex.split(line)
    assert program.endswith("/bin/gatepost")
    check_command(words)
    settings = load(environ=dict(pair.split("=", 1) for pair in SERVICE["Environment"]))
    assert settings.data == f"/var/lib/{SERVICE['StateDirectory'][0]}" == SERVICE["WorkingDirectory"][0]
    assert float(SERVICE["TimeoutStopSec"][0]) > settings.server.drain_seconds


def test_the_unit_has_no_privileges() -> None:
    (name,) = SERVICE["User"]
    assert f"u {name} " in (ROOT / "deploy" / "systemd" / "gatepost.sysusers.conf").read_text()
    wanted = {"NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes"}
    wanted |= {"CapabilityBoundingSet": "", "UMask": "0077", "StateDirectoryMode": "0700"}
    assert {key: SERVICE[key] for key in wanted} == {key: [value] for key, value in wanted.items()}
