"""Settings: `default.toml`, then the user's file, then the environment, then the command line.

They are read once at start and passed on by `app.py`; no module imports a setting.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote

import msgspec

from gatepost.model.account import Plan
from gatepost.model.databases import MAIN, database_url_fault

PREFIX = "GATEPOST_"
MOST_PROCESSES = 64
_HOST = re.compile(r"[^/?#\s:@]|\[[0-9a-fA-F:.]+\]")  # at least the beginning of one
_ALLOWED = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s/:*?#@\[\]]+)(:[0-9]{1,5})?")
_HTTP, _WEBSOCKET = ("http://", "https://"), ("ws://", "wss://")
_OPENTELEMETRY = {"endpoint": "OTEL_EXPORTER_OTLP_ENDPOINT", "headers": "OTEL_EXPORTER_OTLP_HEADERS"}  # of [tracing]


Positive = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
NotNegative = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Count = Annotated[int, msgspec.Meta(ge=1, le=10**12)]
Limit = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]  # 0: none
Days = Annotated[int, msgspec.Meta(ge=1, le=36_500)]  # a time that lies further back may not exist
DaysOrNone = Annotated[int, msgspec.Meta(ge=0, le=36_500)]
Port = Annotated[int, msgspec.Meta(ge=0, le=65_535)]
HostName = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$")]
CellName = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]{0,30}$")]
Origin = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9+.-]*://[^\s/*?#@A-Z]+$")]  # as browsers write it


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class ServerSettings(_Section, frozen=True):
    host: Annotated[str, msgspec.Meta(min_length=1)]  # an empty one would be all addresses of the machine
    port: Port
    processes: Annotated[int, msgspec.Meta(ge=0, le=MOST_PROCESSES)]
    public_url: str
    body_limit: Count
    callback_limit: Count
    callback_memory: Count
    header_limit: Count
    headers: Count
    header_timeout: Positive
    body_rate: Positive
    body_window: Positive
    body_timeout: Positive
    send_timeout: Positive
    keep_alive: Count
    connections: Count
    connections_per_address: Count
    unlimited_addresses: tuple[str, ...]
    trusted_proxies: tuple[str, ...]
    drain_seconds: NotNegative
    user: str


class DatabaseSettings(_Section, frozen=True):
    url: str
    connections: Annotated[int, msgspec.Meta(ge=4, le=10_000)]


class SecuritySettings(_Section, frozen=True):
    secret_key: str
    key_cache_seconds: Annotated[float, msgspec.Meta(ge=0, le=1)]


class TrialSettings(_Section, frozen=True):
    days: DaysOrNone


class ApiSettings(_Section, frozen=True):
    rate: Positive
    burst: Count
    queue: Count
    streams: Count
    costly_per_key: Count
    costly: Count
    wrong_keys: Limit
    heartbeat: Annotated[float, msgspec.Meta(gt=0, le=60)]
    cors_origins: tuple[Origin, ...]


class SendingSettings(_Section, frozen=True):
    in_flight: Count
    read_ahead: Count
    unknown_grace: NotNegative
    retry_base: Positive
    retry_most: Positive
    attempts: Count
    linger: NotNegative


class PaceSettings(_Section, frozen=True):
    throughput: Positive
    pair_seconds: NotNegative
    pair_burst: Count
    tier: Limit
    ladder: tuple[Limit, ...]
    rise_hours: NotNegative
    qr_throughput: Positive
    qr_pair_seconds: NotNegative
    qr_pair_burst: Count
    qr_first_day: Count
    qr_growth: Annotated[float, msgspec.Meta(ge=1, le=100)]
    qr_new_per_day: Limit


class LeaseSettings(_Section, frozen=True):
    ttl: Positive
    renew: Positive
    sweep: Positive
    idle: NotNegative


class CloudSettings(_Section, frozen=True):
    base_url: str
    version: Annotated[str, msgspec.Meta(pattern=r"^v[0-9]+\.[0-9]+$")]
    timeout: Positive
    connect_timeout: Positive
    linger: NotNegative
    number_every: Positive
    media_hosts: tuple[HostName, ...]


class QrSettings(_Section, frozen=True):
    link_url: str
    engine: Literal["neonize", "baileys"]
    device_store: str
    groups: bool


class ClockSettings(_Section, frozen=True):
    follow: str


class WebhookSettings(_Section, frozen=True):
    timeout: Positive
    connect_timeout: Positive
    in_flight: Count
    total_in_flight: Count
    linger: NotNegative
    allow: tuple[str, ...]


class MetricsSettings(_Section, frozen=True):
    token: str


class TracingSettings(_Section, frozen=True):
    endpoint: str
    headers: str
    sample: Annotated[float, msgspec.Meta(gt=0, le=1)]

    @property
    def header_fields(self) -> dict[str, str]:
        """The headers by name; raise ValueError unless they are name=value pairs."""
        pairs = [pair.split("=", 1) for pair in self.headers.split(",") if pair.strip()]
        return {name.strip().lower(): unquote(value.strip()) for name, value in pairs}


class WatchdogSettings(_Section, frozen=True):
    stall: Positive
    interval: Positive


class MediaSettings(_Section, frozen=True):
    url: str
    most_bytes: Count
    days: DaysOrNone
    timeout: Positive
    link_seconds: Positive
    attempts: Count
    in_flight: Count


class RetentionSettings(_Section, frozen=True):
    partition_days: Annotated[int, msgspec.Meta(ge=1, le=3_650)]
    messages_days: Days
    events_days: Days
    mcp_calls_days: Days


class McpSettings(_Section, frozen=True):
    draft_hours: Annotated[float, msgspec.Meta(gt=0, le=720)]


class LogSettings(_Section, frozen=True):
    level: Literal["debug", "info", "warning", "error"]
    format: Literal["auto", "console", "json"]


class Settings(_Section, frozen=True):
    data: Annotated[str, msgspec.Meta(min_length=1)]
    server: ServerSettings
    database: DatabaseSettings
    cells: dict[CellName, str]
    security: SecuritySettings
    trial: TrialSettings
    plans: dict[str, Plan]
    api: ApiSettings
    sending: SendingSettings
    pace: PaceSettings
    lease: LeaseSettings
    cloud: CloudSettings
    qr: QrSettings
    clock: ClockSettings
    webhooks: WebhookSettings
    metrics: MetricsSettings
    tracing: TracingSettings
    watchdog: WatchdogSettings
    media: MediaSettings
    retention: RetentionSettings
    mcp: McpSettings
    log: LogSettings

    @property
    def data_folder(self) -> Path:
        return Path(self.data).resolve()

    @property
    def public_url(self) -> str:
        host = f"[{self.server.host}]" if ":" in self.server.host else self.server.host
        return self.server.public_url.rstrip("/") or f"http://{host}:{self.server.port}"


class BadSettings(Exception):
    """A setting is unknown or has a wrong value."""


def load(
    config: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """Return the settings in force. Overrides have dotted names, e.g. {"server.port": 9000}; None changes nothing."""
    values = tomllib.loads(resources.files("gatepost").joinpath("default.toml").read_text())
    values["tracing"] |= {name: environ[known] for name, known in _OPENTELEMETRY.items() if known in environ}
    if config is not None:
        _merge(values, _read(config))
    for name, text in environ.items():
        path = name.removeprefix(PREFIX).lower().split("__")
        if not name.startswith(PREFIX):
            continue
        if len(path) > 1 or path[0] in values:
            _put(values, path, _parse(text, values, path))
        elif not text.startswith("tcp://"):  # Kubernetes sets GATEPOST_SERVER_PORT for a service gatepost-server
            _check_underscores(path[0], values)
    for dotted, value in (overrides or {}).items():
        if value is not None:
            _put(values, dotted.split("."), value)
    try:
        settings = msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        raise BadSettings(f"Bad setting: {error}") from None
    if settings.lease.renew * 2 > settings.lease.ttl:
        raise BadSettings("Bad setting: lease.renew must be at most half of lease.ttl, or leases would run out")
    if settings.clock.follow and not _all_sandbox(settings):
        raise BadSettings(
            "Bad setting: clock.follow is for tests: cloud.base_url must be the same address, and qr.link_url one "
            "of the same host, so that no message reaches a real network by a clock that can be moved"
        )
    if MAIN in settings.cells:
        raise BadSettings("Bad setting: cells.main is the database of database.url; give other cells other names")
    _check_addresses(settings)
    _check_allowed(settings.webhooks.allow)
    _check_databases(settings)
    _check_server(settings.server)
    _check_tracing(settings.tracing)
    return settings


def _all_sandbox(settings: Settings) -> bool:
    """Return whether both networks are the sandbox whose clock is followed."""
    followed = settings.clock.follow.rstrip("/")
    link = f"ws{followed.removeprefix('http')}/"
    same = settings.cloud.base_url.rstrip("/") == followed
    return followed.startswith(("http://", "https://")) and same and settings.qr.link_url.startswith(link)


def _check_addresses(settings: Settings) -> None:
    """Reject addresses that could never be reached, such as a host name without a scheme."""
    for name, url, schemes in (
        ("server.public_url", settings.server.public_url or "http://none", _HTTP),
        ("cloud.base_url", settings.cloud.base_url, _HTTP),
        ("qr.link_url", settings.qr.link_url or "ws://none", _WEBSOCKET),
        ("tracing.endpoint", settings.tracing.endpoint or "http://none", _HTTP),
    ):
        if not url.startswith(schemes):
            raise BadSettings(f"Bad setting: {name} must begin with {' or '.join(schemes)}")
        if not _HOST.match(url.partition("://")[2]):
            raise BadSettings(f"Bad setting: {name} must have a host name after {' or '.join(schemes)}")


def _check_allowed(allow: tuple[str, ...]) -> None:
    """Reject entries that would allow nothing, such as a URL."""
    for entry in allow:
        try:
            ip_network(entry)
        except ValueError as error:
            if "/" not in entry and _ALLOWED.fullmatch(entry):
                continue
            why = f" ({error})" if "host bits" in str(error) else ""
            expected = "a range of addresses such as 10.0.0.0/8, a host name or host:port"
            raise BadSettings(f"Bad setting: webhooks.allow: '{entry}' is not {expected}{why}") from None


def _check_databases(settings: Settings) -> None:
    """Reject addresses of databases that cannot be parsed. They are not shown: they may contain a password."""
    urls = {"database.url": settings.database.url, "qr.device_store": settings.qr.device_store}
    urls = {name: url for name, url in urls.items() if url}
    for name, url in (urls | {f"cells.{cell}": url for cell, url in settings.cells.items()}).items():
        if fault := database_url_fault(url):
            raise BadSettings(f"Bad setting: {name} {fault}")


def _check_server(server: ServerSettings) -> None:
    if server.callback_memory < 4 * server.callback_limit:
        raise BadSettings("Bad setting: server.callback_memory must be at least four times server.callback_limit")
    for name in ("unlimited_addresses", "trusted_proxies"):
        for text in getattr(server, name):
            try:
                ip_network(text)
            except ValueError as error:
                raise BadSettings(f"Bad setting: server.{name}: {error}") from None


def _check_tracing(tracing: TracingSettings) -> None:
    try:
        _ = tracing.header_fields
    except ValueError:  # the value is not shown: it may be a secret
        raise BadSettings("Bad setting: tracing.headers must be name=value pairs, separated by commas") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:  # unreadable, not text, or not TOML
        raise BadSettings(f"Cannot read {path}: {error}") from None


def _merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    for name, value in other.items():
        if isinstance(value, dict) and isinstance(into.get(name), dict):
            _merge(into[name], value)
        else:
            into[name] = value


def _put(values: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            raise BadSettings(f"Bad setting: '{name}' is a value and has no '{path[-1]}'")
    values[path[-1]] = value


def _check_underscores(name: str, values: Mapping[str, Any]) -> None:
    """Reject names such as GATEPOST_DATABASE_URL, which would be ignored as variables of commands are."""
    for section, known in values.items():
        if name.startswith(f"{section}_") and isinstance(known, dict) and name.removeprefix(f"{section}_") in known:
            right = f"{PREFIX}{section}__{name.removeprefix(f'{section}_')}".upper()
            raise BadSettings(f"Bad setting: {PREFIX}{name.upper()} must be {right}, with two underscores")


def _parse(text: str, values: Any, path: list[str]) -> Any:
    """Parse the value of an environment variable: TOML if it is valid TOML, plain text otherwise.

    Where a text is expected, such as a password of digits, it need not be in quotes. A `#` begins no comment: it is
    more likely a part of a password.
    """
    try:
        value = tomllib.loads(f"value = {text}")["value"]
        if tomllib.loads(f"value = [{text}]")["value"] != [value]:  # fails if a comment hides the bracket
            return text
    except tomllib.TOMLDecodeError:
        return text
    for name in path:
        values = values.get(name) if isinstance(values, dict) else None
    return text if isinstance(values, str) and not isinstance(value, str) else value
