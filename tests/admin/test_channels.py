"""Channels: what each kind needs, its limits and secrets, and what leaves with it."""

from typing import Any
from uuid import UUID

import pytest

from gatepost.admin import channels, endpoints, keys
from gatepost.admin.channels import CloudNumber
from gatepost.admin.limits import check_limits
from gatepost.admin.vault import Vault, VaultError
from gatepost.model import ids
from gatepost.model.errors import Invalid, NotFound
from gatepost.networks.cloud.secrets import ChannelSecrets
from gatepost.store import channels as rows
from gatepost.store.channels import ChannelConfig, list_channels
from gatepost.store.pool import Database
from tests.admin.conftest import NOW, Tenants
from tests.for_each import for_each

LIMITS = {"throughput": 80, "tier": 1000, "pair_seconds": 6, "pair_burst": 45}


async def make(db: Database, vault: Vault, account_id: UUID, **changes: Any) -> ChannelConfig:
    values: dict[str, Any] = {
        "phone": "15550001111",
        "name": "Sales",
        "number": CloudNumber("100000000000001"),
        "token": "token-1",
        "app_secret": "secret-1",
        "limits": LIMITS,
        "now": NOW,
    }
    return await channels.create_official(db, vault, account_id, **{**values, **changes})


async def test_an_official_channel_is_connected_and_its_secrets_are_sealed(
    db: Database, vault: Vault, tenants: Tenants
) -> None:
    made = await make(db, vault, tenants.mine)
    assert (made.kind, made.connection) == ("official", "connected")
    assert made.network == {"phone_number_id": "100000000000001"}
    assert made.secrets is not None
    assert b"token-1" not in made.secrets
    kept = channels.open_channel_secrets(vault, made)
    assert kept is not None
    assert (kept.token, kept.app_secret) == ("token-1", "secret-1")
    assert len(kept.verify_token) == 32
    assert await rows.get_config(db, made.id) == made == await channels.get_channel(db, tenants.mine, made.id)


async def test_overrides_are_kept_with_the_number(db: Database, vault: Vault, tenants: Tenants) -> None:
    number = CloudNumber("1", "2", "https://partner.example/graph", "v24.0")
    made = await make(db, vault, tenants.mine, number=number, verify_token="mine")
    assert made.network == {
        "phone_number_id": "1",
        "waba_id": "2",
        "base_url": "https://partner.example/graph",
        "version": "v24.0",
    }
    kept = channels.open_channel_secrets(vault, made)
    assert kept is not None
    assert kept.verify_token == "mine"


async def test_a_qr_channel_waits_for_its_phone(db: Database, vault: Vault, tenants: Tenants) -> None:
    made = await channels.get_channel(db, tenants.mine, tenants.my_channel)
    assert (made.kind, made.connection, made.secrets) == ("qr", "disconnected", None)
    assert channels.open_channel_secrets(vault, made) is None


async def test_a_channel_is_born_with_its_head(db: Database, tenants: Tenants) -> None:
    async with db.connection() as conn:
        head = await conn.fetchrow("SELECT * FROM channel_heads WHERE channel_id = $1", tenants.my_channel)
    assert head is not None
    assert head["last_event_id"] == head["last_message_id"] == head["send_floor"] == ids.ZERO
    assert (head["seq"], head["epoch"], head["owner"], head["work_at"]) == (0, 0, None, None)


@for_each(
    ("field", "changes"),
    [
        ("phone", {"phone": "+15550001111"}),
        ("phone", {"phone": "015550001111"}),
        ("name", {"name": ""}),
        ("name", {"name": "x" * 101}),
        ("token", {"token": ""}),
        ("token", {"token": "x" * 1025}),
        ("token", {"token": "a b"}),
        ("app_secret", {"app_secret": "café"}),
        ("verify_token", {"verify_token": ""}),
        ("verify_token", {"verify_token": "x" * 257}),
        ("phone_number_id", {"number": CloudNumber("1x")}),
        ("phone_number_id", {"number": CloudNumber("1" * 33)}),
        ("waba_id", {"number": CloudNumber("1", "")}),
        ("base_url", {"number": CloudNumber("1", base_url="graph.example")}),
        ("version", {"number": CloudNumber("1", version="25")}),
        ("throughput", {"limits": {"throughput": 0}}),
        ("speed", {"limits": {"speed": 1}}),
    ],
)
async def test_what_an_official_channel_refuses(
    db: Database, vault: Vault, tenants: Tenants, field: str, changes: dict[str, Any]
) -> None:
    with pytest.raises(Invalid) as caught:
        await make(db, vault, tenants.mine, **changes)
    assert caught.value.fields[0].field == field
    assert len(await list_channels(db, tenants.mine)) == 1


async def test_the_longest_values_fit(db: Database, vault: Vault, tenants: Tenants) -> None:
    await make(
        db,
        vault,
        tenants.mine,
        name="x" * 100,
        token="x" * 1024,
        app_secret="x" * 1024,
        verify_token="x" * 256,
        number=CloudNumber("1" * 32),
    )


@pytest.mark.parametrize(
    ("name", "least", "most", "under", "over"),
    [
        ("throughput", 0.01, 1000, 0, 1000.5),
        ("tier", 0, 10_000_000, -1, 10_000_001),
        ("pair_seconds", 0, 3600, -1, 3601),
        ("pair_burst", 1, 10_000, 0, 10_001),
    ],
)
def test_limits_have_bounds(name: str, least: float, most: float, under: float, over: float) -> None:
    assert check_limits({name: least}) == {name: least}
    assert check_limits({name: most}) == {name: most}
    for value in (under, over, float("nan"), float("inf")):
        with pytest.raises(Invalid, match=name):
            check_limits({name: value})


def test_counts_are_whole() -> None:
    assert check_limits({"throughput": 0.5}) == {"throughput": 0.5}
    for name in ("tier", "pair_burst"):
        with pytest.raises(Invalid, match="whole"):
            check_limits({name: 1.5})


async def test_some_limits_change_and_others_stay(db: Database, vault: Vault, tenants: Tenants) -> None:
    made = await make(db, vault, tenants.mine)
    changed = await channels.change_limits(db, tenants.mine, made.id, {"throughput": 1000, "tier": 0}, now=NOW)
    assert changed.limits == {**LIMITS, "throughput": 1000, "tier": 0}


async def test_secrets_are_replaced(db: Database, vault: Vault, tenants: Tenants) -> None:
    made = await make(db, vault, tenants.mine)
    fresh = ChannelSecrets("t2", "s2", "v2")
    changed = await channels.change_secrets(db, vault, tenants.mine, made.id, fresh, now=NOW)
    assert channels.open_channel_secrets(vault, changed) == fresh
    with pytest.raises(VaultError):
        channels.open_channel_secrets(Vault(bytes(32)), changed)
    with pytest.raises(Invalid, match="official"):
        await channels.change_secrets(db, vault, tenants.mine, tenants.my_channel, fresh, now=NOW)
    with pytest.raises(Invalid, match="token"):
        await channels.change_secrets(db, vault, tenants.mine, made.id, ChannelSecrets("", "s", "v"), now=NOW)


async def test_the_network_part_is_replaced(db: Database, tenants: Tenants) -> None:
    with pytest.raises(NotFound):
        await channels.change_channel(
            db, tenants.theirs, tenants.my_channel, rows.ChannelChange(network={"jid": "2"}), now=NOW
        )
    await channels.change_channel(
        db, tenants.mine, tenants.my_channel, rows.ChannelChange(network={"jid": "1"}), now=NOW
    )
    assert (await channels.get_channel(db, tenants.mine, tenants.my_channel)).network == {"jid": "1"}


async def test_channels_of_another_account_are_not_found(db: Database, vault: Vault, tenants: Tenants) -> None:
    other = tenants.their_channel
    calls = [
        channels.get_channel(db, tenants.mine, other),
        channels.change_limits(db, tenants.mine, other, {"throughput": 5}, now=NOW),
        channels.change_secrets(db, vault, tenants.mine, other, ChannelSecrets("t", "s", "v"), now=NOW),
        channels.delete_channel(db, tenants.mine, other, now=NOW),
    ]
    for call in calls:
        with pytest.raises(NotFound):
            await call
    assert [one.id for one in await list_channels(db, tenants.mine)] == [tenants.my_channel]
    assert (await channels.get_channel(db, tenants.theirs, other)).limits == {"throughput": 1}
    assert {tenants.my_channel, other} <= {one.id for one in await list_channels(db)}


async def test_an_unknown_account_gets_no_channel(db: Database, vault: Vault) -> None:
    unknown = ids.new_id(NOW)
    with pytest.raises(NotFound):
        await make(db, vault, unknown)
    assert await list_channels(db, unknown) == []


async def test_with_a_channel_goes_what_belongs_to_it(db: Database, vault: Vault, tenants: Tenants) -> None:
    mine, theirs = tenants.my_channel, tenants.their_channel
    for channel_id in (mine, theirs):
        await keys.create_key(db, channel_id, "k", now=NOW)
        await endpoints.create_endpoint(db, vault, channel_id, "https://example.com", now=NOW)
        async with db.connection() as conn:
            await conn.execute(
                "INSERT INTO contacts (channel_id, id, phone, created_at, updated_at) VALUES ($1, $1, '1', $2, $2)",
                channel_id,
                NOW,
            )
    await channels.delete_channel(db, tenants.mine, mine, now=NOW)
    async with db.connection() as conn:
        for table in ("api_keys", "endpoints", "channel_heads", "contacts"):
            left = await conn.fetch(f"SELECT channel_id FROM {table} WHERE channel_id IN ($1, $2)", mine, theirs)
            assert [row["channel_id"] for row in left] == [theirs], table
