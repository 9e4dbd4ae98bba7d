"""The databases of a gateway, its cells. An account is in one of them with everything that it has.

What is wrong with the address of one is said without showing it: it may contain a password.
"""

from urllib.parse import parse_qs, urlsplit

MAIN = "main"  # the first cell: the database of `database.url`, or the embedded one
SCHEMES = ("postgresql://", "postgres://")
_ESCAPE = "If the user or the password has characters such as / @ : ? #, write them as %2F %40 %3A %3F %23."


def database_url_fault(url: str) -> str | None:
    """Return what is wrong with the URL of a database, as the end of a sentence; None if nothing is."""
    if not url.startswith(SCHEMES):
        return "must be a URL such as postgresql://user:password@host:5432/gatepost"
    try:
        parts = urlsplit(url)
    except ValueError:
        return f"is not a valid URL. {_ESCAPE}"
    hosts = parts.netloc.rpartition("@")[2]
    if not all(_has_valid_port(host) for host in hosts.split(",")):
        return f"has no valid port. {_ESCAPE}"
    if parse_qs(parts.query).get("sslrootcert") == ["system"]:  # of newer clients than the driver
        return "has sslrootcert=system. Name a file of certificates, such as /etc/ssl/certs/ca-certificates.crt"
    return None


def _has_valid_port(host: str) -> bool:
    _, colon, port = host.rpartition("]")[2].partition(":")
    return not colon or (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) <= 65_535)
