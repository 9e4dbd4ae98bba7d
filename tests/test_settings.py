"""Settings: every one documented where it is set, and every mistake told in words."""

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.settings import BadSettings, load
from tests.for_each import for_each

SANDBOX = "http://127.0.0.1:8081"
DEFAULTS = resources.files("gatepost").joinpath("default.toml").read_text()


def write(folder: Path, text: str) -> Path:
    path = folder / "my.toml"
    path.write_text(text)
    return path


def leaves(values: dict[str, Any], prefix: str = "") -> list[str]:
    names = []
    for name, value in values.items():
        names += leaves(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name]
    return names


# -- the file that is the documentation -------------------------------------------------------------------------------


def test_every_setting_has_a_sentence() -> None:
    for line in DEFAULTS.splitlines():
        if "=" in line and not line.startswith("#"):
            _, _, comment = line.partition("  # ")
            words = comment.strip()
            assert words, f"no comment: {line}"
            assert words[0].isupper() or words.startswith(("...", "debug", "console", "32 bytes")), line
            assert words.endswith((".", "...", ")")), line


def test_the_defaults_are_whole() -> None:
    settings = load(environ={})
    assert settings.server.port == 8080
    assert settings.public_url == "http://127.0.0.1:8080"
    assert settings.plans["starter"].messages_per_month == 12_000
    assert settings.plans["unlimited"].messages_per_month is None
    assert settings.data_folder.is_absolute()


# -- who has the last word --------------------------------------------------------------------------------------------


def test_file_then_environment_then_command_line(tmp_path: Path) -> None:
    mine = write(tmp_path, "data = '/file'\n[server]\nhost = 'file'\nport = 1\n[log]\nlevel = 'debug'")
    environ = {"GATEPOST_SERVER__HOST": "environ", "GATEPOST_SERVER__PORT": "2", "PATH": "/bin"}
    settings = load(mine, environ, {"server.port": 3, "database.url": None})
    assert (settings.data, settings.log.level) == ("/file", "debug")
    assert (settings.server.host, settings.server.port) == ("environ", 3)
    assert settings.server.body_limit == 1_048_576
    assert settings.database.url == ""


def test_the_environment_takes_values_as_toml_or_as_plain_text() -> None:
    settings = load(
        environ={
            "GATEPOST_WEBHOOKS__ALLOW": '["10.0.0.0/8"]',
            "GATEPOST_LEASE__TTL": "12.5",
            "GATEPOST_CLOUD__BASE_URL": "http://127.0.0.1:8081",
            "GATEPOST_SECURITY__SECRET_KEY": '"123"',
            "GATEPOST_PLANS__STARTER__MESSAGES_PER_MONTH": "5",
        }
    )
    assert settings.webhooks.allow == ("10.0.0.0/8",)
    assert settings.lease.ttl == 12.5
    assert settings.cloud.base_url == "http://127.0.0.1:8081"
    assert settings.security.secret_key == "123"
    assert settings.plans["starter"].messages_per_month == 5


@for_each(
    ("limit", "value"),
    [("messages_per_month", -1), ("storage_bytes", -1), ("channels", -1), ("messages_per_month", 2**63)],
)
def test_a_plan_has_limits_that_can_be_counted(limit: str, value: int) -> None:
    with pytest.raises(BadSettings, match=rf"plans.*{limit}"):
        load(environ={}, overrides={"plans.starter": {"title": "Starter", limit: value}})
    load(environ={}, overrides={"plans.starter": {"title": "Starter", limit: 0}})


def test_a_plan_of_ones_own(tmp_path: Path) -> None:
    settings = load(write(tmp_path, "[plans.tiny]\ntitle = 'Tiny'\nmessages_per_month = 1"), {})
    assert settings.plans["tiny"].messages_per_month == 1
    assert "starter" in settings.plans


@pytest.mark.parametrize(("url", "shown"), [("https://g.example.com/", "https://g.example.com"), ("", "http://h:9")])
def test_the_public_address_is_what_the_outside_uses(url: str, shown: str) -> None:
    settings = load(environ={}, overrides={"server.public_url": url, "server.host": "h", "server.port": 9})
    assert settings.public_url == shown


def test_the_address_of_an_ipv6_host_is_in_brackets() -> None:
    assert load(environ={}, overrides={"server.host": "::1", "server.port": 9}).public_url == "http://[::1]:9"


# -- mistakes ---------------------------------------------------------------------------------------------------------


@for_each(
    ("text", "hint"),
    [
        ("[server]\nprot = 1", "prot"),
        ("[sever]\nport = 1", "sever"),
        ("surprise = 1", "surprise"),
        ("[server]\nport = 'eighty'", r"(?s)int.*server\.port"),
        ("[server]\nport = true", r"server\.port"),
        ("[lease]\nttl = 'long'", r"float.*lease\.ttl"),
        ("[webhooks]\nallow = 'all'", r"array.*webhooks\.allow"),
        ("[webhooks]\nallow = [5]", r"str.*webhooks\.allow"),
        ("[plans.x]\nmessages_per_month = 5", "title"),
        ("[plans.x]\ntitle = 'X'\nmessages = 5", "messages"),
        ("server = 5", "server"),
        ("data = 5", "data"),
    ],
)
def test_an_unknown_name_or_a_wrong_type_is_refused_by_name(tmp_path: Path, text: str, hint: str) -> None:
    with pytest.raises(BadSettings, match=hint) as refused:
        load(write(tmp_path, text), {})
    assert str(refused.value).startswith("Bad setting: ")


@for_each(
    ("name", "value"),
    [
        ("GATEPOST_SERVER__PROT", "1"),
        ("GATEPOST_SEVER__PORT", "1"),
        ("GATEPOST_SERVER__PORT", "eighty"),
        ("GATEPOST_DATA__X", "1"),
        ("GATEPOST_SERVER__PORT__X", "1"),
        ("GATEPOST___", "1"),
        ("GATEPOST_DATABASE_URL", "postgresql://there/gatepost"),
        ("GATEPOST_DATA", ""),
    ],
)
def test_a_mistake_in_the_environment_is_refused_too(name: str, value: str) -> None:
    with pytest.raises(BadSettings):
        load(environ={name: value})


def test_what_kubernetes_sets_for_a_service_is_no_setting() -> None:
    seen = load(environ={"GATEPOST_SERVER_PORT": "tcp://10.0.0.1:8080", "GATEPOST_SERVER_PORT_8080_TCP_PROTO": "tcp"})
    assert seen.server.port == 8080


@pytest.mark.parametrize("dotted", ["server.prot", "nonsense", "server.port.x"])
def test_a_mistake_on_the_command_line_is_refused_too(dotted: str) -> None:
    with pytest.raises(BadSettings):
        load(environ={}, overrides={dotted: 1})


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"missing\.toml"):
        load(tmp_path / "missing.toml", {})
    with pytest.raises(BadSettings, match=r"my\.toml"):
        load(write(tmp_path, "port = = 1"), {})
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(BadSettings, match=r"binary\.toml"):
        load(binary, {})


@for_each(
    ("name", "under", "over"),
    [
        ("security.key_cache_seconds", 1.0, 1.001),
        ("security.key_cache_seconds", 0, -0.001),
        ("server.port", 65_535, 65_536),
        ("server.port", 0, -1),
        ("api.rate", 0.001, 0),
        ("sending.attempts", 1, 0),
        ("lease.renew", 7.5, 7.6),
        ("cloud.version", "v1.0", "1.0"),
        ("log.level", "error", "loud"),
        ("server.drain_seconds", 1e9, float("inf")),
        ("lease.ttl", 1e9, float("inf")),
        ("retention.messages_days", 36_500, 36_501),
        ("retention.events_days", 36_500, 36_501),
        ("retention.partition_days", 3_650, 3_651),
        ("media.days", 36_500, 36_501),
        ("trial.days", 36_500, 36_501),
        ("server.public_url", "https://gateway.example.com", "gateway.example.com"),
        ("server.public_url", "", "ftp://gateway.example.com"),
        ("cloud.base_url", "http://127.0.0.1:8081", "graph.facebook.com"),
        ("qr.link_url", "ws://127.0.0.1:8081/qr/link", "http://127.0.0.1:8081/qr/link"),
        ("tracing.endpoint", "http://127.0.0.1:4318", "127.0.0.1:4318"),
        ("server.host", "0.0.0.0", ""),
        ("server.public_url", "http://[::1]:8080", "https://"),
        ("server.public_url", "https://gateway.example.com/", "https:///"),
        ("cloud.base_url", "https://graph.example.com", "https://:443"),
        ("qr.link_url", "wss://links", "wss:// links"),
        ("tracing.endpoint", "", "http://"),
        ("database.connections", 10_000, 10_001),
        ("server.body_limit", 10**12, 10**20),
        ("sending.read_ahead", 10**12, 10**20),
        ("api.wrong_keys", 0, 2**31),
        ("pace.tier", 2**31 - 1, 2**31),
        ("pace.ladder", [0], [10**30]),
        ("pace.qr_new_per_day", 0, -1),
        ("webhooks.allow", ["127.0.0.0/8", "::1", "localhost", "hooks.internal:9000", "[::1]:9000"], [""]),
        ("webhooks.allow", ["10.0.0.0/8"], ["10.0.0.1/8"]),
        ("webhooks.allow", ["127.0.0.1:9000"], ["http://127.0.0.1:9000"]),
        ("webhooks.allow", [], ["*.internal"]),
        ("webhooks.allow", [], ["one two"]),
    ],
)
def test_ranges(name: str, under: object, over: object) -> None:
    load(environ={}, overrides={name: under})
    with pytest.raises(BadSettings, match=name.replace(".", r"\.")):
        load(environ={}, overrides={name: over})


@given(st.text(st.characters(exclude_characters="\x00\r\n", codec="utf-8")))
def test_no_value_of_the_environment_breaks_the_reading(text: str) -> None:
    settings = load(environ={"GATEPOST_METRICS__TOKEN": f"'{text}'", "GATEPOST_OTHER": text})
    assert text in settings.metrics.token


@pytest.mark.parametrize("text", ["12345", "true", "1e5", "2027-01-31", "[1]", "'a' #1", "''#'", "1,", "1]#"])
def test_a_text_of_the_environment_needs_no_quotes(text: str) -> None:
    assert load(environ={"GATEPOST_METRICS__TOKEN": text}).metrics.token == text


@pytest.mark.parametrize("name", ["database.url", "cells.west", "qr.device_store"])
@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:pass/word@db/gatepost",
        "postgresql://u:pass?word@db/gatepost",
        "postgresql://u:pass#word@db/gatepost",
        "postgresql://u:pass@db:port/gatepost",
        "postgresql://u:pass@db:65536/gatepost",
        "postgresql://u:pass@db:5432,other:0/gatepost",
        "postgresql://u:pass@[::1/gatepost",
        "postgresql://u:pass@db/gatepost?sslmode=verify-full&sslrootcert=system",
        "mysql://u:pass@db/gatepost",
        "u:pass@db/gatepost",
    ],
)
def test_an_address_of_a_database_that_cannot_be_parsed_is_not_shown(name: str, url: str) -> None:
    with pytest.raises(BadSettings, match=name.replace(".", r"\.")) as refused:
        load(environ={}, overrides={name: url})
    assert "pass@" not in str(refused.value)
    assert "pass/" not in str(refused.value)
    assert "db" not in str(refused.value).replace("%", "")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///gatepost?host=/run/postgresql",
        "postgres://u:p%2Fw@db/gatepost",
        "postgresql://u:p@w@db:65535/gatepost",
        "postgresql://u@db:5432,other:5433/gatepost?target_session_attrs=primary",
        "postgresql://u@[::1]:5432/gatepost",
        "postgresql://u@[::1]/gatepost",
        "postgresql://u@db/gatepost?sslmode=verify-full&sslrootcert=/etc/ssl/certs/ca-certificates.crt",
        "postgresql://",
    ],
)
def test_addresses_of_databases(url: str) -> None:
    assert load(environ={}, overrides={"database.url": url, "cells.west": url}).database.url == url


@for_each("name", leaves(tomllib.loads(DEFAULTS)))
def test_every_setting_can_be_set_from_the_environment(name: str) -> None:
    around = {"cloud.base_url": SANDBOX, "qr.link_url": f"ws://{SANDBOX[7:]}/qr/link"} if name == "clock.follow" else {}
    chosen = {f"GATEPOST_{name.upper().replace('.', '__')}": other(name)}
    before, after = load(environ={}, overrides=around), load(environ=chosen, overrides=around)
    assert before != after


@for_each(
    ("base_url", "link_url"),
    [
        ("", "ws://127.0.0.1:8081/qr/link"),
        ("https://graph.facebook.com", "ws://127.0.0.1:8081/qr/link"),
        ("http://127.0.0.1:80811", "ws://127.0.0.1:8081/qr/link"),
        (SANDBOX, ""),
        (SANDBOX, "ws://127.0.0.1:80811/qr/link"),
        (SANDBOX, "ws://phones.example.com/qr/link"),
    ],
)
def test_only_a_gateway_whose_networks_are_the_sandbox_follows_its_clock(base_url: str, link_url: str) -> None:
    chosen = {"clock.follow": SANDBOX, "cloud.base_url": base_url or None, "qr.link_url": link_url}
    with pytest.raises(BadSettings, match=r"clock\.follow is for tests"):
        load(environ={}, overrides=chosen)


CHOSEN = {
    "server.public_url": "https://gateway.example.com",
    "cloud.base_url": "http://127.0.0.1:8081",
    "qr.link_url": "ws://127.0.0.1:8081/qr/link",
    "qr.device_store": "postgresql://db/devices",
    "database.url": "postgresql://db/gatepost",
    "tracing.endpoint": "http://127.0.0.1:4318",
    "tracing.headers": "x-team=ops",
    "clock.follow": f'"{SANDBOX}"',
    "api.cors_origins": '["https://shop.example.com"]',
    "cloud.media_hosts": '["files.example"]',
    "cloud.version": '"v26.0"',
    "log.level": '"debug"',
    "log.format": '"json"',
    "pace.ladder": "[250, 2000]",
    "pace.qr_growth": "2.5",
    "qr.engine": '"baileys"',
    "qr.groups": "true",
    "server.processes": "3",
}


def other(name: str) -> str:
    """A value that is not the default."""
    if name in CHOSEN:
        return CHOSEN[name]
    value: Any = tomllib.loads(DEFAULTS)
    for part in name.split("."):
        value = value[part]
    if isinstance(value, list):
        return '["127.0.0.0/8"]'
    return (
        f'"other {value}"'
        if isinstance(value, str)
        else str(value * 2 if isinstance(value, int) and name != "lease.renew" else value / 2)
    )
