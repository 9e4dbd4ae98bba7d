"""Fixtures of the admin tests: a database, a vault, a time, and two tenants."""

import uuid
from asyncio import Runner
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from uuid import UUID

import msgspec
import pytest

from gatepost.admin import accounts, channels, passwords
from gatepost.admin.vault import Vault
from gatepost.model.account import Plan
from gatepost.store.pool import Database
from gatepost.store.users import User, get_user_by_email
from tests.conftest import AS_MADE, PostgresServer, administer, run_apart
from tests.shared_loop import _function_scoped_runner
from tests.warm_connections import WarmConnections

__all__ = ["_function_scoped_runner"]

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
PLANS = {"starter": Plan("Starter", 12_000), "unlimited": Plan("Unlimited")}


@pytest.fixture(scope="package")
def common_url(postgres_server: PostgresServer) -> Iterator[str]:
    """Yield one database for all of these tests: each creates its own accounts."""
    name = f"test_{uuid.uuid4().hex}"
    run_apart(administer(postgres_server, f"CREATE DATABASE {name} TEMPLATE gatepost {AS_MADE}"))
    yield postgres_server.url(name)
    run_apart(administer(postgres_server, f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture(scope="package")
def warm_connections(common_url: str, _session_scoped_runner: Runner) -> Iterator[WarmConnections]:
    """Yield the connections to it, which the tests share too."""
    kept = WarmConnections(common_url, connections=4)
    yield kept
    _session_scoped_runner.run(kept.close())


@pytest.fixture
async def db(warm_connections: WarmConnections) -> AsyncIterator[Database]:
    """Yield the shared database."""
    async with warm_connections.database() as database:
        yield database


@pytest.fixture
async def own_db(database_url: str) -> AsyncIterator[Database]:
    """Give a fresh database, for tests that look at all of it."""
    database = await Database.connect(database_url, connections=4)
    yield database
    await database.close()


@pytest.fixture
def vault() -> Vault:
    """Give a vault with a key of its own."""
    return Vault(bytes(range(32)))


class Tenants(msgspec.Struct, frozen=True):
    """Two accounts with a channel each."""

    mine: UUID
    my_channel: UUID
    theirs: UUID
    their_channel: UUID


@pytest.fixture
async def tenants(db: Database) -> Tenants:
    """Give two accounts that must not see each other."""
    made: list[UUID] = []
    for name, phone in (("Mine", "15550000001"), ("Theirs", "15550000002")):
        account = await accounts.create_account(db, name, "starter", plans=PLANS, trial_days=14, now=NOW)
        channel = await channels.create_qr(db, account.id, phone=phone, name=name, limits={"throughput": 1}, now=NOW)
        made += [account.id, channel.id]
    return Tenants(*made)


async def check_sign_in(db: Database, email: str, password: str) -> User | None:
    """Return the user of an address if the password is correct."""
    user = await get_user_by_email(db, email)
    return user if user and await passwords.verify_password(user.password_hash, password) else None
