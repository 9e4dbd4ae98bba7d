"""Questions that nobody asks in good faith: each is refused in words, and costs the others nothing."""

import asyncio
import base64
import threading
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
import pytest

from gatepost.api import webhook_secrets
from gatepost.api.paging import CURSOR_MAX, read_cursor, show_cursor
from gatepost.model.errors import BadRequest
from gatepost.model.signing import decode_check, new_secret
from gatepost.store.contacts.read import SearchPosition
from gatepost.webhooks.signature import signature_headers
from gatepost.webhooks.verification import SIGNATURES_MAX, VerificationKey, verify
from tests.for_each import for_each
from tests.gateway.checks import SEND, TEXT, check_refused, until
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, running_gateway

HOOKS = "/api/v1/webhooks"
EVENTS = "/api/v1/events"
ZERO = "00000000-0000-0000-0000-000000000000"


async def _hook(gateway: Gateway, **options: Any) -> Any:
    made = await gateway.call("POST", HOOKS, {"url": "http://127.0.0.1:54321/hook", **options})
    assert made.status == 201, made.body
    return made.json()["data"]


def _cursor(value: Any) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(value)).decode().rstrip("=")


# -- cursors and parameters -------------------------------------------------------------------------------------------


@for_each("number", [32_768, 10**30, -1])
async def test_a_cursor_with_a_number_that_no_attempt_has(gateway: Gateway, number: int) -> None:
    path = f"{HOOKS}/{(await _hook(gateway))['id']}/attempts?cursor="
    raw = base64.urlsafe_b64encode(f'["{ZERO}",{number}]'.encode()).decode().rstrip("=")
    check_refused(await gateway.call("GET", path + raw), 400, "invalid_cursor")
    assert (await gateway.call("GET", path + _cursor([ZERO, 32_767]))).status == 200


@for_each(
    ("path", "name"),
    [(EVENTS, "limit"), (EVENTS + "/stream", "after"), ("/api/v1/contacts", "limit"), ("/api/v1/orders", "limit")],
)
async def test_a_parameter_that_is_given_twice(gateway: Gateway, path: str, name: str) -> None:
    check_refused(await gateway.call("GET", f"{path}?{name}=1&{name}=2"), 422, "invalid_field", name)


async def test_options_names_every_method(gateway: Gateway) -> None:
    hook = (await _hook(gateway))["id"]
    for path, methods in (
        (SEND, {"POST"}),
        (f"/callbacks/cloud/{gateway.channel}", {"GET", "POST"}),
        (HOOKS, {"GET", "POST"}),
        (f"{HOOKS}/{hook}", {"GET", "PATCH", "DELETE"}),
        ("/healthz", {"GET"}),
    ):
        told, refused = await gateway.call("OPTIONS", path, key=""), await gateway.call("PUT", path)
        assert (told.status, told.body) == (204, b"")
        assert "content-length" not in told.headers
        assert set(told.headers["allow"].split(", ")) == set(refused.headers["allow"].split(", ")), path
        allowed = methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())
        assert sorted(told.headers["allow"].split(", ")) == sorted(allowed), path


# -- secrets ----------------------------------------------------------------------------------------------------------


async def test_a_new_secret_is_not_to_be_stored_or_packed(gateway: Gateway) -> None:
    hook = await _hook(gateway, url="http://127.0.0.1:54321/" + "x" * 1500)
    path = f"{HOOKS}/{hook['id']}/rotate-secret"
    answer = await gateway.call("POST", path, {}, headers={"accept-encoding": "gzip"})
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    assert "vary" not in answer.headers


async def test_who_only_reads_sees_no_credential_of_an_endpoint(gateway: Gateway) -> None:
    sent = {"Authorization": "Bearer s3cret", "X-JWT": "s3cret", "X-Shop": "7"}
    hook = await _hook(gateway, headers=sent)
    reader = await gateway.new_key(await _channel(gateway), scopes=["read"])
    for path in (HOOKS, f"{HOOKS}/{hook['id']}"):
        seen = await gateway.call("GET", path, key=reader)
        assert b"s3cret" not in seen.body
        assert b'"X-Shop":"***"' in seen.body
        assert b"Bearer s3cret" in (await gateway.call("GET", path)).body


async def _channel(gateway: Gateway) -> Any:
    async with gateway.db.connection() as conn:
        return await conn.fetchval("SELECT id FROM channels")


@for_each("name", ["Expect", "TE", "Upgrade", "Keep-Alive", "Trailer", "Proxy-Authorization"])
async def test_a_header_that_would_fail_every_delivery_is_refused_at_once(gateway: Gateway, name: str) -> None:
    option = {"url": "http://127.0.0.1:54321/hook", "headers": {name: "x"}}
    check_refused(await gateway.call("POST", HOOKS, option), 422, "invalid_field", "headers")


async def test_a_costly_check_holds_nobody_up(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten public keys, ten signatures and the largest body: the check runs beside the loop, which goes on meanwhile."""
    loop, turned, served = asyncio.get_running_loop(), threading.Event(), list[bool]()

    def check(*given: Any) -> Any:
        loop.call_soon_threadsafe(turned.set)
        served.append(turned.wait(PATIENCE))  # a check that runs on the loop would wait in vain
        return verify(*given)

    monkeypatch.setattr(webhook_secrets, "verify", check)
    hook = (await _hook(gateway, signing="v1a"))["id"]
    for _ in range(9):
        assert (await gateway.call("POST", f"{HOOKS}/{hook}/rotate-secret", {"overlap": 600})).status == 200
    forged = "v1a," + base64.b64encode(bytes(64)).decode()
    headers = {"webhook-id": "evt_1", "webhook-timestamp": "1", "webhook-signature": " ".join([forged] * 100)}
    question = {"headers": headers, "body": "x" * 1_000_000}
    assert (await gateway.call("POST", f"{HOOKS}/{hook}/verify", question)).json()["data"]["valid"] is False
    assert served == [True]


# -- waiting ----------------------------------------------------------------------------------------------------------


async def _hang_up(gateway: Gateway, path: str) -> None:
    """Asks, and is gone while it waits."""
    place = urlsplit(gateway.url)
    _, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {gateway.key}\r\n\r\n".encode())
    await writer.drain()
    await asyncio.sleep(0.3)
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize("path", [f"{EVENTS}?wait=30", f"{EVENTS}/stream"])
async def test_who_hangs_up_waits_no_longer(parted_database_url: str, path: str) -> None:
    async with running_gateway(parted_database_url, api__streams=2) as gateway:
        stays = asyncio.create_task(gateway.call("GET", f"{EVENTS}?wait=30"))
        await asyncio.sleep(0.1)  # it waits by now
        await _hang_up(gateway, path)

        async def room() -> bool:
            return (await gateway.call("GET", f"{EVENTS}?wait=1")).status != 429

        await until(room)
        assert not stays.done(), "the place became free only with the end of the longest wait"
        stays.cancel()


# -- two gateways in one process --------------------------------------------------------------------------------------


async def test_gateways_of_one_process_share_no_limit_and_no_tenant(
    database_url: str, parted_database_url: str
) -> None:
    async with (
        running_gateway(database_url, server__body_limit=2_000) as small,
        running_gateway(parted_database_url) as large,
    ):
        long = {"url": "http://127.0.0.1:54321/hook", "headers": {f"X-{n}": "x" * 200 for n in range(15)}}
        check_refused(await small.call("POST", HOOKS, long), 413, "body_too_large")
        assert (await large.call("POST", HOOKS, long)).status == 201
        check_refused(await small.call("GET", HOOKS, key=large.key), 401, "invalid_api_key")
        assert (await small.call("GET", HOOKS)).json()["data"] == []
        check_refused(await small.call("POST", SEND, TEXT | {"client_ref": "x" * 2_000}), 413, "body_too_large")


def test_no_more_signatures_are_looked_at_than_there_can_be() -> None:
    now, secret = datetime.now(UTC), new_secret()
    headers = signature_headers([secret], "evt_1", int(now.timestamp()), b"{}")
    kept = [VerificationKey(decode_check(secret))]
    for before, valid in ((SIGNATURES_MAX - 1, True), (SIGNATURES_MAX, False)):
        padded = "v1,AAAA " * before + headers["webhook-signature"]
        assert verify(kept, headers | {"webhook-signature": padded}, b"{}", now).valid is valid


@pytest.mark.parametrize(("length", "fits"), [(766, True), (767, False)])
def test_a_cursor_has_a_limit(length: int, fits: bool) -> None:
    text = show_cursor("x" * length)
    assert (len(text) <= CURSOR_MAX) is fits
    if fits:
        assert read_cursor(text, str) == "x" * length
    else:
        with pytest.raises(BadRequest):
            read_cursor(text, str)


def test_the_longest_cursor_of_ours_is_within_the_limit() -> None:
    assert len(show_cursor(SearchPosition("\U0001f600" * 64, UUID(int=1)))) < CURSOR_MAX
