"""The PostgreSQL that Gatepost brings along, driven by ourselves.

DATA/gateway.lock     one gateway per folder (lock)
DATA/postgres/        the cluster: mode 0700, owned by whoever runs the server (place, account, programs)
    postgresql.conf   written anew at each start; custom.conf is the operator's (conf)
    run/.s.PGSQL.5432 the only door: no TCP (sockets)
    log/              kept short (conf, server)
DATA/postgres.path    only when root keeps the cluster elsewhere, because DATA is closed to others (place)

start:  settle (find or make the cluster) ─► a postmaster lives? (postmaster) ─ yes ─► reuse it ─┐
                                                  └ no ─► write conf, spawn ─► poll a connection ┴─► dsn (ready)
        then: roles (roles), supervision: a server that ends by itself is started again (supervise)
stop:   fast shutdown ─► immediate ─► kill; wait until every process of it is gone
"""

from gatepost.store.embedded.errors import DataFolderInUse, EmbeddedPostgresError
from gatepost.store.embedded.lock import FolderLock, is_locked, lock_data_folder
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
