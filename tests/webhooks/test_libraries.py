"""Signatures as the libraries of Standard Webhooks from PyPI and npm verify them, through rotations."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from gatepost.model.signing import new_secret, public_key
from gatepost.webhooks.signature import signature_headers
from tests.conftest import Received, Receiver
from tests.node import PACKAGES, installed, run_node
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, running_gateway

HOOKS = "/api/v1/webhooks"
BODY = '{"text":"Olá, 你好 👋"}'.encode()
OVERLAP = 120
Delivery = tuple[str, Mapping[str, str], bytes]  # a secret or public key, headers, body


class Libraries:
    """The npm edition, run by Node.js; the PyPI edition for whatever it knows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def npm(self, deliveries: Iterable[Delivery]) -> list[bool]:
        """What the npm edition says to each."""
        lines = [
            msgspec.json.encode({"secret": secret, "headers": dict(headers), "body": body.decode()})
            for secret, headers, body in deliveries
        ]
        said = run_node([str(self.folder / "verify.mjs")], self.folder, b"\n".join(lines)).split("\n")[:-1]
        assert len(said) == len(lines)
        return [line == "genuine" for line in said]

    def all(self, deliveries: Sequence[Delivery]) -> list[bool]:
        """What both say; they must not differ."""
        npm = self.npm(deliveries)
        assert [one for (secret, *_), one in zip(deliveries, npm, strict=True) if secret.startswith("whsec_")] == [
            by_python(*delivery) for delivery in deliveries if delivery[0].startswith("whsec_")
        ]
        return npm


def by_python(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """What the PyPI edition says."""
    try:
        Webhook(secret).verify(body, dict(headers), json_parse=False)
    except WebhookVerificationError:
        return False
    return True


@pytest.fixture(scope="session")
def libraries() -> Libraries:
    """Give both libraries, the npm edition installed once as its lock file says."""
    return Libraries(installed("standardwebhooks"))


def test_no_lock_file_names_a_registry() -> None:
    locks = list(PACKAGES.glob("*/package-lock.json"))
    assert len(locks) >= 2
    for lock in locks:
        assert '"resolved"' not in lock.read_text()


def test_both_libraries_know_ours_from_others(libraries: Libraries) -> None:
    now = int(time.time())
    shared, other, private, stranger = new_secret(), new_secret(), new_secret("v1a"), new_secret("v1a")
    public, strange = public_key(private) or "", public_key(stranger) or ""
    headers = signature_headers([shared, private], "evt_1", now, BODY)
    spoiled = headers | {"webhook-id": "evt_2"}
    cases = [
        ((shared, headers, BODY), True),
        ((public, headers, BODY), True),
        ((other, headers, BODY), False),
        ((strange, headers, BODY), False),
        ((shared, spoiled, BODY), False),
        ((public, spoiled, BODY), False),
        ((shared, headers, BODY + b" "), False),
        ((public, headers, BODY + b" "), False),
    ]
    assert libraries.all([delivery for delivery, _ in cases]) == [good for _, good in cases]


def test_neither_library_knows_v1a_and_both_find_v1_beside_it(libraries: Libraries) -> None:
    """As docs/reference/webhooks.md says of them."""
    now, shared, private = int(time.time()), new_secret(), new_secret("v1a")
    public = public_key(private) or ""
    alone = signature_headers([private], "evt_1", now, BODY)
    assert libraries.npm([(public, alone, BODY)]) == [True]  # by Node's own ed25519
    plain = public.removeprefix("whpk_")  # as a key that the library itself takes
    assert libraries.npm([(plain, alone, BODY)]) == [False]
    assert by_python(plain, alone, BODY) is False
    both = signature_headers([private, shared], "evt_1", now, BODY)
    assert libraries.npm([(shared, both, BODY)]) == [True]
    assert by_python(shared, both, BODY) is True


def test_both_libraries_refuse_deliveries_that_are_aged_or_ahead(libraries: Libraries) -> None:
    secret, now = new_secret(), int(time.time())
    ages = [(-400, False), (-200, True), (0, True), (200, True), (400, False)]
    deliveries = [(secret, signature_headers([secret], "evt_1", now + age, BODY), BODY) for age, _ in ages]
    assert libraries.all(deliveries) == [good for _, good in ages]


class LateClock:
    """A clock that goes as others do, but is late, and may be moved."""

    def __init__(self, late: float) -> None:
        self.ahead = -late

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.ahead)

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


# -- through two rotations, under load --------------------------------------------------------------------------------


async def rotate(gateway: Gateway, hook: str, **options: Any) -> str:
    answer = await gateway.call("POST", f"{HOOKS}/{hook}/rotate-secret", options)
    assert answer.status == 200, answer.body
    secret: str = answer.json()["data"]["secret"]
    return secret


async def load(gateway: Gateway, receiver: Receiver, count: int, least: int = 0) -> list[Received]:
    """So many messages, and the deliveries that came until each is read: at least so many."""
    first = len(receiver.requests)
    sent = await asyncio.gather(*(gateway.send(phone=f"55119999{i:05}", body="Hello") for i in range(count)))
    async with asyncio.timeout(PATIENCE):
        while {one for request in receiver.requests[first:] if (one := read_message(request))} < set(sent):
            await asyncio.sleep(0.02)
        await receiver.wait_for(first + least)
    return receiver.requests[first:]


def read_message(request: Received) -> str | None:
    """The message that a delivery tells to be read."""
    event = request.json()
    data = event["data"]
    read = event["type"] == "ack_notification" and data.get("status") == "READ"
    return str(data["key"]["id"]) if read else None


def verified_by(libraries: Libraries, secrets: Sequence[str], requests: Sequence[Received]) -> list[list[bool]]:
    """For each delivery, which of the secrets verify it."""
    said = libraries.all([(secret, request.headers, request.body) for request in requests for secret in secrets])
    return [said[i : i + len(secrets)] for i in range(0, len(said), len(secrets))]


@pytest.mark.parametrize(("first", "then"), [("v1", "v1"), ("v1", "v1a")])
async def test_every_delivery_verifies_through_two_rotations(
    database_url: str, receiver: Receiver, libraries: Libraries, first: str, then: str
) -> None:
    # The libraries look at the real clock and bear five minutes: the gateway's is set back, and moved within them.
    clock = LateClock(150)
    async with running_gateway(database_url, clock=clock) as gateway:
        made = (await gateway.call("POST", HOOKS, {"url": receiver.url, "signing": first})).json()["data"]
        flood = asyncio.create_task(load(gateway, receiver, 40, least=200))
        await receiver.wait_for(5)
        secrets = [made["secret"], await rotate(gateway, made["id"], overlap=OVERLAP, signing=then)]
        await receiver.wait_for(len(receiver.requests) + 20)
        secrets.append(await rotate(gateway, made["id"], overlap=OVERLAP))
        during = await flood
        both = await until_signed(gateway, receiver, 3)
        clock.ahead += OVERLAP
        after = await load(gateway, receiver, 5)
    assert all(map(any, verified_by(libraries, secrets, during)))
    assert verified_by(libraries, secrets, both) == [[True, True, True]] * len(both)
    assert verified_by(libraries, secrets, after) == [[False, False, True]] * len(after)
    assert {len(request.headers["webhook-signature"].split()) for request in after} == {1}


async def until_signed(gateway: Gateway, receiver: Receiver, count: int) -> list[Received]:
    """Deliveries with so many signatures: the owner of the channel learns of a new secret within a moment."""
    async with asyncio.timeout(PATIENCE):
        while True:
            requests = await load(gateway, receiver, 2)
            if all(len(request.headers["webhook-signature"].split()) == count for request in requests):
                return requests
