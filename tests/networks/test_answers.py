"""What each answer of the Cloud API to a send means."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model import ids
from gatepost.networks.base import (
    ErrorReaction,
    NetworkError,
    Outgoing,
    SendAccepted,
    SendNotMade,
    SendRefused,
    SendUnknown,
)
from gatepost.networks.cloud.callback_data import pack, unpack
from gatepost.networks.cloud.compose import request_body
from gatepost.networks.cloud.errors import entries
from gatepost.networks.cloud.send import CloudNetwork, make_client, parse_answer
from tests.conftest import Answer, Received, Receiver
from tests.for_each import for_each
from tests.patience import PATIENCE

ID = ids.derived_id(datetime(2026, 11, 15, tzinfo=UTC), "wamid")
UNDELIVERABLE = next(entry.advice for entry in entries() if entry.first == 131_026)


def outgoing(**changes: Any) -> Outgoing:
    fields: dict[str, Any] = {
        "id": ID,
        "attempt": 2,
        "phone": "5511999998888",
        "type": "text",
        "content": '{"body":"Hé"}',
    }
    return Outgoing(**fields | changes)


def no(code: int, **more: Any) -> bytes:
    return msgspec.json.encode({"error": {"code": code, "message": "No", "fbtrace_id": "x"} | more})


# -- callback data ----------------------------------------------------------------------------------------------------


@given(st.uuids(), st.integers(0, 99_999))
def test_our_id_and_attempt_come_back(id_: Any, attempt: int) -> None:
    assert unpack(pack(id_, attempt)) == (id_, attempt)


@given(st.text() | st.text().map(lambda text: "gp1:" + text) | st.text().map(lambda text: f"gp1:{ID.hex}:{text}"))
def test_what_is_not_ours_is_nothing(text: str) -> None:
    found = unpack(text)
    assert found is None or text == pack(*found) or text.lower().startswith("gp1:")


@for_each("text", [None, "", "gp1:", f"gp1:{ID.hex}", f"gp1:{ID.hex}:", f"gp1:{ID.hex}:-1", "gp1:x:1"])
def test_half_of_ours_is_nothing(text: str | None) -> None:
    assert unpack(text) is None


# -- answers ----------------------------------------------------------------------------------------------------------


def test_taken() -> None:
    body = {"messaging_product": "whatsapp", "contacts": [], "messages": [{"id": "wamid.1", "message_status": "x"}]}
    assert parse_answer(200, msgspec.json.encode(body)) == SendAccepted("wamid.1")


@for_each("body", [b"", b"ok", b"{}", b'{"messages":[]}', b'{"messages":[{}]}', b'{"messages":[{"id":1}]}'])
@for_each("status", [200, 201, 202, 204])
def test_a_success_without_an_id_is_not_guessed(status: int, body: bytes) -> None:
    assert isinstance(parse_answer(status, body), SendUnknown)


@pytest.mark.parametrize(("word", "held"), [("accepted", False), ("held_for_quality_assessment", True), (5, False)])
def test_taken_but_kept_back_until_its_template_is_judged(word: Any, held: bool) -> None:
    body = msgspec.json.encode({"messages": [{"id": "wamid.1", "message_status": word}]})
    assert parse_answer(200, body) == SendAccepted("wamid.1", held=held)


@for_each("entry", entries())
@for_each("status", [400, 429, 500])
def test_every_code_of_the_table_has_its_reaction_and_advice_whatever_the_status(status: int, entry: Any) -> None:
    for code in {entry.first, entry.last}:
        receipt = parse_answer(status, no(code))
        assert isinstance(receipt, SendRefused)
        assert (receipt.error.code, receipt.error.title, receipt.error.details) == (code, "No", None)
    words = NetworkError(entry.last, "No", None, entry.advice, entry.failed, token_rejected=entry.token)
    assert receipt == SendRefused(words, entry.reaction, entry.wait or 0.0, entry.tries, entry.files)


def test_a_number_that_does_not_exist_is_a_problem_of_the_number() -> None:
    receipt = parse_answer(400, no(100, error_subcode=33))
    assert isinstance(receipt, SendRefused)
    assert (receipt.reaction, receipt.files) == (ErrorReaction.BREAK, False)
    assert "phone number id" in (receipt.error.advice or "")


@for_each(
    ("contacts", "wa_id"),
    [
        ([{"input": "+5511987654321", "wa_id": "551187654321"}], "551187654321"),
        ([{"input": "+1"}], None),
        ([{"wa_id": 5}], None),
        ([{"wa_id": "not a number"}], None),
        ([], None),
        ({"wa_id": "551187654321"}, None),
    ],
)
def test_the_network_may_write_the_number_in_another_way(contacts: Any, wa_id: str | None) -> None:
    body = msgspec.json.encode({"contacts": contacts, "messages": [{"id": "wamid.1"}]})
    assert parse_answer(200, body) == SendAccepted("wamid.1", wa_id=wa_id)


@pytest.mark.parametrize(
    ("code", "transient", "reaction"),
    [
        (987_654, True, ErrorReaction.RETRY),
        (987_654, False, ErrorReaction.FINAL),
        (987_654, "true", ErrorReaction.FINAL),
        (131_026, True, ErrorReaction.FINAL),
    ],
)
def test_the_networks_word_that_it_will_pass_counts_where_nobody_knows_the_code(
    code: int, transient: Any, reaction: ErrorReaction
) -> None:
    receipt = parse_answer(400, no(code, is_transient=transient))
    assert isinstance(receipt, SendRefused)
    assert receipt.reaction is reaction


def test_a_subcode_that_is_known_has_the_closer_advice() -> None:
    (near,) = [entry.advice for entry in entries() if entry.first == 2_388_040]
    assert parse_answer(400, no(100, error_subcode=2_388_040)) == SendRefused(
        NetworkError(100, "No", None, near), ErrorReaction.FINAL
    )


@pytest.mark.parametrize("length", [256, 257])
def test_an_id_longer_than_any_is_none(length: int) -> None:
    body = msgspec.json.encode({"messages": [{"id": "w" * length}]})
    assert (
        parse_answer(200, body) == SendAccepted("w" * 256)
        if length == 256
        else isinstance(parse_answer(200, body), SendUnknown)
    )


def test_text_of_errors_that_postgresql_cannot_store_is_cleaned() -> None:
    receipt = parse_answer(
        400, rb'{"error":{"code":131026,"message":"a\u0000b \ud800","error_data":{"details":"\udc00"}}}'
    )
    assert isinstance(receipt, SendRefused)
    assert (receipt.error.title, receipt.error.details) == ("a\ufffdb \ufffd", "\ufffd")


@for_each(
    ("status", "reaction"),
    [
        (400, ErrorReaction.FINAL),
        (401, ErrorReaction.FINAL),
        (404, ErrorReaction.FINAL),
        (429, ErrorReaction.RETRY),
        (500, ErrorReaction.RETRY),
        (503, ErrorReaction.RETRY),
    ],
)
def test_an_unknown_code_follows_the_status(status: int, reaction: ErrorReaction) -> None:
    assert parse_answer(status, no(987_654)) == SendRefused(NetworkError(987_654, "No"), reaction)
    wordless = parse_answer(status, b"<html>")
    assert wordless == SendRefused(NetworkError(status, f"The network answered HTTP {status}"), reaction)


@pytest.mark.parametrize("status", [502, 504])
def test_a_proxy_that_gave_up_leaves_the_outcome_open(status: int) -> None:
    assert isinstance(parse_answer(status, b"Bad gateway"), SendUnknown)


@pytest.mark.parametrize(
    ("data", "details"),
    [({"details": "Because"}, "Because"), ({}, None), ("Because", "Because"), (None, None), ({"details": None}, None)],
)
def test_details_are_kept_in_either_form(data: Any, details: str | None) -> None:
    assert parse_answer(400, no(131_026, error_data=data)) == SendRefused(
        NetworkError(131_026, "No", details, UNDELIVERABLE), ErrorReaction.FINAL
    )


@given(
    st.integers(100, 599),
    st.binary()
    | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(
        lambda value: msgspec.json.encode({"error": value, "messages": value})
    ),
)
def test_no_answer_breaks_the_reading(status: int, body: bytes) -> None:
    assert isinstance(parse_answer(status, body), SendAccepted | SendRefused | SendUnknown)


@for_each("status", [200, 400])
@for_each("body", [b"[" * 100_000, b'{"error":' * 50_000, b'{"error":{"code":1,"message":"\xff"}}'])
def test_a_malformed_answer_does_not_break_the_parser(status: int, body: bytes) -> None:
    assert isinstance(parse_answer(status, body), SendRefused | SendUnknown)


# -- over a socket ----------------------------------------------------------------------------------------------------


async def test_the_request_goes_to_the_number_with_its_token(receiver: Receiver) -> None:
    receiver.answer = Answer(200, body=b'{"messages":[{"id":"wamid.1"}]}')
    async with make_client(PATIENCE, PATIENCE) as client:
        receipt = await CloudNetwork(client, receiver.url + "/", "v25.0", "1000", "secret").send(outgoing())
    assert receipt == SendAccepted("wamid.1")
    (request,) = receiver.requests
    assert (request.method, request.path) == ("POST", "/v25.0/1000/messages")
    assert request.headers["authorization"] == "Bearer secret"
    assert request.headers["content-type"] == "application/json"
    assert request.json() == msgspec.json.decode(msgspec.json.encode(request_body(outgoing())))


async def test_what_has_no_form_here_is_refused_without_a_call(receiver: Receiver) -> None:
    async with make_client(PATIENCE, PATIENCE) as client:
        network = CloudNetwork(client, receiver.url, "v25.0", "1000", "secret")
        for odd in (outgoing(type="poll", content='{"poll":{}}'), outgoing(type="image", content="{}")):
            receipt = await network.send(odd)
            assert isinstance(receipt, SendRefused)
            assert receipt.reaction is ErrorReaction.FINAL
    assert receiver.requests == []


async def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.answer = Answer(307, {"location": receiver.url + "/elsewhere"})
    async with make_client(PATIENCE, PATIENCE) as client:
        receipt = await CloudNetwork(client, receiver.url, "v25.0", "1000", "secret").send(outgoing())
    assert isinstance(receipt, SendRefused)
    assert len(receiver.requests) == 1


async def test_an_answer_that_takes_too_long_is_unknown(receiver: Receiver) -> None:
    async def wait(_request: Received) -> Answer:
        return Answer(200, delay=5)

    receiver.answer = wait
    async with make_client(1, PATIENCE) as client:
        receipt = await CloudNetwork(client, receiver.url, "v25.0", "1000", "secret").send(outgoing())
    assert isinstance(receipt, SendUnknown)


async def test_nobody_there_is_unsent(unused_tcp_port: int) -> None:
    async with make_client(PATIENCE, PATIENCE) as client:
        url = f"http://127.0.0.1:{unused_tcp_port}"
        receipt = await CloudNetwork(client, url, "v25.0", "1000", "secret").send(outgoing())
    assert isinstance(receipt, SendNotMade)
