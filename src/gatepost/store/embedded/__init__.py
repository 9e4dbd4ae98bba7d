"""The embedded PostgreSQL server, and its management.

DATA/gateway.lock     one gateway per folder (lock)
DATA/commands.lock    commands that use its server meanwhile; without a gateway, the last one stops it (command_use)
DATA/postgres/        the cluster: mode 0700, owned by the user that runs the server (place, account, programs)
    postgresql.conf   rewritten at each start; custom.conf is the operator's (conf)
    run/.s.PGSQL.5432 the only way to connect: no TCP (sockets)
    log/              old files are deleted (conf, server)
DATA/postgres.path    only if the cluster is elsewhere, because the server's user cannot enter DATA (place)

start:  settle (find or create the cluster) ─► postmaster running? (postmaster) ─ yes ─► reuse it ─┐
                                                    └ no ─► write conf, spawn ─► poll a connection ┴─► dsn (ready)
        then: roles (roles), supervision: a server that ends unexpectedly is restarted (supervise)
stop:   fast shutdown ─► immediate ─► kill; wait until all its processes have ended
"""

from gatepost.store.embedded.data_folder import (
    DataFolderInUse,
    EmbeddedPostgresError,
    FolderLock,
    is_locked,
    lock_data_folder,
)
from gatepost.store.embedded.place import find_cluster
from gatepost.store.embedded.ready import admin_dsn, device_dsn
from gatepost.store.embedded.server import EmbeddedPostgres, reach_running, running_dsn

__all__ = [
    "DataFolderInUse",
    "EmbeddedPostgres",
    "EmbeddedPostgresError",
    "FolderLock",
    "admin_dsn",
    "device_dsn",
    "find_cluster",
    "is_locked",
    "lock_data_folder",
    "reach_running",
    "running_dsn",
]
