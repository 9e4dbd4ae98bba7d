"""The sender of a benchmark: one account, one channel, one key, and the recipients."""

from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import msgspec

from bench.gateway import Gateway
from bench.load import FIRST, RECIPIENTS
from gatepost.admin import accounts, channels, endpoints, keys
from gatepost.admin.vault import Vault, load_or_make_key
from gatepost.model import ids
from gatepost.model.event import ACKNOWLEDGE, MESSAGE
from gatepost.model.session import LIFETIME, new_token, token_hash
from gatepost.settings import load
from gatepost.store.channels import ChannelConfig
from gatepost.store.contacts.rows import MissingContacts, add_missing
from gatepost.store.pool import Database

# The number at the network.
NUMBER = {
    "phone_number_id": "100000000000001",
    "phone": "15550001111",
    "token": "bench-token",
    "app_secret": "bench-app-secret",
    "verify_token": "bench-verify",
}
_OPEN_LIMITS = {"throughput": 100_000, "pair_seconds": 0, "pair_burst": 1_000_000, "tier": 0, "window": 0}


class Tenant(msgspec.Struct, frozen=True):
    """The sender of the messages."""

    account_id: UUID
    channel_id: UUID
    key: str

    @property
    def channel(self) -> str:
        return ids.format_id("ch", self.channel_id)


async def make_tenant(gateway: Gateway, config: Path, webhook_url: str | None = None) -> Tenant:
    """Create an account without a quota, a channel without limits, a key, and an endpoint if there is a URL."""
    settings, now = load(config, environ={}), datetime.now(UTC)
    vault = Vault(load_or_make_key("", gateway.data))
    db = await Database.connect(gateway.dsn, connections=2)
    try:
        account = await accounts.create_account(db, "Bench", "unlimited", plans=settings.plans, trial_days=14, now=now)
        channel = await make_channel(db, vault, account.id, NUMBER["phone"], NUMBER["phone_number_id"], now)
        if webhook_url:
            wanted = (MESSAGE, ACKNOWLEDGE)  # the four events of a message, without those of new contacts
            await endpoints.create_endpoint(db, vault, channel.id, webhook_url, events=wanted, now=now)
        key = await keys.create_key(db, channel.id, "Bench", now=now)
        return Tenant(account.id, channel.id, key.text)
    finally:
        await db.close()


async def add_channels(gateway: Gateway, account_id: UUID, count: int) -> list[str]:
    """Add channels without limits to an account; return a key of each."""
    now, vault = datetime.now(UTC), Vault(load_or_make_key("", gateway.data))
    db = await Database.connect(gateway.dsn, connections=2)
    made = []
    try:
        for _ in range(count):
            number = uuid4().int
            phone, number_id = f"1555{number % 10**7:07}", f"{10**14 + number % 10**14}"
            channel = await make_channel(db, vault, account_id, phone, number_id, now)
            made.append((await keys.create_key(db, channel.id, "Bench", now=now)).text)
    finally:
        await db.close()
    return made


async def make_channel(
    db: Database, vault: Vault, account_id: UUID, phone: str, number_id: str, now: datetime
) -> ChannelConfig:
    """Create an official channel without limits."""
    channel = await channels.create_official(
        db,
        vault,
        account_id,
        phone=phone,
        name="Bench",
        number=channels.CloudNumber(number_id),
        token=NUMBER["token"],
        app_secret=NUMBER["app_secret"],
        verify_token=NUMBER["verify_token"],
        limits={"throughput": 1000, "pair_seconds": 0, "tier": 0},
        now=now,
    )
    await _open_limits(db, channel.id)
    return channel


async def _open_limits(db: Database, channel_id: UUID) -> None:
    """Remove the limits of a channel, beyond what the API allows, so that the gateway itself is the limit."""
    async with db.connection() as conn:
        limits = msgspec.json.encode(_OPEN_LIMITS).decode()
        await conn.execute("UPDATE channels SET limits = $2 WHERE id = $1", channel_id, limits)


async def limit_tenant(gateway: Gateway, tenant: Tenant, throughput: int) -> None:
    """Set the throughput of the number. A running gateway applies it within seconds."""
    db = await Database.connect(gateway.dsn, connections=1)
    try:
        async with db.connection() as conn:
            limits = msgspec.json.encode(_OPEN_LIMITS | {"throughput": throughput}).decode()
            await conn.execute("UPDATE channels SET limits = $2 WHERE id = $1", tenant.channel_id, limits)
    finally:
        await db.close()


async def add_sessions(gateway: Gateway, account_id: UUID, count: int) -> list[str]:
    """Add people to an account who are signed in; return the tokens of their sessions."""
    tokens, now = [new_token() for _ in range(count)], datetime.now(UTC)
    db = await Database.connect(gateway.dsn, connections=1)
    try:
        await db.execute(
            """WITH people AS (
                   INSERT INTO users (id, account_id, email, password_hash, role, created_at)
                   SELECT gen_random_uuid(), $1, md5(random()::text) || '@example.com', '', 'agent', $3
                   FROM generate_series(1, cardinality($2::bytea[])) RETURNING id
               ), numbered AS (
                   SELECT id, row_number() OVER () AS number FROM people
               )
               INSERT INTO sessions (id, user_id, hash, created_at, last_used_at, expires_at, address, user_agent)
               SELECT gen_random_uuid(), id, ($2::bytea[])[number], $3, $3, $4, '', '' FROM numbered""",
            account_id,
            [token_hash(token) for token in tokens],
            now,
            now + LIFETIME,
        )
    finally:
        await db.close()
    return tokens


async def list_conversations(gateway: Gateway, tenant: Tenant, count: int) -> list[str]:
    """Return the ids of some conversations of the channel."""
    db = await Database.connect(gateway.dsn, connections=1)
    try:
        rows = await db.fetch(
            "SELECT contact_id FROM conversations WHERE channel_id = $1 LIMIT $2", tenant.channel_id, count
        )
    finally:
        await db.close()
    return [ids.format_id("cv", row["contact_id"]) for row in rows]


async def meet_recipients(gateway: Gateway, tenant: Tenant) -> None:
    """Create the contacts in advance, so that results do not depend on the number of new ones."""
    db = await Database.connect(gateway.dsn, connections=1)
    try:
        async with db.transaction() as conn:
            phones = [str(FIRST + i) for i in range(RECIPIENTS)]
            await add_missing(conn, {tenant.channel_id: MissingContacts({}, phones)}, datetime.now(UTC))
    finally:
        await db.close()
