"""The store of linked devices: a table in the gateway's own PostgreSQL database, in the schema `qr_devices`.

Each value is encrypted: with a copy of the database alone one can neither send nor read messages.
"""

import asyncio
import os
from contextlib import suppress

import asyncpg
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gatepost.networks.qr.phone.engine import EngineError

_NONCE_BYTES, _KEY_BYTES = 12, 32
_CREDENTIALS = "credentials"
_ONE_AT_A_TIME = 0x67617465  # an advisory lock: two nodes that start at the same time must not both create the table
_MAKE_SCHEMA = "CREATE SCHEMA qr_devices"
_MAKE = """
CREATE TABLE IF NOT EXISTS qr_devices.baileys_keys (
    device text NOT NULL,
    kind text NOT NULL,
    id text NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (device, kind, id)
)"""
_PUT = """
INSERT INTO qr_devices.baileys_keys (device, kind, id, value)
SELECT $1, row.kind, row.id, row.value FROM unnest($2::text[], $3::text[], $4::bytea[]) AS row (kind, id, value)
ORDER BY row.kind, row.id
ON CONFLICT (device, kind, id) DO UPDATE SET value = excluded.value"""
_DROP = """
DELETE FROM qr_devices.baileys_keys AS kept
USING unnest($2::text[], $3::text[]) AS gone (kind, id)
WHERE kept.device = $1 AND kept.kind = gone.kind AND kept.id = gone.id"""
_GET = "SELECT id, value FROM qr_devices.baileys_keys WHERE device = $1 AND kind = $2 AND id = ANY ($3::text[])"
_FORGET_SENT = "DELETE FROM qr_devices.baileys_keys WHERE device = $1 AND kind = 'sent' AND id < $2"
_FORGET = "DELETE FROM qr_devices.baileys_keys WHERE device = $1"

Row = tuple[str, str, str | None]  # kind, id, value; None deletes it


class DeviceStore:
    """The table of linked devices. Connects on first use."""

    def __init__(self, url: str, keys: bytes) -> None:
        self._url = url
        # While the gateway's key is being changed there are several: the first encrypts, and each of them decrypts.
        self._ciphers = [AESGCM(keys[i : i + _KEY_BYTES]) for i in range(0, len(keys), _KEY_BYTES)]
        self._pool: asyncpg.Pool | None = None
        self._opening = asyncio.Lock()

    async def credentials(self, device: str) -> str | None:
        """Return the credentials of a device."""
        return (await self.get(device, _CREDENTIALS, [""])).get("")

    async def keep(self, device: str, credentials: str) -> None:
        """Store the credentials of a device."""
        await self.put(device, [(_CREDENTIALS, "", credentials)])

    async def get(self, device: str, kind: str, ids: list[str]) -> dict[str, str]:
        """Return the existing values of one kind, by id."""
        rows = await (await self._opened()).fetch(_GET, device, kind, ids)
        return {row["id"]: self._open(row["value"], device, kind, row["id"]) for row in rows}

    async def put(self, device: str, rows: list[Row]) -> None:
        """Write and delete values in one transaction."""
        kept = [(kind, id_, self._seal(value, device, kind, id_)) for kind, id_, value in rows if value is not None]
        gone = [(kind, id_) for kind, id_, value in rows if value is None]
        async with (await self._opened()).acquire() as conn, conn.transaction():
            if kept:
                await conn.execute(_PUT, device, *map(list, zip(*kept, strict=True)))
            if gone:
                await conn.execute(_DROP, device, *map(list, zip(*gone, strict=True)))

    async def forget_sent(self, device: str, before: str) -> None:
        """Delete the sent messages with ids below this one; ids are ordered by time."""
        await (await self._opened()).execute(_FORGET_SENT, device, before)

    async def forget(self, device: str) -> None:
        """Delete a device that is no longer linked."""
        await (await self._opened()).execute(_FORGET, device)

    async def close(self) -> None:
        if self._pool:
            await self._pool.close()

    async def _opened(self) -> asyncpg.Pool:
        async with self._opening:
            return self._pool or await self._connect()

    async def _connect(self) -> asyncpg.Pool:
        pool = await asyncpg.create_pool(
            self._url, min_size=0, max_size=4, max_inactive_connection_lifetime=60, command_timeout=30
        )
        async with pool.acquire() as conn, conn.transaction():
            await conn.execute("SELECT pg_advisory_xact_lock($1)", _ONE_AT_A_TIME)
            # Not IF NOT EXISTS: it needs the right to create schemas even if the schema exists.
            if await conn.fetchval("SELECT to_regnamespace('qr_devices')") is None:
                await conn.execute(_MAKE_SCHEMA)
            await conn.execute(_MAKE)
        self._pool = pool
        return pool

    def _seal(self, value: str, *place: str) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._ciphers[0].encrypt(nonce, value.encode(), "\0".join(place).encode())

    def _open(self, sealed: bytes, *place: str) -> str:
        nonce, text = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        for cipher in self._ciphers:
            with suppress(InvalidTag):
                return cipher.decrypt(nonce, text, "\0".join(place).encode()).decode()
        raise EngineError(
            "The keys of this device were encrypted with another secret key. Start with the key they were made "
            "with (security.secret_key, or secret.key in the data folder), or link the phone again."
        )
