"""What the Cloud API posts to us: each update on its own, nothing believed unsigned, nothing that breaks us."""

import hashlib
import hmac
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model import ids
from gatepost.model.errors import NotAuthenticated
from gatepost.networks.base import (
    BadCallback,
    ContactUpdate,
    ErrorReaction,
    Incoming,
    NetworkError,
    Person,
    StatusUpdate,
)
from gatepost.networks.cloud.callback import CloudCallbackReader, parse_updates
from gatepost.networks.cloud.callback_data import pack
from gatepost.networks.cloud.errors import with_advice
from tests.for_each import for_each
from tests.networks.callbacks import AT, NUMBER, OUR_PHONE, PERSON, WABA, callback, message, read, said, status, value

ID = ids.derived_id(AT, "wamid")
PRICING = {"billable": True, "pricing_model": "PMP", "type": "regular", "category": "utility"}
CONVERSATION = {"id": "c1", "expiration_timestamp": "1", "origin": {"type": "utility"}}


# -- statuses ---------------------------------------------------------------------------------------------------------


def test_a_status_brings_back_our_own_id() -> None:
    (found,), unread = read(value(statuses=[status(biz_opaque_callback_data=pack(ID, 3))]))
    assert found == StatusUpdate("wamid.1", "delivered", AT, ID, 3)
    assert unread == 0


def test_a_status_without_our_data_is_read_all_the_same() -> None:
    for data in ({}, {"biz_opaque_callback_data": None}, {"biz_opaque_callback_data": "somebody else's"}):
        assert read(value(statuses=[status(**data)]))[0] == [StatusUpdate("wamid.1", "delivered", AT)]


def test_a_status_brings_its_price_and_conversation() -> None:
    (found,), _ = read(value(statuses=[status(pricing=PRICING, conversation=CONVERSATION)]))
    assert found == StatusUpdate("wamid.1", "delivered", AT, pricing=PRICING, conversation=CONVERSATION)


@pytest.mark.parametrize("stamp", [int(AT.timestamp()), str(int(AT.timestamp()))])
def test_a_time_may_be_text_or_number(stamp: Any) -> None:
    assert read(value(statuses=[status(timestamp=stamp)]))[0] == [StatusUpdate("wamid.1", "delivered", AT)]


@for_each("odd", [5, "odd", [], [5], None, True, {}])
def test_odd_extras_cost_only_themselves(odd: Any) -> None:
    (found,), unread = read(value(statuses=[status(pricing=odd, conversation=odd, errors=odd)]))
    assert isinstance(found, StatusUpdate)
    assert (found.error, unread) == (None, 0)


@for_each(
    ("error", "meaning"),
    [
        (
            {"code": 131026, "title": "Undeliverable", "error_data": {"details": "Why"}},
            with_advice(131026, "Undeliverable", "Why"),
        ),
        ({"code": 131026, "message": "Undeliverable"}, with_advice(131026, "Undeliverable", None)),
        ({"code": 999_999, "title": "New"}, NetworkError(999_999, "New")),
        ({"code": "x", "title": None, "error_data": "odd"}, NetworkError(0, "")),
        ({"code": 2**31, "title": "x"}, NetworkError(0, "x")),
        ({"title": "a\x00b"}, NetworkError(0, "a\ufffdb")),
        ({"title": ""}, NetworkError(0, "")),
    ],
)
def test_a_failure_brings_its_reason_and_our_advice(error: dict[str, Any], meaning: NetworkError) -> None:
    (found,), _ = read(value(statuses=[status("failed", errors=[error])]))
    assert isinstance(found, StatusUpdate)
    assert found.error == meaning


@pytest.mark.parametrize(
    ("word", "code", "reaction"),
    [
        ("failed", 131042, ErrorReaction.BREAK),
        ("failed", 131026, ErrorReaction.FINAL),
        ("failed", 131000, ErrorReaction.RETRY),
        ("failed", 999_999, None),
        ("delivered", 131042, None),
    ],
)
def test_a_failure_says_what_its_code_requires(word: str, code: int, reaction: ErrorReaction | None) -> None:
    (found,), _ = read(value(statuses=[status(word, errors=[{"code": code, "title": "t"}])]))
    assert isinstance(found, StatusUpdate)
    assert found.reaction is reaction


def test_the_advice_of_a_failure_promises_no_other_try() -> None:
    (found,), _ = read(value(statuses=[status("failed", errors=[{"code": 131000, "title": "t"}])]))
    assert isinstance(found, StatusUpdate)
    assert found.error is not None
    assert found.error.advice == "The network had an internal error. Send the message again later."


# -- people -----------------------------------------------------------------------------------------------------------


def test_a_text_with_the_names_of_its_writer() -> None:
    contacts = [{"wa_id": PERSON, "user_id": "BR.1", "profile": {"name": "Ana", "username": "ana.lima"}}]
    (found,), unread = read(value(contacts=contacts, messages=[message(context={"id": "wamid.0"})]))
    person = Person(PERSON, user_id="BR.1", name="Ana", username="ana.lima")
    assert found == Incoming("wamid.2", person, "text", '{"body":"Oi"}', AT, "wamid.0")
    assert unread == 0


@pytest.mark.parametrize("absent", [{"from": ""}, {"from": None}])
def test_somebody_without_a_number_is_known_by_their_user_id(absent: dict[str, Any]) -> None:
    contacts = [{"wa_id": "", "user_id": "BR.1", "profile": {"name": "Ana"}}, {"wa_id": "", "user_id": "BR.2"}]
    (found,), _ = read(value(contacts=contacts, messages=[message(from_user_id="BR.1", **absent)]))
    assert isinstance(found, Incoming)
    assert found.person == Person(user_id="BR.1", name="Ana")
    (alone,), _ = read(value(contacts=contacts[:1], messages=[message(**absent)]))
    assert isinstance(alone, Incoming)
    assert alone.person == Person(user_id="BR.1", name="Ana")
    assert read(value(contacts=contacts, messages=[message(**absent)])) == ([], 1)


@pytest.mark.parametrize("length", [256, 257])
def test_names_are_cut_and_ids_are_not(length: int) -> None:
    contacts = [{"wa_id": PERSON, "user_id": "u" * length, "profile": {"name": "n" * length}}]
    (found,), _ = read(value(contacts=contacts, messages=[message()]))
    assert isinstance(found, Incoming)
    assert found.person == Person(PERSON, user_id="u" * 256 if length == 256 else None, name="n" * 256)


@pytest.mark.parametrize("broken", [{}, None, {"wa_id": 5}, {"wa_id": PERSON, "profile": None}, {"user_id": []}])
def test_a_broken_contact_costs_a_name_at_most(broken: Any) -> None:
    (found,), unread = read(value(contacts=[broken], messages=[message()]))
    assert isinstance(found, Incoming)
    assert (found.person, unread) == (Person(PERSON), 0)


@pytest.mark.parametrize("odd", [5, "odd", None, {"wa_id": PERSON}])
def test_contacts_that_are_no_list_cost_the_names(odd: Any) -> None:
    assert len(read(value(contacts=odd, messages=[message()]))[0]) == 1


def test_an_echo_is_from_us_and_to_a_person() -> None:
    echo = message(**{"from": "15550001111", "to": PERSON})
    body = callback(value(message_echoes=[echo, {}]), field="smb_message_echoes")
    (found,), unread = parse_updates(body, NUMBER)
    assert isinstance(found, Incoming)
    assert (found.from_me, found.person, unread) == (True, Person(PERSON), 1)


# -- text that cannot be kept -----------------------------------------------------------------------------------------


def test_text_that_postgresql_cannot_store_is_cleaned() -> None:
    odd = (
        rb'{"from":"5511999998888","id":"w\u0000","timestamp":"1","type":"text",'
        rb'"text":{"body":"\ud800 \u0000 \ud83d\ude00 \\u0000 \udc00\ud83d"}}'
    )
    body = callback(value(messages=["HERE"])).replace(b'"HERE"', odd)
    (found,), unread = parse_updates(body, NUMBER)
    assert isinstance(found, Incoming)
    assert (unread, found.network_id) == (0, "w\ufffd")
    assert said(found) == {"body": "\ufffd \ufffd \U0001f600 \\u0000 \ufffd\ufffd"}


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 5000])
def test_a_number_beyond_all_numbers_spoils_nothing(number: str) -> None:
    new = message(type="new", new={"n": "HERE"}, id="wamid.9")
    values = value(messages=[new, message()], statuses=[status(pricing={"n": "HERE"})])
    updates, unread = parse_updates(callback(values).replace(b'"HERE"', number.encode()), NUMBER)
    assert (len(updates), unread) == (3, 0)
    assert isinstance(updates[1], Incoming)
    assert said(updates[1]) == {"n": number}


@for_each("deep", [63, 64, 65, 500, 2000, 50_000])
def test_what_nests_too_deep_is_cut_and_the_rest_is_read(deep: int) -> None:
    new = message(type="new", new={"n": "HERE", "m": "]}"}, id="wamid.9")
    values = value(messages=[new, message()], statuses=[status(pricing={"n": "HERE"})])
    body = callback(values).replace(b'"HERE"', b"[" * deep + b"]" * deep)
    updates, unread = parse_updates(body, NUMBER)
    assert (len(updates), unread) == (3, 0)
    assert isinstance(updates[1], Incoming)
    assert said(updates[1])["m"] == "]}"
    assert said(updates[1])["n"] is not None


# -- news of names ----------------------------------------------------------------------------------------------------


def test_a_changed_number_is_a_message_and_an_update() -> None:
    system = {"type": "user_changed_number", "body": "Ana changed", "wa_id": "5511777776666", "user_id": "BR.2"}
    (found, seen), _ = read(value(messages=[message(type="system", system=system)]))
    assert isinstance(found, Incoming)
    assert found.person == Person(PERSON)
    kind = {"kind": "number_changed", "body": "Ana changed", "phone": "5511777776666", "user_id": "BR.2"}
    assert said(found) == {"system": kind}
    assert seen == ContactUpdate(Person("5511777776666", user_id="BR.2"), AT, old_phone=PERSON)


def test_a_changed_user_id_is_an_update_of_the_same_person() -> None:
    system = {"type": "user_changed_user_id", "body": "Ana changed", "user_id": "BR.2"}
    (found, seen), _ = read(value(messages=[message(type="system", system=system, from_user_id="BR.1")]))
    assert isinstance(found, Incoming)
    assert said(found)["system"]["kind"] == "user_id_changed"
    assert seen == ContactUpdate(Person(PERSON, user_id="BR.2"), AT)
    hidden = message(type="system", system=system, from_user_id="BR.1") | {"from": ""}
    (_, seen), _ = read(value(messages=[hidden]))
    assert seen == ContactUpdate(Person(user_id="BR.2"), AT, old_user_id="BR.1")


@pytest.mark.parametrize("kind", ["customer_identity_changed", "something_new"])
@pytest.mark.parametrize("identity", [{"hash": "h"}, "h"])
@pytest.mark.parametrize("beside", [True, False])
def test_other_system_messages_change_no_names(kind: str, identity: Any, beside: bool) -> None:
    """The new identity is beside the system object, or in it; older versions of the API have only its hash."""
    system = {"type": kind, "body": "x", "wa_id": "5511777776666"}
    where = {"identity": identity, "system": system} if beside else {"system": {**system, "identity": identity}}
    (found,), _ = read(value(messages=[message(type="system", **where)]))
    assert isinstance(found, Incoming)
    assert said(found)["system"]["identity"] == {"hash": "h"}


# -- what makes no sense ----------------------------------------------------------------------------------------------

BROKEN_STATUSES: list[Any] = [
    {},
    None,
    [],
    status(timestamp="soon"),
    status(timestamp="9" * 30),
    status(timestamp="-1"),
    status(timestamp=None),
    status(id=None),
    status(id=5),
    status(id=""),
    status(id="w" * 257),
    status(status=None),
]
BROKEN_MESSAGES: list[Any] = [
    {},
    None,
    [],
    "text",
    message(**{"from": None}),
    message(**{"from": "+55 11"}),
    message(**{"from": ["5511999998888"]}),
    message(**{"from": "1" * 21}),
    message(id=None),
    message(id=""),
    message(id="w" * 257),
    message(type=""),
    message(type=5),
    message(timestamp="soon"),
    message(timestamp=[]),
    {key: v for key, v in message().items() if key != "type"},
]


@for_each("broken", BROKEN_STATUSES)
def test_a_broken_status_does_not_spoil_its_batch(broken: Any) -> None:
    updates, unread = read(value(statuses=[status(), broken, status("read")]), value(messages=[message()]))
    assert [type(update) for update in updates] == [StatusUpdate, StatusUpdate, Incoming]
    assert unread == 1


@for_each("broken", BROKEN_MESSAGES)
def test_a_broken_message_does_not_spoil_its_batch(broken: Any) -> None:
    updates, unread = read(value(messages=[message(), broken, message(id="wamid.3")], statuses=[status()]))
    assert [type(update) for update in updates] == [StatusUpdate, Incoming, Incoming]
    assert unread == 1


def test_ids_as_long_as_they_may_be_are_read() -> None:
    assert len(read(value(statuses=[status(id="w" * 256)], messages=[message(id="w" * 256)]))[0]) == 2


def test_a_broken_value_counts_as_unread_and_the_others_are_read() -> None:
    updates, unread = read("odd", value(statuses=[status()]), value(statuses="odd", messages=[message()]), None)
    assert [type(update) for update in updates] == [StatusUpdate, Incoming]
    assert unread == 3


@pytest.mark.parametrize("odd", [5, None, [], {"changes": 5}, {"changes": [5, {"field": []}]}])
def test_a_broken_entry_does_not_spoil_the_others(odd: Any) -> None:
    whole = msgspec.json.decode(callback(value(statuses=[status()]), value(messages=[message()])))
    whole["entry"].insert(1, odd)
    updates, unread = parse_updates(msgspec.json.encode(whole), NUMBER)
    assert [type(update) for update in updates] == [StatusUpdate, Incoming]
    assert unread == (2 if isinstance(odd, dict) and isinstance(odd["changes"], list) else 1)


def test_other_numbers_are_none_of_ours_and_unknown_fields_are_counted() -> None:
    assert read(value("999", statuses=[status()], messages=[message()])) == ([], 0)
    assert parse_updates(callback(value(), field="something_new"), NUMBER) == ([], 1)
    assert parse_updates(b'{"entry":[]}', NUMBER) == ([], 0)


@for_each("body", [b"", b"null", b"[]", b"{}", b'{"entry":5}', b"\xff", b"[" * 100_000, b'{"entry":NaN}'])
def test_what_is_no_callback_is_refused(body: bytes) -> None:
    with pytest.raises(BadCallback):
        parse_updates(body, NUMBER)


@for_each("place", [b"Ana", b"Oi", b"wamid.1", b"wamid.2", b"1555000", b"delivered", b"individual"])
@for_each("odd", [b"\xff", b"\xed\xa0\x80", rb"\ud83d", rb"\u0000"])
def test_bytes_that_are_no_text_cost_nothing(place: bytes, odd: bytes) -> None:
    contacts = [{"wa_id": PERSON, "profile": {"name": "Ana"}, "kind": "individual"}]
    whole = callback(
        value(contacts=contacts, messages=[message(), message(id="wamid.3")], statuses=[status(), status()])
    )
    updates, unread = parse_updates(whole.replace(place, odd, 1), NUMBER)
    assert (len(updates), unread) == (4, 0)


# -- signatures -------------------------------------------------------------------------------------------------------


def reader(secret: str = "secret") -> CloudCallbackReader:
    return CloudCallbackReader(NUMBER, WABA, OUR_PHONE, secret, "verify")


def is_signed(secret: str, body: bytes, header: str | None) -> bool:
    """Return whether the reader accepts the signature."""
    headers = {} if header is None else {b"x-hub-signature-256": header}
    try:
        reader(secret).check_signature(headers, body)
    except NotAuthenticated:
        return False
    return True


@given(st.binary(), st.text(st.characters(codec="utf-8"), min_size=1))
def test_only_the_hmac_of_these_very_bytes_is_believed(body: bytes, secret: str) -> None:
    header = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    assert is_signed(secret, body, header)
    assert not is_signed(secret, body + b" ", header)
    assert not is_signed(secret + "x", body, header)
    assert not is_signed(secret, body, header[:-1])


@for_each("header", [None, "", "sha256=", "sha1=abc", "sha256=\ud800", "sha256=é", "SHA256=" + "0" * 64])
def test_no_header_breaks_the_check(header: str | None) -> None:
    assert not is_signed("secret", b"{}", header)
    with pytest.raises(NotAuthenticated):
        reader().check_headers({} if header is None else {b"x-hub-signature-256": header})


def test_the_handshake_knows_its_token() -> None:
    query = {"hub.mode": "subscribe", "hub.challenge": "42"}
    assert reader().answer_handshake({**query, "hub.verify_token": "verify"}) == "42"
    for wrong in ("", "Verify", "verify ", "\ud800"):
        with pytest.raises(NotAuthenticated):
            reader().answer_handshake({**query, "hub.verify_token": wrong})
    with pytest.raises(NotAuthenticated):
        reader().answer_handshake(query)
