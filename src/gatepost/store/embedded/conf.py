"""The configuration of the server: settings for our load, and who may connect."""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from gatepost.store.embedded.account import OsUser, account_of

SUPERUSER = "gatepost"  # for administration only: roles, ownership, settings
GATEWAY_ROLE = "gatepost_gateway"  # owns the database and its tables, and nothing else
DEVICE_ROLE = "gatepost_qr"  # for the process that links phones: owns the schema qr_devices, and nothing else
ROLES = (SUPERUSER, GATEWAY_ROLE, DEVICE_ROLE)
LOG_PATTERN = "postgres-*.log"
KEPT_LOGS = 5

HEADER = """\
# Written by Gatepost at every start. Your own settings go into custom.conf beside this file; they win.
"""

SETTINGS = """
# one way in: the socket
listen_addresses = ''
port = 5432
unix_socket_permissions = 0700
max_connections = 300

# an accepted message is on disk
fsync = on
synchronous_commit = on
full_page_writes = on

# many small statements
shared_buffers = 128MB
jit = off
max_parallel_workers_per_gather = 0
random_page_cost = 1.1

# few, spread checkpoints; this build of PostgreSQL has no lz4, so "on" is pglz
max_wal_size = 2GB
checkpoint_timeout = 15min
wal_compression = on

# hot tables and fresh partitions: look often. But plans hardly depend on statistics, and ANALYZE makes them again
autovacuum_naptime = 10s
autovacuum_vacuum_scale_factor = 0.05
autovacuum_analyze_scale_factor = 0.2
default_statistics_target = 25

# the same everywhere
timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'

# a short log without people's messages in it: no statements, no row values
logging_collector = on
log_directory = 'log'
log_filename = 'postgres-%Y%m%d-%H%M%S.log'
log_file_mode = 0600
log_rotation_size = 10MB
log_rotation_age = 1d
log_line_prefix = '%m [%p] '
log_min_messages = warning
log_min_error_statement = panic
log_error_verbosity = terse
log_checkpoints = off

"""

HBA = """\
# Written by Gatepost at every start. The operating system tells who calls; gatepost's users are in pg_ident.conf.
local all all peer map=gatepost
"""


def settings_text(sockets: Path) -> str:
    """Return the content of postgresql.conf."""
    listed = quoted('"' + str(sockets).replace('"', '""') + '"')
    return f"{HEADER}{SETTINGS}unix_socket_directories = {listed}\ninclude_if_exists = 'custom.conf'\n"


def quoted(value: str) -> str:
    """Quote a value for PostgreSQL's configuration files."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def ident_text(names: Iterable[str]) -> str:
    """Return the content of pg_ident.conf that lets these system users connect."""
    lines = (f'gatepost "{name}" {role}\n' for name in sorted(set(names)) for role in ROLES)
    return "# Written by Gatepost at every start: system users and the database roles they may use.\n" + "".join(lines)


def write_configuration(cluster: Path, sockets: Path, account: OsUser) -> None:
    """Rewrite the three configuration files of a cluster."""
    for name, text in (("postgresql.conf", settings_text(sockets)), ("pg_hba.conf", HBA)):
        replace_file(cluster / name, text, account)
    write_identities(cluster, account)


def write_identities(cluster: Path, account: OsUser) -> None:
    """Write which user may use which role. A running server reads it at its next reload."""
    # Root can read every file anyway; its entry lets commands run with sudo connect.
    replace_file(cluster / "pg_ident.conf", ident_text((account.name, account_of(0).name)), account)


def replace_file(path: Path, text: str, account: OsUser) -> None:
    """Replace a file without following links, as the folder belongs to a less trusted user."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        if account.uid != os.geteuid():
            os.fchown(descriptor, account.uid, account.gid)
        file.write(text)
    draft.replace(path)


def child_environment() -> dict[str, str]:
    """Return a minimal environment, without the caller's PG variables and secrets."""
    kept = {name: os.environ[name] for name in ("TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}
    return {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "TZ": "UTC", **kept}


def log_files(cluster: Path) -> list[Path]:
    """Return the server's logs, oldest first."""
    return sorted((cluster / "log").glob(LOG_PATTERN))


def trim_logs(cluster: Path) -> None:
    """Delete all but the newest logs; the server itself does not delete any."""
    for path in log_files(cluster)[:-KEPT_LOGS]:
        path.unlink(missing_ok=True)


def last_lines(cluster: Path) -> str:
    """Return the end of the newest log."""
    newest = log_files(cluster)[-1:]
    text = newest[0].read_text("utf-8", "replace") if newest else ""
    return "\n".join(text.splitlines()[-20:])
