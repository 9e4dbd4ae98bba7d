"""What the Cloud API posts to us: each update on its own, nothing believed unsigned, nothing that breaks us."""

import hashlib
import hmac
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model import ids
from gatepost.networks.base import Incoming, NetworkError, Status, Update
from gatepost.networks.cloud.callback import BadCallback, read_updates, signature_ok, token_ok
from gatepost.networks.cloud.callback_data import pack

NUMBER = "100000000000001"
AT = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
STAMP = str(int(AT.timestamp()))
ID = ids.derived_id(AT, "wamid")


def callback(*values: Any, field: str = "messages") -> bytes:
    changes = [{"field": field, "value": value} for value in values]
    return msgspec.json.encode(
        {"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [c]} for c in changes]}
    )


def value(number: str = NUMBER, **parts: Any) -> dict[str, Any]:
    metadata = {"display_phone_number": "15550001111", "phone_number_id": number}
    return {"messaging_product": "whatsapp", "metadata": metadata} | parts


def status(word: str = "delivered", **more: Any) -> dict[str, Any]:
    return {"id": "wamid.1", "status": word, "timestamp": STAMP, "recipient_id": "5511999998888"} | more


def message(**more: Any) -> dict[str, Any]:
    plain = {"from": "5511999998888", "id": "wamid.2", "timestamp": STAMP, "type": "text", "text": {"body": "Oi"}}
    return plain | more


def read(*values: Any) -> tuple[list[Update], int]:
    return read_updates(callback(*values), NUMBER)


# -- statuses ---------------------------------------------------------------------------------------------------------


def test_a_status_brings_back_our_own_id() -> None:
    (found,), unread = read(value(statuses=[status(biz_opaque_callback_data=pack(ID, 3))]))
    assert found == Status("wamid.1", "delivered", AT, ID, 3)
    assert unread == 0


def test_a_status_without_our_data_is_read_all_the_same() -> None:
    for data in ({}, {"biz_opaque_callback_data": None}, {"biz_opaque_callback_data": "somebody else's"}):
        assert read(value(statuses=[status(**data)]))[0] == [Status("wamid.1", "delivered", AT)]


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (
            {"code": 131026, "title": "Undeliverable", "error_data": {"details": "Why"}},
            NetworkError(131026, "Undeliverable", "Why"),
        ),
        ({"code": 131026, "message": "Undeliverable"}, NetworkError(131026, "Undeliverable")),
        ({"code": "x", "title": None, "error_data": "odd"}, NetworkError(0, "")),
        ({"title": "a\x00b"}, NetworkError(0, "a\ufffdb")),
        ({}, NetworkError(0, "")),
    ],
)
def test_a_failure_brings_its_reason(error: dict[str, Any], meaning: NetworkError) -> None:
    (found,), _ = read(value(statuses=[status("failed", errors=[error])]))
    assert isinstance(found, Status)
    assert found.error == meaning


# -- messages ---------------------------------------------------------------------------------------------------------


def test_a_text_with_the_name_of_its_writer() -> None:
    contacts = [{"wa_id": "5511999998888", "profile": {"name": "Ana"}}]
    (found,), unread = read(value(contacts=contacts, messages=[message(context={"id": "wamid.0"})]))
    assert found == Incoming("wamid.2", "5511999998888", "Ana", "text", '{"body": "Oi"}', AT, "wamid.0")
    assert unread == 0


@pytest.mark.parametrize("type_", ["image", "order", "interactive", "reaction", "unsupported", "something_new"])
def test_every_type_is_kept_whole_known_or_not(type_: str) -> None:
    content = {"anything": ["at", {"all": 1}]}
    (found,), _ = read(value(messages=[message(type=type_, **{type_: content})]))
    assert isinstance(found, Incoming)
    assert found.type == type_
    assert msgspec.json.decode(found.content) == content


def test_a_type_without_content_is_kept_too() -> None:
    (found,), _ = read(value(messages=[message(type="unsupported", errors=[{"code": 131051}])]))
    assert isinstance(found, Incoming)
    assert found.content == "{}"


def test_text_that_postgresql_cannot_keep_is_mended() -> None:
    odd = rb'{"from":"5511999998888","id":"w\u0000","timestamp":"1","type":"text","text":{"body":"\ud800 \u0000"}}'
    body = callback(value(messages=["HERE"])).replace(b'"HERE"', odd)
    (found,), unread = read_updates(body, NUMBER)
    assert isinstance(found, Incoming)
    assert (unread, found.network_id) == (0, "w\ufffd")
    assert "\x00" not in found.content
    found.content.encode()


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 5000])
def test_a_number_beyond_all_numbers_never_becomes_content_that_is_not_json(number: str) -> None:
    body = callback(value(messages=[message(text={"body": "HERE"}), message()])).replace(b'"HERE"', number.encode())
    updates, unread = read_updates(body, NUMBER)
    assert len(updates) + unread == 2
    for found in updates:
        assert isinstance(found, Incoming)
        msgspec.json.decode(found.content)


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
    status(status=None),
    status(errors="none"),
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
    message(timestamp="soon"),
    message(timestamp=[]),
    {key: v for key, v in message().items() if key != "type"},
]


@pytest.mark.parametrize("broken", BROKEN_STATUSES)
def test_a_broken_status_does_not_spoil_its_batch(broken: Any) -> None:
    updates, unread = read(value(statuses=[status(), broken, status("read")]), value(messages=[message()]))
    assert [type(update) for update in updates] == [Status, Status, Incoming]
    assert unread == 1


@pytest.mark.parametrize("broken", BROKEN_MESSAGES)
def test_a_broken_message_does_not_spoil_its_batch(broken: Any) -> None:
    updates, unread = read(value(messages=[message(), broken, message(id="wamid.3")], statuses=[status()]))
    assert [type(update) for update in updates] == [Status, Incoming, Incoming]
    assert unread == 1


@pytest.mark.parametrize("broken", [{}, None, {"wa_id": 5}, {"wa_id": "5511999998888", "profile": None}])
def test_a_broken_contact_costs_a_name_at_most(broken: Any) -> None:
    (found,), unread = read(value(contacts=[broken], messages=[message()]))
    assert isinstance(found, Incoming)
    assert (found.name, unread) == (None, 0)


def test_a_broken_value_counts_as_unread_and_the_others_are_read() -> None:
    assert read("odd", value(statuses=[status()]), value(statuses="odd"))[1] == 2
    assert len(read("odd", value(statuses=[status()]))[0]) == 1


def test_other_numbers_and_other_fields_are_none_of_ours() -> None:
    assert read(value("999", statuses=[status()])) == ([], 0)
    assert read_updates(callback(value(statuses=[status()]), field="account_update"), NUMBER) == ([], 0)
    assert read_updates(b'{"entry":[]}', NUMBER) == ([], 0)


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"{}", b'{"entry":5}', b"\xff", b"[" * 100_000, b'{"entry":NaN}']
)
def test_what_is_no_callback_is_refused(body: bytes) -> None:
    with pytest.raises(BadCallback):
        read_updates(body, NUMBER)


@pytest.mark.parametrize("place", [b"Ana", b"Oi", b"wamid.1", b"wamid.2", b"1555000", b"delivered", b"individual"])
@pytest.mark.parametrize("odd", [b"\xff", b"\xed\xa0\x80", rb"\ud83d"])
def test_bytes_that_are_no_text_cost_their_own_update_at_most(place: bytes, odd: bytes) -> None:
    contacts = [{"wa_id": "5511999998888", "profile": {"name": "Ana"}, "kind": "individual"}]
    whole = callback(
        value(contacts=contacts, messages=[message(), message(id="wamid.3")], statuses=[status(), status()])
    )
    try:
        updates, unread = read_updates(whole.replace(place, odd, 1), NUMBER)
    except BadCallback:
        assert odd != rb"\ud83d"
    else:
        assert len(updates) >= 3
        assert len(updates) + unread == 4


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
loose = st.builds(
    lambda statuses, messages, contacts: value(statuses=statuses, messages=messages, contacts=contacts),
    st.lists(json_values | json_values.map(lambda odd: status(errors=[odd], id=odd)), max_size=3),
    st.lists(
        json_values
        | json_values.map(lambda odd: message(context=odd, text=odd))
        | json_values.map(lambda odd: message(timestamp=odd, type=odd)),
        max_size=3,
    ),
    st.lists(json_values, max_size=2),
)


@given(
    st.binary()
    | json_values.map(msgspec.json.encode)
    | st.lists(loose | json_values, max_size=3).map(lambda values: callback(*values))
)
def test_nothing_breaks_the_reading(body: bytes) -> None:
    try:
        updates, _ = read_updates(body, NUMBER)
    except BadCallback:
        return
    for update in updates:
        assert "\x00" not in update.network_id
        update.network_id.encode()
        if isinstance(update, Incoming):
            msgspec.json.decode(update.content.encode(), type=msgspec.Raw)
            assert update.phone.isdigit()


# -- signatures -------------------------------------------------------------------------------------------------------


@given(st.binary(), st.text(st.characters(codec="utf-8"), min_size=1))
def test_only_the_hmac_of_these_very_bytes_is_believed(body: bytes, secret: str) -> None:
    header = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    assert signature_ok(secret, body, header)
    assert not signature_ok(secret, body + b" ", header)
    assert not signature_ok(secret + "x", body, header)
    assert not signature_ok(secret, body, header[:-1])


@pytest.mark.parametrize("header", [None, "", "sha256=", "sha1=abc", "sha256=\ud800", "sha256=é", "SHA256=" + "0" * 64])
def test_no_header_breaks_the_check(header: str | None) -> None:
    assert not signature_ok("secret", b"{}", header)


def test_the_handshake_knows_its_token() -> None:
    assert token_ok("verify", "verify")
    for wrong in (None, "", "Verify", "verify ", "\ud800"):
        assert not token_ok("verify", wrong)
