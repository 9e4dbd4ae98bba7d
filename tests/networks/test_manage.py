"""Templates, profile, number and callbacks, as a business manages them at the sandbox."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from gatepost.model.number_status import NumberHealth
from gatepost.model.template import Template
from gatepost.networks.base import CallFailed, Person
from gatepost.networks.cloud.business_account import CloudAccount, parse_number, parse_template
from gatepost.networks.cloud.errors import with_advice
from gatepost.networks.cloud.send import CloudNetwork, make_client
from tests.conftest import Answer, Received, Receiver
from tests.networks.callbacks import NUMBER, PERSON, WABA
from tests.networks.sandboxed import Sandboxed, sandboxed
from tests.patience import PATIENCE

BODY = {"type": "BODY", "text": "Hello {{1}}, your order is ready.", "example": {"body_text": [["Ana"]]}}
NAMED = {
    "type": "BODY",
    "text": "Hello {{name}}, your order is ready.",
    "example": {"body_text_named_params": [{"param_name": "name", "example": "Ana"}]},
}


@pytest.fixture
async def world() -> AsyncIterator[Sandboxed]:
    async with sandboxed() as one:
        yield one


# -- templates --------------------------------------------------------------------------------------------------------


async def test_the_life_of_a_template(world: Sandboxed) -> None:
    account = world.account
    made = await account.create_template(Template("order_ok", "en_US", "UTILITY", [BODY]))
    assert (made.name, made.language, made.status, made.named) == ("order_ok", "en_US", "PENDING", False)
    assert made.network_id
    with pytest.raises(CallFailed) as failed:
        await account.edit_template(made.network_id, {"components": [BODY]})
    assert not failed.value.retry
    await world.control("POST", f"templates/{made.network_id}/review", {"decision": "approve"})
    found = await account.get_template(made.network_id)
    assert (found.network_id, found.status, found.category) == (made.network_id, "APPROVED", "UTILITY")
    assert [part["type"] for part in found.components] == ["BODY"]
    changed = BODY | {"text": "Hi {{1}}, your order is ready now."}
    await account.edit_template(made.network_id, {"components": [changed]})
    await account.delete_template("order_ok", made.network_id)
    assert "order_ok" not in [template.name for template in await account.list_templates()]


async def test_a_template_with_named_variables(world: Sandboxed) -> None:
    made = await world.account.create_template(Template("named_ok", "en_US", "UTILITY", [NAMED], "NAMED"))
    assert made.named
    assert made.network_id
    assert (await world.account.get_template(made.network_id)).named


async def test_a_template_that_breaks_a_rule_is_refused_with_advice(world: Sandboxed) -> None:
    with pytest.raises(CallFailed) as failed:
        await world.account.create_template(Template("Bad Name", "en_US", "UTILITY", [BODY]))
    assert (failed.value.retry, failed.value.status) == (False, 400)
    assert failed.value.error.advice is not None


@pytest.mark.parametrize("count", [0, 1, 2, 5])
async def test_all_pages_are_read(receiver: Receiver, count: int) -> None:
    def page(request: Received) -> Answer:
        place = int(dict(part.split("=") for part in request.query.split("&")).get("after", "0"))
        data = [{"id": str(place), "name": f"t{place}", "language": "en_US"}] if count else []
        more = {"next": "https://elsewhere.example/"} if place + 1 < count else {}
        return Answer(
            body=msgspec.json.encode(
                {"data": [*data, "odd", {}], "paging": {"cursors": {"after": str(place + 1)}} | more}
            )
        )

    receiver.answer = page
    async with make_client(PATIENCE, PATIENCE) as client:
        found = await CloudAccount(client, receiver.url, "v25.0", NUMBER, WABA, "secret").list_templates()
    assert [template.name for template in found] == [f"t{i}" for i in range(count)]
    assert len(receiver.requests) == max(1, count)
    assert {request.path for request in receiver.requests} == {f"/v25.0/{WABA}/message_templates"}


async def test_a_page_that_leads_to_itself_is_the_last(receiver: Receiver) -> None:
    receiver.answer = Answer(body=b'{"data":[],"paging":{"next":"x","cursors":{"after":"same"}}}')
    async with make_client(PATIENCE, PATIENCE) as client:
        await CloudAccount(client, receiver.url, "v25.0", NUMBER, WABA, "secret").list_templates()
    assert len(receiver.requests) == 2


def test_a_template_in_the_networks_own_form() -> None:
    found = parse_template(
        {
            "id": 168,
            "name": "n",
            "language": "en-US",
            "status": "rejected",
            "category": "utility",
            "parameter_format": "named",
            "components": [BODY, "odd"],
            "quality_score": {"score": "GREEN", "date": 1},
            "rejected_reason": "INVALID_FORMAT",
        }
    )
    assert found == Template("n", "en_US", "UTILITY", [BODY], "NAMED", "REJECTED", "168", "GREEN", "INVALID_FORMAT")
    bare = parse_template({"id": "1", "name": "n", "rejected_reason": "NONE", "components": None})
    assert bare == Template("n", "", "UNKNOWN", [], status="UNKNOWN", network_id="1")
    with pytest.raises(CallFailed):
        parse_template({"name": "n"})


# -- number, profile, callbacks ---------------------------------------------------------------------------------------


async def test_how_the_number_stands(world: Sandboxed) -> None:
    state = await world.account.read_number()
    assert (state.status, state.throughput) == ("CONNECTED", 80)
    assert state.quality in ("GREEN", "UNKNOWN")


def test_a_number_in_the_networks_own_form() -> None:
    found: dict[str, Any] = {
        "display_phone_number": "+1 555-000-1111",
        "status": "BANNED",
        "quality_rating": "RED",
        "throughput": {"level": "HIGH"},
        "whatsapp_business_manager_messaging_limit": "TIER_2K",
        "health_status": {"can_send_message": "BLOCKED"},
    }
    assert parse_number(found) == NumberHealth("BANNED", "RED", 1000, 2000, None, None, "BLOCKED", [])
    assert parse_number({}) == NumberHealth(None, None, None, None, None, None, None, [])


async def test_the_profile_is_read_and_changed(world: Sandboxed) -> None:
    await world.account.update_profile({"about": "We sell", "email": "a@example.com"})
    profile = await world.account.read_profile()
    assert (profile["about"], profile["email"]) == ("We sell", "a@example.com")
    assert "messaging_product" not in profile


@pytest.mark.parametrize("typing", [False, True])
async def test_a_message_is_marked_as_read(world: Sandboxed, typing: bool) -> None:
    said = await world.control("POST", "say", {"phone_number_id": NUMBER, "from": PERSON, "text": "Hi"})
    wamid = next(v for v in said.values() if str(v).startswith("wamid."))
    await world.network.mark_read(wamid, Person(PERSON), typing=typing)


async def test_what_typing_looks_like(receiver: Receiver) -> None:
    receiver.answer = Answer(body=b'{"success":true}')
    async with make_client(PATIENCE, PATIENCE) as client:
        await CloudNetwork(client, receiver.url, "v25.0", NUMBER, "secret").mark_read("w", Person(PERSON), typing=True)
    assert receiver.requests[0].json() == {
        "messaging_product": "whatsapp",
        "status": "read",
        "message_id": "w",
        "typing_indicator": {"type": "text"},
    }


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "code", "retry"),
    [
        (400, {"error": {"code": 131009, "message": "No"}}, 131009, False),
        (400, {"error": {"code": 80007, "message": "No"}}, 80007, True),
        (401, {"error": {"code": 190, "message": "No"}}, 190, False),
        (500, {"error": {"code": 131000, "message": "No"}}, 131000, True),
        (429, {"error": {"code": 999_999, "message": "No"}}, 999_999, True),
        (503, "odd", 503, True),
        (404, "odd", 404, False),
    ],
)
async def test_a_refusal_says_whether_to_try_again(
    receiver: Receiver, status: int, body: Any, code: int, retry: bool
) -> None:
    receiver.answer = Answer(status, body=msgspec.json.encode(body))
    async with make_client(PATIENCE, PATIENCE) as client:
        with pytest.raises(CallFailed) as failed:
            await CloudAccount(client, receiver.url, "v25.0", NUMBER, WABA, "secret").read_profile()
    assert (failed.value.error.code, failed.value.retry, failed.value.status) == (code, retry, status)
    assert failed.value.error.advice == (with_advice(code, "", None).advice if code > 503 or code == 190 else None)


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{" * 5000, b"\xff"])
async def test_a_success_with_an_invalid_body_is_no_success(receiver: Receiver, body: bytes) -> None:
    receiver.answer = Answer(200, body=body)
    async with make_client(PATIENCE, PATIENCE) as client:
        with pytest.raises(CallFailed) as failed:
            await CloudAccount(client, receiver.url, "v25.0", NUMBER, WABA, "secret").read_number()
    assert failed.value.retry


async def test_an_id_cannot_lead_elsewhere(receiver: Receiver) -> None:
    receiver.answer = Answer(200, body=b'{"id":"1","name":"n"}')
    async with make_client(PATIENCE, PATIENCE) as client:
        await CloudAccount(client, receiver.url, "v25.0", NUMBER, WABA, "secret").get_template("../../x?y=z")
    (request,) = receiver.requests
    assert request.query.startswith("fields=")
    assert request.path.startswith("/v25.0/")
