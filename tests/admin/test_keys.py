"""API keys: what they may, how long they last, and how one follows another."""

from datetime import datetime, timedelta

import pytest

from gatepost.admin import accounts, keys
from gatepost.admin.keys import NewKey
from gatepost.model import ids
from gatepost.model.account import API_ACCESS, check_key, key_hash
from gatepost.model.errors import Conflict, Invalid, NotAuthenticated, NotFound
from gatepost.store import keys as rows
from gatepost.store.keys import list_keys
from gatepost.store.pool import Database
from tests.admin.conftest import NOW, Tenants

HOUR = timedelta(hours=1)


async def works(db: Database, key: NewKey, at: datetime) -> bool:
    try:
        check_key(await rows.find_caller(db, key_hash(key.text)), at)
        return True
    except NotAuthenticated:
        return False


async def test_a_key_identifies_its_caller(db: Database, tenants: Tenants) -> None:
    made = await keys.create_key(db, tenants.my_channel, "Store", now=NOW)
    caller = await rows.find_caller(db, key_hash(made.text))
    assert caller is not None
    assert (caller.principal.id, caller.channel_id, caller.account_id) == (
        made.key.id,
        tenants.my_channel,
        tenants.mine,
    )
    assert (caller.kind, caller.phone, caller.plan) == ("qr", "15550000001", "starter")
    assert caller.principal.scopes == {"send", "read", "manage"}
    assert (caller.suspended, caller.api_access) == (False, False)
    assert caller.trial_ends_at == NOW + timedelta(days=14)
    assert await rows.find_caller(db, key_hash(made.text + "x")) is None


async def test_the_caller_follows_the_account(db: Database, tenants: Tenants) -> None:
    made = await keys.create_key(db, tenants.my_channel, "Store", now=NOW)
    await accounts.add_addon(db, tenants.mine, API_ACCESS, NOW)
    await accounts.set_suspended(db, tenants.mine, True)
    caller = await rows.find_caller(db, key_hash(made.text))
    assert caller is not None
    assert (caller.suspended, caller.api_access) == (True, True)


async def test_only_the_hash_is_kept(db: Database, tenants: Tenants) -> None:
    made = await keys.create_key(db, tenants.my_channel, "Store", now=NOW)
    async with db.connection() as conn:
        row = await conn.fetchval("SELECT k::text FROM api_keys k WHERE id = $1", made.key.id)
    assert made.text not in row
    assert made.text.startswith(made.key.hint)
    assert len(made.key.hint) == 10


@pytest.mark.parametrize("name", ["", "x" * 101, " "])
async def test_invalid_names(db: Database, tenants: Tenants, name: str) -> None:
    with pytest.raises(Invalid, match="name"):
        await keys.create_key(db, tenants.my_channel, name, now=NOW)
    await keys.create_key(db, tenants.my_channel, "x" * 100, now=NOW)


def test_scopes_are_known_and_in_order() -> None:
    assert keys.check_scopes(("mcp", "send", "send")) == ("send", "mcp")
    for wrong in ((), ("send", "admin")):
        with pytest.raises(Invalid, match="send, read, manage, mcp"):
            keys.check_scopes(wrong)


async def test_an_expiry_is_in_the_future(db: Database, tenants: Tenants) -> None:
    for wrong in (NOW, NOW - HOUR, datetime(2030, 1, 1)):
        with pytest.raises(Invalid, match="expires_at"):
            await keys.create_key(db, tenants.my_channel, "Store", expires_at=wrong, now=NOW)
    made = await keys.create_key(db, tenants.my_channel, "Store", expires_at=NOW + HOUR, now=NOW)
    assert await works(db, made, NOW + HOUR - timedelta(seconds=1))
    assert not await works(db, made, NOW + HOUR)


async def test_rotation_keeps_the_old_key_for_a_day(db: Database, tenants: Tenants) -> None:
    old = await keys.create_key(db, tenants.my_channel, "Store", scopes=("read", "mcp"), now=NOW)
    new = await keys.rotate_key(db, tenants.my_channel, old.key.id, now=NOW)
    assert (new.key.name, new.key.scopes, new.key.expires_at) == ("Store", ("read", "mcp"), None)
    assert new.text != old.text
    assert await works(db, old, NOW + timedelta(hours=23, minutes=59))
    assert not await works(db, old, NOW + timedelta(hours=24))
    assert await works(db, new, NOW + timedelta(days=365))


async def test_rotation_never_makes_an_old_key_live_longer(db: Database, tenants: Tenants) -> None:
    old = await keys.create_key(db, tenants.my_channel, "Store", expires_at=NOW + HOUR, now=NOW)
    await keys.rotate_key(db, tenants.my_channel, old.key.id, overlap=timedelta(days=2), now=NOW)
    assert (await keys.get_key(db, tenants.my_channel, old.key.id)).expires_at == NOW + HOUR


async def test_rotation_may_end_the_old_key_at_once(db: Database, tenants: Tenants) -> None:
    old = await keys.create_key(db, tenants.my_channel, "Store", now=NOW)
    await keys.rotate_key(db, tenants.my_channel, old.key.id, overlap=timedelta(0), now=NOW)
    assert not await works(db, old, NOW)
    with pytest.raises(Conflict):
        await keys.rotate_key(db, tenants.my_channel, old.key.id, now=NOW)


async def test_the_overlap_has_bounds(db: Database, tenants: Tenants) -> None:
    old = await keys.create_key(db, tenants.my_channel, "Store", now=NOW)
    for wrong in (-HOUR, timedelta(days=30, seconds=1)):
        with pytest.raises(Invalid, match="overlap"):
            await keys.rotate_key(db, tenants.my_channel, old.key.id, overlap=wrong, now=NOW)
    assert len(await list_keys(db, tenants.my_channel)) == 1
    await keys.rotate_key(db, tenants.my_channel, old.key.id, overlap=timedelta(days=30), now=NOW)


async def test_a_revoked_key_cannot_be_used(db: Database, tenants: Tenants) -> None:
    made = await keys.create_key(db, tenants.my_channel, "Store", now=NOW)
    await keys.revoke_key(db, tenants.my_channel, made.key.id, NOW)
    again = await keys.revoke_key(db, tenants.my_channel, made.key.id, NOW + HOUR)
    assert again.revoked_at == NOW
    assert not await works(db, made, NOW)
    with pytest.raises(Conflict, match="revoked"):
        await keys.rotate_key(db, tenants.my_channel, made.key.id, now=NOW)
    assert len(await list_keys(db, tenants.my_channel)) == 1


async def test_keys_of_another_channel_are_not_found(db: Database, tenants: Tenants) -> None:
    theirs = await keys.create_key(db, tenants.their_channel, "Store", now=NOW)
    calls = [
        keys.get_key(db, tenants.my_channel, theirs.key.id),
        keys.rotate_key(db, tenants.my_channel, theirs.key.id, now=NOW),
        keys.revoke_key(db, tenants.my_channel, theirs.key.id, NOW),
        keys.create_key(db, ids.new_id(NOW), "Store", now=NOW),
    ]
    for call in calls:
        with pytest.raises(NotFound):
            await call
    assert await list_keys(db, tenants.my_channel) == []
    assert await list_keys(db, tenants.their_channel) == [theirs.key]
    assert await works(db, theirs, NOW)


async def test_last_use_moves_only_forward(db: Database, tenants: Tenants) -> None:
    one = await keys.create_key(db, tenants.my_channel, "One", now=NOW)
    two = await keys.create_key(db, tenants.my_channel, "Two", now=NOW)
    await rows.record_key_uses(db, {})
    await rows.record_key_uses(db, {two.key.id: NOW + HOUR, one.key.id: NOW, ids.new_id(NOW): NOW})
    await rows.record_key_uses(db, {two.key.id: NOW, one.key.id: NOW + HOUR})
    used = {key.name: key.last_used_at for key in await list_keys(db, tenants.my_channel)}
    assert used == {"One": NOW + HOUR, "Two": NOW + HOUR}
    found = await rows.find_key(db, one.key.id)
    assert found is not None
    assert found.last_used_at == NOW + HOUR
