"""What is sent to the Cloud API, and what each of its answers means."""

import tomllib
from datetime import UTC, datetime
from importlib import resources
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model import ids
from gatepost.networks.base import NetworkError, Outgoing, Reaction, Refused, Sent, Unknown, Unsent
from gatepost.networks.cloud.callback_data import pack, unpack
from gatepost.networks.cloud.send import CloudNetwork, make_client, read_answer, request_body
from tests.conftest import Answer, Received, Receiver

ID = ids.derived_id(datetime(2026, 11, 15, tzinfo=UTC), "wamid")
TABLE = tomllib.loads(resources.files("gatepost.networks.cloud").joinpath("errors.toml").read_text())
ROWS = [(code, Reaction(name)) for name, row in TABLE.items() for code in row["codes"]]


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


def sent(message: Outgoing) -> Any:
    return msgspec.json.decode(msgspec.json.encode(request_body(message)))


# -- requests ---------------------------------------------------------------------------------------------------------


def test_a_text_has_the_form_of_the_cloud_api() -> None:
    assert sent(outgoing()) == {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": "+5511999998888",
        "type": "text",
        "text": {"body": "Hé"},
        "biz_opaque_callback_data": f"gp1:{ID.hex}:2",
    }


def test_an_answer_names_what_it_answers() -> None:
    assert sent(outgoing(reply_to="wamid.1"))["context"] == {"message_id": "wamid.1"}


# -- callback data ----------------------------------------------------------------------------------------------------


@given(st.uuids(), st.integers(0, 99_999))
def test_our_id_and_attempt_come_back(id_: Any, attempt: int) -> None:
    assert unpack(pack(id_, attempt)) == (id_, attempt)


@given(st.text() | st.text().map(lambda text: "gp1:" + text) | st.text().map(lambda text: f"gp1:{ID.hex}:{text}"))
def test_what_is_not_ours_is_nothing(text: str) -> None:
    found = unpack(text)
    assert found is None or text == pack(*found) or text.lower().startswith("gp1:")


@pytest.mark.parametrize("text", [None, "", "gp1:", f"gp1:{ID.hex}", f"gp1:{ID.hex}:", f"gp1:{ID.hex}:-1", "gp1:x:1"])
def test_half_of_ours_is_nothing(text: str | None) -> None:
    assert unpack(text) is None


# -- answers ----------------------------------------------------------------------------------------------------------


def test_taken() -> None:
    body = {"messaging_product": "whatsapp", "contacts": [], "messages": [{"id": "wamid.1", "message_status": "x"}]}
    assert read_answer(200, msgspec.json.encode(body)) == Sent("wamid.1")


@pytest.mark.parametrize(
    "body", [b"", b"ok", b"{}", b'{"messages":[]}', b'{"messages":[{}]}', b'{"messages":[{"id":1}]}']
)
@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_a_yes_without_an_id_is_no_guess(status: int, body: bytes) -> None:
    assert isinstance(read_answer(status, body), Unknown)


@pytest.mark.parametrize(("code", "reaction"), ROWS)
@pytest.mark.parametrize("status", [400, 429, 500])
def test_every_code_of_the_table_has_its_reaction_whatever_the_status(
    status: int, code: int, reaction: Reaction
) -> None:
    assert read_answer(status, no(code)) == Refused(NetworkError(code, "No"), reaction)


def test_the_table_names_no_code_twice_and_every_temporary_reaction() -> None:
    codes = [code for code, _ in ROWS]
    assert len(codes) == len(set(codes))
    assert set(TABLE) == {"hold_channel", "hold_recipient", "retry"}


@pytest.mark.parametrize(
    ("status", "reaction"),
    [
        (400, Reaction.FINAL),
        (401, Reaction.FINAL),
        (404, Reaction.FINAL),
        (429, Reaction.RETRY),
        (500, Reaction.RETRY),
        (503, Reaction.RETRY),
    ],
)
def test_an_unknown_code_follows_the_status(status: int, reaction: Reaction) -> None:
    assert read_answer(status, no(987_654)) == Refused(NetworkError(987_654, "No"), reaction)
    wordless = read_answer(status, b"<html>")
    assert wordless == Refused(NetworkError(status, f"The network answered HTTP {status}"), reaction)


@pytest.mark.parametrize("status", [502, 504])
def test_a_proxy_that_gave_up_leaves_the_outcome_open(status: int) -> None:
    assert isinstance(read_answer(status, b"Bad gateway"), Unknown)


@pytest.mark.parametrize(
    ("data", "details"),
    [({"details": "Because"}, "Because"), ({}, None), ("Because", "Because"), (None, None), ({"details": None}, None)],
)
def test_details_are_kept_in_either_form(data: Any, details: str | None) -> None:
    assert read_answer(400, no(131_026, error_data=data)) == Refused(
        NetworkError(131_026, "No", details), Reaction.FINAL
    )


@given(
    st.integers(100, 599),
    st.binary()
    | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(
        lambda value: msgspec.json.encode({"error": value, "messages": value})
    ),
)
def test_no_answer_breaks_the_reading(status: int, body: bytes) -> None:
    assert isinstance(read_answer(status, body), Sent | Refused | Unknown)


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"error":' * 50_000, b'{"error":{"code":1,"message":"\xff"}}'])
def test_a_wicked_answer_does_not_break_the_reading(status: int, body: bytes) -> None:
    assert isinstance(read_answer(status, body), Refused | Unknown)


# -- over a socket ----------------------------------------------------------------------------------------------------


async def test_the_request_goes_to_the_number_with_its_token(receiver: Receiver) -> None:
    receiver.answer = Answer(200, body=b'{"messages":[{"id":"wamid.1"}]}')
    async with make_client(5, 2) as client:
        receipt = await CloudNetwork(client, receiver.url + "/", "v25.0", "1000", "secret").send(outgoing())
    assert receipt == Sent("wamid.1")
    (request,) = receiver.requests
    assert (request.method, request.path) == ("POST", "/v25.0/1000/messages")
    assert request.headers["authorization"] == "Bearer secret"
    assert request.headers["content-type"] == "application/json"
    assert request.json() == sent(outgoing())


async def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.answer = Answer(307, {"location": receiver.url + "/elsewhere"})
    async with make_client(5, 2) as client:
        receipt = await CloudNetwork(client, receiver.url, "v25.0", "1000", "secret").send(outgoing())
    assert isinstance(receipt, Refused)
    assert len(receiver.requests) == 1


async def test_an_answer_that_takes_too_long_is_unknown(receiver: Receiver) -> None:
    async def wait(_request: Received) -> Answer:
        return Answer(200, delay=5)

    receiver.answer = wait
    async with make_client(0.2, 0.1) as client:
        receipt = await CloudNetwork(client, receiver.url, "v25.0", "1000", "secret").send(outgoing())
    assert isinstance(receipt, Unknown)


async def test_nobody_there_is_unsent(unused_tcp_port: int) -> None:
    async with make_client(2, 1) as client:
        url = f"http://127.0.0.1:{unused_tcp_port}"
        receipt = await CloudNetwork(client, url, "v25.0", "1000", "secret").send(outgoing())
    assert isinstance(receipt, Unsent)
