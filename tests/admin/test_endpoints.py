"""Webhook endpoints: address, switches, headers, secrets, and how many."""

import asyncio
import base64
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest

from gatepost.admin import endpoints, signing
from gatepost.admin.checks import check_url
from gatepost.admin.endpoints import NewEndpoint, check_headers
from gatepost.admin.vault import Vault, VaultError
from gatepost.model import ids
from gatepost.model.endpoint import SWITCHED_OFF
from gatepost.model.errors import Conflict, Invalid, NotFound
from gatepost.model.event import TYPES
from gatepost.store import endpoints as rows
from gatepost.store.endpoints import list_endpoints
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.admin.conftest import NOW, Tenants
from tests.for_each import for_each

URL = "https://example.com/hooks"
LATER = NOW + timedelta(minutes=1)


async def make(db: Database, vault: Vault, channel_id: UUID) -> NewEndpoint:
    return await endpoints.create_endpoint(db, vault, channel_id, URL, now=NOW)


async def test_a_new_endpoint_has_all_switches_on_and_a_secret(db: Database, vault: Vault, tenants: Tenants) -> None:
    made = await make(db, vault, tenants.my_channel)
    assert made.endpoint.events == TYPES
    assert (made.endpoint.state, made.endpoint.headers) == ("active", {})
    assert made.secret.startswith("whsec_")
    assert len(base64.b64decode(made.secret.removeprefix("whsec_"))) == 32
    assert made.secret.encode() not in made.endpoint.secret
    assert [one.secret for one in endpoints.signing_secrets(vault, made.endpoint)] == [made.secret]
    assert await endpoints.get_endpoint(db, tenants.my_channel, made.endpoint.id) == made.endpoint


async def test_it_begins_where_the_log_ends(db: Database, vault: Vault, tenants: Tenants) -> None:
    newest = ids.new_id(NOW)
    async with db.connection() as conn:
        await conn.execute(
            "UPDATE channel_heads SET last_event_id = $2 WHERE channel_id = $1", tenants.my_channel, newest
        )
    assert (await make(db, vault, tenants.my_channel)).endpoint.cursor == newest
    assert (await make(db, vault, tenants.their_channel)).endpoint.cursor == ids.ZERO


@pytest.mark.parametrize(
    "url", ["http://a", "https://example.com:8443/x?y=z#w", "https://[2001:db8::1]/", "https://bücher.example/"]
)
def test_addresses_that_fit(url: str) -> None:
    assert check_url(url) == url


@for_each(
    "url",
    [
        "",
        "example.com/hooks",
        "ftp://example.com",
        "https://",
        "https:///path",
        "https://:443/",
        "https://user@example.com",
        "https://user:pass@example.com",
        "https://@example.com",
        "https://example.com:99999/",
        "https://example.com:port/",
        "https://[::1/",
        "https://example.com/a b",
        "https://example.com/\n",
        " https://example.com/",
    ],
)
def test_addresses_that_do_not(url: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_url(url)
    assert caught.value.fields[0].field == "url"


def test_the_longest_address() -> None:
    longest = "https://example.com/" + "x" * (2048 - len("https://example.com/"))
    assert check_url(longest) == longest
    with pytest.raises(Invalid, match="2048"):
        check_url(longest + "x")


def test_switches_are_known_and_in_order() -> None:
    assert endpoints.check_events(()) == ()
    assert endpoints.check_events((TYPES[3], TYPES[0], TYPES[3])) == (TYPES[0], TYPES[3])
    with pytest.raises(Invalid, match="message_notification"):
        endpoints.check_events(("messages",))


def test_headers_that_fit() -> None:
    twenty = {f"X-{i}": "v" for i in range(20)}
    assert check_headers(twenty) == twenty
    assert check_headers({"X-Long": "v" * 1024, "Authorization": "Bearer a b"})
    with pytest.raises(Invalid, match="at most 20"):
        check_headers({**twenty, "X-20": "v"})
    with pytest.raises(Invalid, match="1024"):
        check_headers({"X-Long": "v" * 1025})


@for_each(
    "name",
    [
        *("", "a b", "a:b", "é", "x\r\n", "x" * 101, "webhook-id", "Webhook-Anything"),
        *("Content-Type", "content-length", "HOST", "User-Agent", "Connection", "Transfer-Encoding"),
    ],
)
def test_headers_that_may_not_be_named(name: str) -> None:
    with pytest.raises(Invalid, match="headers"):
        check_headers({name: "v"})


@for_each("value", ["a\r\nX-Evil: 1", "tab\t", "café", "\x7f", " a", "a "])
def test_values_that_may_not_be(value: str) -> None:
    with pytest.raises(Invalid, match="X-One"):
        check_headers({"X-One": value})


def test_a_header_is_named_once() -> None:
    with pytest.raises(Invalid, match="twice"):
        check_headers({"X-One": "1", "x-one": "2"})


async def test_at_most_twenty_also_when_all_come_at_once(db: Database, vault: Vault, tenants: Tenants) -> None:
    calls = [make(db, vault, tenants.my_channel) for _ in range(24)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    refused = [one for one in results if isinstance(one, Conflict)]
    assert len(refused) == 4
    assert "at most 20" in refused[0].message
    assert len(await list_endpoints(db, tenants.my_channel)) == 20
    await make(db, vault, tenants.their_channel)


async def test_what_is_given_changes_and_the_rest_stays(db: Database, vault: Vault, tenants: Tenants) -> None:
    made = (await make(db, vault, tenants.my_channel)).endpoint
    changed = await endpoints.change_endpoint(
        db, vault, tenants.my_channel, made.id, url="https://new.example/", headers={"X-A": "1"}, now=LATER
    )
    assert (changed.url, endpoints.headers_of(vault, changed)) == ("https://new.example/", {"X-A": "1"})
    assert (changed.events, changed.secret, changed.state) == (made.events, made.secret, made.state)
    assert (changed.created_at, changed.updated_at) == (NOW, LATER)
    changed = await endpoints.change_endpoint(db, vault, tenants.my_channel, made.id, events=(), headers={}, now=LATER)
    assert (changed.url, changed.events, changed.headers) == ("https://new.example/", (), {})
    for wrong in ({"url": "x"}, {"events": ("x",)}, {"headers": {"host": "x"}}, {"state": "paused"}):
        with pytest.raises(Invalid):
            await endpoints.change_endpoint(db, vault, tenants.my_channel, made.id, now=LATER, **wrong)


async def test_off_says_why_and_on_wakes_the_channel(db: Database, vault: Vault, tenants: Tenants) -> None:
    await make_partitions(db, NOW, 7)
    made = (await make(db, vault, tenants.my_channel)).endpoint
    async with db.connection() as conn:
        gone = "UPDATE endpoints SET state = 'disabled', reason = 'It answered 410.' WHERE id = $1"
        await conn.execute(gone, made.id)
    off = await endpoints.change_endpoint(db, vault, tenants.my_channel, made.id, url="https://new.example/", now=LATER)
    assert (off.state, off.reason) == ("disabled", "It answered 410.")
    on = await endpoints.change_endpoint(db, vault, tenants.my_channel, made.id, state="active", now=LATER)
    assert (on.state, on.reason) == ("active", None)
    async with db.connection() as conn:
        woken = await conn.fetchval("SELECT work_at FROM channel_heads WHERE channel_id = $1", tenants.my_channel)
    assert woken == LATER
    off = await endpoints.change_endpoint(db, vault, tenants.my_channel, made.id, state="disabled", now=LATER)
    assert off.reason == SWITCHED_OFF


async def test_a_state_set_by_a_person_is_reported_once(db: Database, vault: Vault, tenants: Tenants) -> None:
    await make_partitions(db, NOW, 7)
    made = (await make(db, vault, tenants.my_channel)).endpoint
    paused = "UPDATE endpoints SET state = 'paused', failures = 9, failing_since = now(), probes = 2 WHERE id = $1"

    async def change(state: str) -> None:
        changed = await endpoints.change_endpoint(db, vault, tenants.my_channel, made.id, state=state, now=LATER)
        assert (changed.state, changed.health.failures, changed.health.probes) == (state, 0, 0)
        assert changed.health.failing_since is None

    for state in ("active", "disabled", "disabled", "active"):
        await change(state)
    async with db.connection() as conn:
        await conn.execute(paused, made.id)
    await change("active")
    async with db.connection() as conn:
        await conn.execute(paused, made.id)
    await change("disabled")
    async with db.connection() as conn:
        rows_ = await conn.fetch("SELECT type, body FROM events WHERE channel_id = $1 ORDER BY id", tenants.my_channel)
    seen = [msgspec.json.decode(row["body"]) for row in rows_]
    assert [(one["action"], one["data"]["previous"], one["data"]["state"]) for one in seen] == [
        ("endpoint_disabled", "active", "disabled"),
        ("endpoint_enabled", "disabled", "active"),
        ("endpoint_resumed", "paused", "active"),
        ("endpoint_disabled", "paused", "disabled"),
    ]
    assert {row["type"] for row in rows_} == {"system_notification"}
    assert seen[0]["data"]["reason"] == SWITCHED_OFF


async def test_both_secrets_live_during_the_overlap(db: Database, vault: Vault, tenants: Tenants) -> None:
    first = await make(db, vault, tenants.my_channel)
    second = await endpoints.rotate_secret(db, vault, tenants.my_channel, first.endpoint.id, now=NOW)
    kept = endpoints.signing_secrets(vault, second.endpoint)
    end = NOW + signing.DEFAULT_OVERLAP
    before = signing.live_secrets(kept, end - timedelta(seconds=1))
    assert [one.secret for one in before] == [second.secret, first.secret]
    assert [one.secret for one in signing.live_secrets(kept, end)] == [second.secret]
    third = await endpoints.rotate_secret(
        db, vault, tenants.my_channel, first.endpoint.id, overlap=timedelta(0), now=NOW
    )
    assert [one.secret for one in endpoints.signing_secrets(vault, third.endpoint)] == [third.secret]


async def test_a_secret_does_not_open_for_another_endpoint(db: Database, vault: Vault, tenants: Tenants) -> None:
    one, two = [(await make(db, vault, tenants.my_channel)).endpoint for _ in range(2)]
    async with db.connection() as conn:
        await conn.execute("UPDATE endpoints SET secret = $2 WHERE id = $1", one.id, two.secret)
    with pytest.raises(VaultError):
        endpoints.signing_secrets(vault, await endpoints.get_endpoint(db, tenants.my_channel, one.id))


async def test_a_deleted_endpoint_retries_nothing(db: Database, vault: Vault, tenants: Tenants) -> None:
    one, two = [(await make(db, vault, tenants.my_channel)).endpoint for _ in range(2)]
    async with db.connection() as conn:
        await conn.executemany(
            "INSERT INTO delivery_retries (channel_id, endpoint_id, event_id, next_at) VALUES ($1, $2, $1, $3)",
            [(tenants.my_channel, one.id, NOW), (tenants.my_channel, two.id, NOW)],
        )
    await endpoints.delete_endpoint(db, tenants.my_channel, one.id)
    async with db.connection() as conn:
        left = await conn.fetch("SELECT endpoint_id FROM delivery_retries WHERE channel_id = $1", tenants.my_channel)
    assert [row["endpoint_id"] for row in left] == [two.id]
    assert await list_endpoints(db, tenants.my_channel) == [two]
    assert await rows.find_endpoint(db, two.id) == two


async def test_endpoints_of_another_channel_are_not_found(db: Database, vault: Vault, tenants: Tenants) -> None:
    theirs = (await make(db, vault, tenants.their_channel)).endpoint
    calls = [
        endpoints.get_endpoint(db, tenants.my_channel, theirs.id),
        endpoints.change_endpoint(db, vault, tenants.my_channel, theirs.id, url="https://evil.example", now=NOW),
        endpoints.rotate_secret(db, vault, tenants.my_channel, theirs.id, now=NOW),
        endpoints.delete_endpoint(db, tenants.my_channel, theirs.id),
        make(db, vault, ids.new_id(NOW)),
    ]
    for call in calls:
        with pytest.raises(NotFound):
            await call
    assert await list_endpoints(db, tenants.my_channel) == []
    assert await list_endpoints(db, tenants.their_channel) == [theirs]
