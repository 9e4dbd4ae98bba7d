"""A message's state only ever goes forward, and every rule about a send has an edge."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model import ids
from gatepost.model.errors import Invalid
from gatepost.model.message import (
    ACK,
    BODY_MAX,
    CLIENT_REF_MAX,
    SEND_AT_MAX,
    STATUS,
    State,
    check_send,
    may_follow,
    status_of,
)
from gatepost.model.send_request import TTL_MAX, SendRequest
from tests.for_each import for_each

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
ENDS = {State.FAILED, State.EXPIRED, State.CANCELED}
outgoing = st.sampled_from([state for state in State if state is not State.RECEIVED])
PUBLIC = ["PENDING", "SENT", "DELIVERED", "READ", "PLAYED"]


def follow(state: State, reports: list[State]) -> list[State]:
    """Every state that a message passes through under these reports, the first included."""
    passed = [state]
    for report in reports:
        if may_follow(passed[-1], report):
            passed.append(report)
    return passed


@given(st.lists(outgoing))
def test_any_reports_move_a_message_forward_only_and_an_end_is_final(reports: list[State]) -> None:
    passed = follow(State.QUEUED, reports)
    alive = [state for state in passed if state not in ENDS]
    assert alive == sorted(set(alive))
    assert ENDS.isdisjoint(passed[:-1])


@given(st.lists(outgoing))
def test_what_was_said_before_changes_nothing_when_said_again(reports: list[State]) -> None:
    final = follow(State.QUEUED, reports)[-1]
    assert follow(final, reports) == [final]


@given(st.lists(st.sampled_from([State.SENT, State.DELIVERED, State.READ, State.PLAYED]), min_size=1))
def test_the_order_of_statuses_does_not_matter(reports: list[State]) -> None:
    for order in (reports, reports[::-1], sorted(reports), sorted(reports, reverse=True), reports + reports):
        assert follow(State.SENDING, order)[-1] is max(reports)


def test_sent_and_failed_end_in_failed_in_any_order() -> None:
    for order in permutations([State.SENT, State.FAILED, State.FAILED]):
        assert follow(State.SENDING, list(order))[-1] is State.FAILED


@pytest.mark.parametrize("state", [State.DELIVERED, State.READ, State.PLAYED])
def test_what_has_arrived_cannot_fail(state: State) -> None:
    assert not may_follow(state, State.FAILED)


@pytest.mark.parametrize("end", [State.CANCELED, State.EXPIRED])
def test_only_what_waits_can_be_canceled_or_expire(end: State) -> None:
    assert [state for state in State if may_follow(state, end)] == [State.QUEUED]


@given(outgoing)
def test_an_incoming_message_never_changes(report: State) -> None:
    assert not may_follow(State.RECEIVED, report)


def test_every_state_has_its_word_and_its_number() -> None:
    assert set(STATUS) == set(State)
    assert set(ACK) == set(State) - {State.RECEIVED}
    assert [STATUS[state] for state in sorted(State) if 0 <= state <= 5] == ["PENDING", *PUBLIC]
    assert [ACK[state] for state in sorted(State) if state < 10] == [-1, -1, -1, 0, 0, 1, 2, 3, 4]


def test_a_message_is_scheduled_until_its_time() -> None:
    assert status_of(State.QUEUED, NOW + timedelta(microseconds=1), NOW) == "SCHEDULED"
    assert status_of(State.QUEUED, NOW, NOW) == "PENDING"
    assert status_of(State.QUEUED, None, NOW) == "PENDING"
    assert status_of(State.CANCELED, NOW + timedelta(days=1), NOW) == "CANCELED"


# -- the rules of a send ----------------------------------------------------------------------------------------------


def request(**fields: Any) -> SendRequest:
    return SendRequest(**{"phone": "5511999998888", "body": "Hello"} | fields)


def refusal(**fields: Any) -> Invalid:
    with pytest.raises(Invalid) as refused:
        check_send(request(**fields), NOW)
    assert len(refused.value.fields) == 1
    return refused.value


def test_two_fields_are_all_that_a_text_needs() -> None:
    message = check_send(request(), NOW)
    assert msgspec.json.decode(message.content) == {"body": "Hello"}
    assert (message.bulk, message.fail_unknown, message.send_at, message.reply_to, message.client_ref) == (
        False,
    ) * 2 + (None,) * 3
    assert message.expires_at(NOW) == NOW + timedelta(days=1)


def test_every_option_arrives_in_the_message() -> None:
    answered = ids.new_id(NOW)
    at = NOW + timedelta(hours=1)
    message = check_send(
        request(
            preview_url=True,
            reply_to=ids.message_id(answered),
            client_ref="order-1",
            send_at=at,
            ttl=60,
            priority="bulk",
            on_unknown="fail",
        ),
        NOW,
    )
    assert msgspec.json.decode(message.content) == {"body": "Hello", "preview_url": True}
    assert (message.bulk, message.fail_unknown, message.reply_to, message.client_ref) == (
        True,
        True,
        answered,
        "order-1",
    )
    assert (message.send_at, message.expires_at(NOW)) == (at, at + timedelta(seconds=60))


@for_each(
    ("at_the_edge", "beyond"),
    [
        ({"body": "x" * BODY_MAX}, {"body": "x" * (BODY_MAX + 1)}),
        ({"body": "😀" * BODY_MAX}, {"body": "😀" * (BODY_MAX + 1)}),
        ({"body": " x "}, {"body": " \t\n"}),
        ({"body": "x"}, {"body": ""}),
        ({"body": "x\x01"}, {"body": "x\x00"}),
        ({"body": "\ud7ff"}, {"body": "\ud800"}),
        ({"client_ref": "x" * CLIENT_REF_MAX}, {"client_ref": "x" * (CLIENT_REF_MAX + 1)}),
        ({"client_ref": "x"}, {"client_ref": ""}),
        ({"client_ref": "é"}, {"client_ref": "\udfff"}),
        ({"client_ref": "\x01"}, {"client_ref": "a\x00b"}),
        ({"ttl": 1}, {"ttl": 0}),
        ({"ttl": TTL_MAX}, {"ttl": TTL_MAX + 1}),
        ({"ttl": 1}, {"ttl": -(10**30)}),
        ({"send_at": NOW + SEND_AT_MAX}, {"send_at": NOW + SEND_AT_MAX + timedelta(microseconds=1)}),
        ({"send_at": NOW}, {"send_at": NOW.replace(tzinfo=None)}),
        ({"reply_to": "0" * 32}, {"reply_to": "0" * 31}),
        ({"reply_to": "a" * 32}, {"reply_to": "wamid.x"}),
    ],
)
def test_each_limit_holds_at_its_edge(at_the_edge: dict[str, Any], beyond: dict[str, Any]) -> None:
    check_send(request(**at_the_edge), NOW)
    refused = refusal(**beyond)
    (field,) = beyond
    assert (refused.code, refused.fields[0].field) == ("invalid_field", field)
    assert refused.message == f"{field}: {refused.fields[0].message}"


@pytest.mark.parametrize("ago", [timedelta(0), timedelta(microseconds=1), timedelta(days=400)])
def test_a_time_that_has_come_is_now(ago: timedelta) -> None:
    assert check_send(request(send_at=NOW - ago), NOW).send_at is None


zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(timezones=st.none() | zones))
def test_no_time_breaks_the_check(at: datetime) -> None:
    try:
        message = check_send(request(send_at=at), NOW)
    except Invalid:
        assert at.tzinfo is None or at > NOW + SEND_AT_MAX
    else:
        assert message.send_at is None or NOW < message.send_at <= NOW + SEND_AT_MAX


@given(st.text(), st.text())
def test_whatever_is_accepted_can_be_stored_and_comes_out_as_it_went_in(body: str, client_ref: str) -> None:
    try:
        message = check_send(request(body=body, client_ref=client_ref), NOW)
    except Invalid:
        return
    assert msgspec.json.decode(message.content)["body"] == body
    assert "\x00" not in message.content + (message.client_ref or "")
    assert message.client_ref == client_ref


def test_a_phone_is_checked_first() -> None:
    with pytest.raises(Invalid) as refused:
        check_send(request(phone="+55 11", body=""), NOW)
    assert refused.value.code == "invalid_phone"
    assert [problem.field for problem in refused.value.fields] == ["phone", "body"]
