"""The demo is created once, and completed if its creation was interrupted."""

import stat
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from gatepost.admin import channels, demo, keys, users
from gatepost.admin.demo import DemoOptions, Quickstart, make_demo
from gatepost.admin.vault import Vault
from gatepost.model.account import check_access, check_key, key_hash
from gatepost.store import accounts
from gatepost.store import channels as channel_rows
from gatepost.store import keys as key_rows
from gatepost.store.accounts import list_accounts
from gatepost.store.pool import Database
from tests.admin.conftest import NOW, check_sign_in


# The demo is one of its kind, so each test has a database to itself.
@pytest.fixture(name="db")
def own(own_db: Database) -> Database:
    """Give a fresh database."""
    return own_db


OPTIONS = DemoOptions("starter", 14, {"throughput": 80, "tier": 1000}, {"throughput": 1})


async def make(db: Database, vault: Vault, folder: Path, port: int = 8080) -> Quickstart:
    return await make_demo(
        db,
        vault,
        folder=folder,
        base_url=f"http://127.0.0.1:{port}",
        sandbox_url=f"http://127.0.0.1:{port + 1}",
        options=OPTIONS,
        now=NOW,
    )


async def signs_in(db: Database, seen: Quickstart) -> bool:
    """The password is right. Looking costs a tenth of a second, so not every test does."""
    return await check_sign_in(db, seen.dashboard.email, seen.dashboard.password) is not None


async def check_works(db: Database, vault: Vault, folder: Path, seen: Quickstart) -> None:
    """All that the file says of channels and keys is true."""
    assert msgspec.json.decode((folder / demo.FILE).read_bytes(), type=Quickstart) == seen
    for channel in seen.channels:
        caller = check_key(await key_rows.find_caller(db, key_hash(channel.api_key)), NOW)
        check_access(caller, NOW)
        assert (caller.kind, caller.phone) == (channel.kind, channel.phone)
    by_phone = {one.phone: one for one in await channel_rows.list_channels(db, demo.ACCOUNT_ID)}
    assert channels.open_channel_secrets(vault, by_phone[demo.OFFICIAL_PHONE]) is not None
    assert len(await list_accounts(db)) == 1
    assert len(by_phone) == len(await channel_rows.list_channels(db))


async def test_the_file_is_as_promised(db: Database, vault: Vault, tmp_path: Path) -> None:
    seen = await make(db, vault, tmp_path / "data")
    await check_works(db, vault, tmp_path / "data", seen)
    assert await signs_in(db, seen)
    path = tmp_path / "data" / "quickstart.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    raw = msgspec.json.decode(path.read_bytes())
    assert list(raw) == ["base_url", "sandbox_url", "dashboard", "channels"]
    assert (raw["base_url"], raw["sandbox_url"]) == ("http://127.0.0.1:8080", "http://127.0.0.1:8081")
    assert set(raw["dashboard"]) == {"url", "email", "password"}
    assert [(one["kind"], one["phone"]) for one in raw["channels"]] == [
        ("official", "15550001111"),
        ("qr", "15550002222"),
    ]
    assert all(set(one) == {"id", "kind", "phone", "api_key"} for one in raw["channels"])
    account = await accounts.get_account(db, demo.ACCOUNT_ID)
    assert account is not None
    assert (account.name, account.plan, account.trial_ends_at) == ("Demo", "starter", NOW + timedelta(days=14))


async def test_two_more_channels_are_to_be_tried_and_may_be_deleted(db: Database, vault: Vault, tmp_path: Path) -> None:
    await make(db, vault, tmp_path)
    made = {one.phone: one for one in await channel_rows.list_channels(db, demo.ACCOUNT_ID)}
    assert list(made) == [demo.OFFICIAL_PHONE, demo.QR_PHONE, demo.WINDOW_PHONE, demo.UNLINKED_PHONE]
    assert {phone: one.limits.get("window") for phone, one in made.items() if one.kind == "official"} == {
        demo.OFFICIAL_PHONE: 0,
        demo.WINDOW_PHONE: 1,
    }
    assert {phone for phone, one in made.items() if one.kind == "qr"} == {demo.QR_PHONE, demo.UNLINKED_PHONE}
    async with db.connection() as conn:
        await conn.execute("DELETE FROM channels WHERE phone = $1", demo.UNLINKED_PHONE)
    await make(db, vault, tmp_path)
    left = {one.phone for one in await channel_rows.list_channels(db, demo.ACCOUNT_ID)}
    assert left == made.keys() - {demo.UNLINKED_PHONE}


async def test_a_second_start_changes_nothing_but_ports(db: Database, vault: Vault, tmp_path: Path) -> None:
    first = await make(db, vault, tmp_path)
    written = (tmp_path / demo.FILE).stat().st_mtime_ns
    assert await make(db, vault, tmp_path) == first
    assert (tmp_path / demo.FILE).stat().st_mtime_ns == written
    moved = await make(db, vault, tmp_path, 9000)
    assert (moved.base_url, moved.sandbox_url) == ("http://127.0.0.1:9000", "http://127.0.0.1:9001")
    assert moved.dashboard.url == "http://127.0.0.1:9000/"
    assert moved.channels == first.channels
    assert moved.dashboard.password == first.dashboard.password
    await check_works(db, vault, tmp_path, moved)


async def test_a_lost_or_truncated_file_is_repaired(db: Database, vault: Vault, tmp_path: Path) -> None:
    first = await make(db, vault, tmp_path)
    (tmp_path / demo.FILE).unlink()
    second = await make(db, vault, tmp_path)
    assert [one.id for one in second.channels] == [one.id for one in first.channels]
    await check_works(db, vault, tmp_path, second)
    assert await signs_in(db, second)
    (tmp_path / demo.FILE).write_text('{"base_url": "http')
    await check_works(db, vault, tmp_path, await make(db, vault, tmp_path))


async def test_lost_rows_are_restored(db: Database, vault: Vault, tmp_path: Path) -> None:
    await make(db, vault, tmp_path)
    for table in ("api_keys", "channels", "users", "accounts"):
        async with db.connection() as conn:
            await conn.execute(f"DELETE FROM {table}")
        seen = await make(db, vault, tmp_path)
        await check_works(db, vault, tmp_path, seen)
        assert table != "users" or await signs_in(db, seen)


CUTS = (
    "DELETE FROM api_keys WHERE channel_id IN (SELECT id FROM channels WHERE kind = 'qr')",
    "DELETE FROM channels WHERE kind = 'qr'",
    "DELETE FROM channels",
    "DELETE FROM users",
)


async def test_a_start_that_ends_after_any_step_is_completed_by_the_next(
    db: Database, vault: Vault, tmp_path: Path
) -> None:
    """The rows that exist after so many steps, and no file yet."""
    await make(db, vault, tmp_path)
    for steps in range(len(CUTS)):
        (tmp_path / demo.FILE).unlink()
        async with db.connection() as conn:
            for cut in CUTS[: steps + 1]:
                await conn.execute(cut)
        await check_works(db, vault, tmp_path, await make(db, vault, tmp_path))


async def test_a_revoked_key_is_replaced_and_the_other_kept(db: Database, vault: Vault, tmp_path: Path) -> None:
    first = await make(db, vault, tmp_path)
    caller = await key_rows.find_caller(db, key_hash(first.channels[0].api_key))
    assert caller is not None
    await keys.revoke_key(db, caller.channel_id, caller.principal.id, NOW)
    second = await make(db, vault, tmp_path)
    assert second.channels[0].api_key != first.channels[0].api_key
    assert second.channels[1] == first.channels[1]
    await check_works(db, vault, tmp_path, second)


async def test_a_lost_vault_key_is_replaced(db: Database, vault: Vault, tmp_path: Path) -> None:
    first = await make(db, vault, tmp_path)
    other = Vault(bytes(32))
    assert await make(db, other, tmp_path) == first
    await check_works(db, other, tmp_path, first)


async def test_a_password_that_the_owner_chose_stays(db: Database, vault: Vault, tmp_path: Path) -> None:
    seen = await make(db, vault, tmp_path)
    owner = await check_sign_in(db, seen.dashboard.email, seen.dashboard.password)
    assert owner is not None
    await users.change_password(db, demo.ACCOUNT_ID, owner.id, "my own choice", now=NOW)
    await make(db, vault, tmp_path)
    assert await check_sign_in(db, seen.dashboard.email, "my own choice") is not None
    assert await channel_rows.list_channels(db, demo.ACCOUNT_ID)
