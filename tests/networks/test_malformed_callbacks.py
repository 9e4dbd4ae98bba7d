"""Callbacks that no network would send: nothing breaks the reading, and no good update is lost beside a bad one."""

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatepost.model.order import LINES_MAX
from gatepost.networks.base import BadCallback, Incoming, StatusUpdate, Update
from gatepost.networks.cloud.callback import PARTS_MAX, parse_updates
from gatepost.networks.cloud.incoming_content import _READERS
from gatepost.networks.cloud.json_values import DEEP, flatten
from gatepost.networks.cloud.messages import MESSAGE_MAX
from tests.for_each import for_each
from tests.networks.callbacks import NUMBER, OUR_PHONE, PERSON, WABA, callback, message, status, value

MODEST = settings(max_examples=60)
FILE = {"id": "900", "mime_type": "image/jpeg", "sha256": "0" * 64, "caption": "c", "filename": "f", "url": "https://x"}
LINE = {"product_retailer_id": "sku", "quantity": 1, "item_price": 7.99, "currency": "USD"}
PARTS: dict[str, Any] = {
    "text": {"body": "Oi"},
    **dict.fromkeys(("image", "video", "audio", "document", "sticker"), FILE),
    "location": {"latitude": 1.5, "longitude": 2.5, "name": "n"},
    "contacts": [{"name": {"formatted_name": "n"}, "phones": [{"phone": "1"}], "org": {"company": "c"}}],
    "reaction": {"message_id": "wamid.0", "emoji": "x"},
    "button": {"payload": "p", "text": "t"},
    "interactive": {"type": "nfm_reply", "nfm_reply": {"name": "flow", "body": "b", "response_json": '{"a":1}'}},
    "order": {"catalog_id": "7", "text": "t", "product_items": [LINE]},
    "system": {"type": "user_changed_number", "body": "b", "wa_id": "5511777776666"},
    "edit": {"original_message_id": "wamid.0", "message": {"type": "text", "text": {"body": "b"}}},
    "revoke": {"original_message_id": "wamid.0"},
    "unsupported": {"type": "poll"},
    "something_new": {"a": [1, {"b": None}]},
}
CONTEXT = {"id": "wamid.0", "forwarded": True, "referred_product": {"catalog_id": "7", "product_retailer_id": "s"}}
NEWS: dict[str, Any] = {
    "message_template_status_update": {
        "event": "PAUSED",
        "message_template_id": 1,
        "message_template_name": "n",
        "message_template_language": "en_US",
        "other_info": {"title": "FIRST_PAUSE"},
    },
    "template_category_update": {
        "message_template_id": 1,
        "message_template_name": "n",
        "new_category": "a",
        "correct_category": "b",
    },
    "phone_number_quality_update": {"display_phone_number": OUR_PHONE, "event": "UPGRADE", "current_limit": "TIER_2K"},
    "account_update": {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "DISABLE"}},
    "account_alerts": {"entity_type": "PHONE_NUMBER", "entity_id": NUMBER, "alert_info": {}},
    "user_preferences": value(user_preferences=[{"wa_id": PERSON, "value": "stop", "timestamp": 1}]),
    "smb_message_echoes": value(message_echoes=[message(to=PERSON)]),
}

odd_text = st.text(st.characters(), max_size=12) | st.sampled_from(["\x00", "\ud800", "\udc00x", "a\ud83d", "é\x00"])
odd_number = (
    st.integers(-(10**40), 10**40) | st.floats(allow_nan=False) | st.sampled_from([10**25, -(2**63) - 1, 2**64])
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | odd_number | odd_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(odd_text, inner, max_size=4),
    max_leaves=12,
)


def written(tree: Any) -> bytes:
    """JSON with everything in it that JSON allows: half surrogate pairs and NUL as escapes, infinity as 1e999."""
    return json.dumps(tree).replace("-Infinity", "-1e999").replace("Infinity", "1e999").encode()


def read(body: bytes) -> tuple[list[Update], int]:
    """Reads, and checks that everything found can be kept."""
    updates, unread = parse_updates(body, NUMBER, WABA, OUR_PHONE)
    for update in updates:
        check_keepable(update)
    return updates, unread


def check_keepable(update: Update) -> None:
    whole = msgspec.json.encode(update)
    assert rb"\u0000" not in whole.replace(rb"\\", b"")
    whole.decode()
    if isinstance(update, StatusUpdate | Incoming):
        assert 0 < len(update.network_id) <= 256
    if isinstance(update, Incoming):
        assert 0 < len(update.type) <= 64
        assert update.person.phone or update.person.user_id
        again = json.loads(update.content, parse_constant=pytest.fail)
        assert isinstance(again, dict)
        assert rb"\u0000" not in update.content.encode().replace(rb"\\", b"")
        assert "\\ud8" not in update.content.replace("\\\\", "")


def mutated(tree: Any, path: list[int], odd: Any) -> Any:
    """The tree with one of its places, found by following `path`, taken by something odd."""
    if not path or not isinstance(tree, dict | list) or not tree:
        return odd
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    chosen = keys[path[0] % len(keys)]
    copy: Any = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[chosen] = mutated(tree[chosen], path[1:], odd)
    return copy


paths = st.lists(st.integers(0, 20), min_size=1, max_size=6)


def test_every_type_with_a_reader_is_tried_here() -> None:
    assert set(_READERS) <= set(PARTS)


@MODEST
@given(st.binary(max_size=200) | json_values.map(written) | st.lists(json_values).map(lambda e: written({"entry": e})))
def test_nothing_breaks_the_parser(body: bytes) -> None:
    try:
        read(body)
    except BadCallback:
        return


@MODEST
@given(st.sampled_from(sorted(PARTS)), paths, json_values)
def test_a_malformed_message_loses_only_itself(type_: str, path: list[int], odd: Any) -> None:
    good = message(id="wamid.good")
    spoilt = mutated(message(type=type_, context=CONTEXT, referral={"a": "b"}, **{type_: PARTS[type_]}), path, odd)
    body = written(json.loads(callback(value(messages=["HERE", good], statuses=[status()]))))
    updates, unread = read(body.replace(b'"HERE"', written(spoilt)))
    assert "wamid.good" in [update.network_id for update in updates if isinstance(update, Incoming)]
    assert sum(isinstance(update, Incoming) for update in updates) + unread == 2
    assert any(isinstance(update, StatusUpdate) for update in updates)


@MODEST
@given(paths, json_values)
def test_a_malformed_status_loses_only_itself(path: list[int], odd: Any) -> None:
    errors = [{"code": 131026, "title": "t", "error_data": {"details": "d"}}]
    spoilt = mutated(status("failed", errors=errors, pricing={"a": "b"}, conversation={"origin": {}}), path, odd)
    body = callback(value(statuses=["HERE", status("read", id="wamid.good")]))
    updates, unread = read(body.replace(b'"HERE"', written(spoilt)))
    assert "wamid.good" in [update.network_id for update in updates if isinstance(update, StatusUpdate)]
    assert len(updates) + unread == 2


@MODEST
@given(st.sampled_from(sorted(NEWS)), paths, json_values)
def test_malformed_updates_lose_only_themselves(field: str, path: list[int], odd: Any) -> None:
    whole = json.loads(callback(value(statuses=[status()])))
    whole["entry"].append({"id": WABA, "changes": [{"field": field, "value": mutated(NEWS[field], path, odd)}]})
    updates, _ = read(written(whole))
    assert any(isinstance(update, StatusUpdate) for update in updates)


@MODEST
@given(paths, json_values)
def test_a_malformed_envelope_breaks_nothing(path: list[int], odd: Any) -> None:
    whole = json.loads(callback(value(contacts=[{"wa_id": PERSON}], messages=[message()], statuses=[status()])))
    try:
        read(written(mutated(whole, path, odd)))
    except BadCallback:
        return


@MODEST
@given(st.integers(0, 400), st.binary(min_size=1, max_size=6))
def test_changed_bytes_break_nothing(at: int, odd: bytes) -> None:
    body = callback(value(messages=[message()], statuses=[status()]))
    try:
        read(body[:at] + odd + body[at + len(odd) :])
    except BadCallback:
        return


def cut(tree: Any, deep: int) -> Any:
    """What flattening should come to."""
    if not isinstance(tree, dict | list):
        return tree
    if deep == 0:
        return None
    if isinstance(tree, dict):
        return {key: cut(inner, deep - 1) for key, inner in tree.items()}
    return [cut(inner, deep - 1) for inner in tree]


@for_each("seed", range(60))
def test_flattening_cuts_at_its_depth_and_nowhere_else(seed: int) -> None:
    chance = random.Random(seed)
    beside = [1, "]}", '"[{', None, "\\", "é[", [], {}, [[{}]], {"a]": [1]}]
    tree: Any = "]}"
    for _ in range(chance.randint(DEEP - 3, DEEP + 3)):
        one, two = chance.choice(beside), chance.choice(beside)
        tree = [one, tree, two] if chance.random() < 0.5 else {'"[{': one, "deep": tree, "\\": two}
    signs = chance.choice([(",", ":"), (", ", ": ")])
    assert json.loads(flatten(json.dumps(tree, separators=signs).encode())) == cut(tree, DEEP)


@pytest.mark.parametrize(
    "huge",
    [
        pytest.param(b'"' + b"x" * 10_000_000 + b'"', id="text"),
        pytest.param(b'"' + rb"\ud83d" * 1_600_000 + b'"', id="half-pairs"),
        pytest.param(b"[" * 5_000_000 + b"]" * 5_000_000, id="deep"),
        pytest.param(b"9" * 10_000_000, id="number"),
        pytest.param(b"[" + b"0," * 2_000_000 + b"0]", id="wide"),
    ],
)
def test_a_huge_message_costs_itself_at_most(huge: bytes) -> None:
    new = message(type="something_new", something_new={"n": "HERE"})
    body = callback(value(messages=[new, message(id="wamid.good")])).replace(b'"HERE"', huge)
    updates, _ = parse_updates(body, NUMBER)
    assert [update.network_id for update in updates if isinstance(update, Incoming)][-1] == "wamid.good"


@pytest.mark.parametrize("sign", [b"[", b"{", b'{"a":', b'"', b'[[[[["\\"'])
def test_ten_megabytes_of_nothing_are_refused(sign: bytes) -> None:
    with pytest.raises(BadCallback):
        parse_updates(sign * (10_000_000 // len(sign)), NUMBER)


# -- as much as there may be -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
@pytest.mark.parametrize("where", ["entries", "messages"])
def test_a_callback_has_so_many_parts_and_no_more(where: str, more: int, fits: bool) -> None:
    # Two parts around them: the object and the list; and each one but the first has a comma.
    if where == "entries":
        count = (PARTS_MAX - 1) // 2
        body = b'{"entry":[' + b",".join([b"{}"] * (count + more)) + b"]}"
    else:
        body = callback(value(messages=["HERE"]))
        around = sum(body.count(mark) for mark in (b",", b"[", b"{"))
        body = body.replace(b'"HERE"', b",".join([b"0"] * (PARTS_MAX - around + 1 + more)))
    if fits:
        parse_updates(body, NUMBER)
    else:
        with pytest.raises(BadCallback):
            parse_updates(body, NUMBER)


def test_what_texts_hold_is_no_part() -> None:
    body = callback(value(messages=[message(text={"body": '[{,"\\' * 13_000}) for _ in range(5)]))
    updates, unread = parse_updates(body, NUMBER)
    assert (len(updates), unread) == (5, 0)


@pytest.mark.parametrize(("length", "type_"), [(MESSAGE_MAX, "text"), (MESSAGE_MAX + 1, "unsupported")])
@pytest.mark.parametrize("list_", ["messages", "message_echoes"])
def test_of_a_message_that_is_too_large_its_head_is_kept(list_: str, length: int, type_: str) -> None:
    sent = message(text={"body": "HERE"}, to="5511999998888")
    short = len(msgspec.json.encode(sent)) - len("HERE")
    field = "messages" if list_ == "messages" else "smb_message_echoes"
    long = {**sent, "text": {"body": "x" * (length - short)}}
    parts: dict[str, Any] = {list_: [long]}
    (update,), unread = parse_updates(callback(value(**parts), field=field), NUMBER)
    assert unread == 0
    assert isinstance(update, Incoming)
    assert (update.type, update.network_id, update.person.phone) == (type_, sent["id"], "5511999998888")
    if type_ == "unsupported":
        about = msgspec.json.decode(update.content)["unsupported"]
        assert about == {"type": "text", "code": 0, "title": "The message is too large to be read"}


@pytest.mark.parametrize(("lines", "type_"), [(LINES_MAX, "order"), (LINES_MAX + 1, "unsupported")])
def test_an_order_has_so_many_lines_and_no_more(lines: int, type_: str) -> None:
    line = {"product_retailer_id": "a", "quantity": 1, "item_price": 1, "currency": "USD"}
    new = message(type="order", order={"catalog_id": "1", "product_items": [line] * lines})
    (update,), _ = parse_updates(callback(value(messages=[new])), NUMBER)
    assert isinstance(update, Incoming)
    assert update.type == type_
