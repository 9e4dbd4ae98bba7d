"""Where devices are kept: the gateway's own PostgreSQL, in a schema of its own. Pure.

Each link opens a small pool of connections in the library, and never closes it; so the server is asked to end those
that stand idle, at which the library opens new ones when it needs them.
"""

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

SCHEMA = "qr_devices"
IDLE_MILLISECONDS = 60_000
# Names that asyncpg and libpq know, and the library's driver passes on as settings of the server, which refuses them.
_NOT_KNOWN = frozenset({"prepared_statement_cache_size", "command_timeout", "server_settings"})


def store_address(url: str) -> str:
    """The address of the store for the library; anything but a PostgreSQL address is a file of SQLite."""
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql"):
        return url
    asked = {key: value for key, value in parse_qsl(parts.query) if key not in _NOT_KNOWN}
    asked["search_path"] = SCHEMA
    asked.setdefault("idle_session_timeout", str(IDLE_MILLISECONDS))
    # The library's driver insists on TLS where nothing is said; others take it where there is some.
    asked.setdefault("sslmode", "prefer")
    return urlunsplit(parts._replace(query=urlencode(asked)))
