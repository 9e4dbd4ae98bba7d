"""The address of the device store: a schema in the gateway's own PostgreSQL database. Pure.

The library opens a small connection pool for each link and never closes it. So the server is set to end idle sessions;
the library opens new ones when it needs them.
"""

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

SCHEMA = "qr_devices"
IDLE_MILLISECONDS = 60_000
# Parameters of asyncpg and libpq. The library's driver would pass them to the server as settings, which rejects them.
_NOT_KNOWN = frozenset({"prepared_statement_cache_size", "command_timeout", "server_settings"})


def store_address(url: str) -> str:
    """Return the address of the store for the library. Any address that is not PostgreSQL is an SQLite file."""
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql"):
        return url
    asked = {key: value for key, value in parse_qsl(parts.query) if key not in _NOT_KNOWN}
    user, at, hosts = parts.netloc.rpartition("@")
    if "," in hosts:  # several servers; the library reads them only as options
        pairs = [host.partition(":") for host in hosts.split(",")]
        asked["host"] = ",".join(host for host, _, _ in pairs)
        asked["port"] = ",".join(port or "5432" for _, _, port in pairs)
        parts = parts._replace(netloc=user + at)
    asked["search_path"] = SCHEMA
    asked.setdefault("idle_session_timeout", str(IDLE_MILLISECONDS))
    # The default of the library's driver requires TLS; other clients use it only if the server offers it.
    asked.setdefault("sslmode", "prefer")
    return urlunsplit(parts._replace(query=urlencode(asked)))
