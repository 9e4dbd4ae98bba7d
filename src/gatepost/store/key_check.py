"""What shows whether a secret key is the database's: a check value, or without one, stored secrets to try it on."""

from typing import Literal
from uuid import UUID

import msgspec

from gatepost.store.pool import Database


class KeptSecret(msgspec.Struct, frozen=True):
    """A stored secret, and what it belongs to."""

    kind: Literal["channel", "endpoint"]
    id: UUID
    sealed: bytes


class KeyProof(msgspec.Struct, frozen=True):
    """What a key has to open."""

    check: bytes | None
    secrets: tuple[KeptSecret, ...] = ()

    @property
    def exists(self) -> bool:
        """Whether the database was ever used with a key."""
        return self.check is not None or bool(self.secrets)


async def read_proof(db: Database) -> KeyProof:
    """The check value; where there is none yet, the newest secret of a channel and of an endpoint."""
    async with db.connection() as conn:
        check = await conn.fetchval("SELECT sealed FROM key_check WHERE id = 1")
        if check is not None:
            return KeyProof(check)
    return KeyProof(None, await list_secrets(db, 1))


async def list_secrets(db: Database, most: int | None = None) -> tuple[KeptSecret, ...]:
    """The newest secrets of channels and of endpoints, so many of each, or all."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            """(SELECT 'channel' AS kind, id, secrets AS sealed FROM channels WHERE secrets IS NOT NULL
                ORDER BY id DESC LIMIT $1)
               UNION ALL
               (SELECT 'endpoint', id, secret FROM endpoints ORDER BY id DESC LIMIT $1)""",
            most,
        )
    return tuple(KeptSecret(row["kind"], row["id"], row["sealed"]) for row in rows)


async def put_check(db: Database, sealed: bytes, *, replace: bool = False) -> None:
    """Writes the check value where there is none, or in place of the one that is there."""
    change = "UPDATE SET sealed = excluded.sealed, created_at = now()" if replace else "NOTHING"
    async with db.connection() as conn:
        await conn.execute(f"INSERT INTO key_check (id, sealed) VALUES (1, $1) ON CONFLICT (id) DO {change}", sealed)
