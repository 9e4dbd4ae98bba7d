"""Every type that a person may send becomes a stored row and the right event, and a second report of it nothing."""

from typing import Any

import msgspec
import pytest

from gatepost.model import ids, times
from gatepost.model.message import State
from gatepost.networks.base import Incoming, RemoteMedia, StatusUpdate, Update
from gatepost.store.pool import Database
from tests.for_each import for_each
from tests.inbound.incoming_messages import (
    ANA,
    contact_of,
    contact_view,
    content_of,
    data,
    message_from,
    read_events,
    receive,
    row_of,
    snapshot,
)
from tests.outbound.stage import Stage, make_stage

PLAIN: dict[str, Any] = {
    "text": {"body": "Oi"},
    "location": {"location": {"latitude": 1.5, "longitude": -2.5, "name": "Home", "live": True}},
    "contacts": {"contacts": [{"name": {"formatted_name": "Bob"}, "phones": [{"phone": "49 151", "wa_id": "49151"}]}]},
    "button_reply": {"reply": {"id": "yes", "title": "Yes"}},
    "list_reply": {"reply": {"id": "r1", "title": "Row", "description": "One"}},
    "flow_reply": {"reply": {"name": "flow", "body": "Sent", "response": {"a": [1, 2]}}},
    "system": {"system": {"kind": "identity_changed", "body": "changed"}},
    "call": {"call": {"kind": "missed"}},
    "unsupported": {"unsupported": {"type": "x", "code": 131051, "title": "Unsupported"}},
    "buttons": {"body": "Choose", "buttons": [{"id": "a", "title": "A"}]},
    "of_the_future": {"anything": {"at": ["all"]}},
    "a_bare_list": [1, "two"],
}
NO_WINDOW = {"system", "call"}


@for_each("type_", PLAIN)
async def test_a_plain_message_is_stored_and_reported_as_it_came(db: Database, type_: str) -> None:
    stage = await make_stage(db)
    update = message_from(stage, ANA, type_, PLAIN[type_], context={"forwarded": True}, age=3)
    await receive(stage, update)
    row, contact = await row_of(stage, update), await contact_of(stage, ANA.phone or "")
    assert (row["type"], row["incoming"], row["state"], row["sent_at"]) == (type_, True, State.RECEIVED, update.at)
    assert (row["contact_id"], row["phone"]) == (contact["id"], ANA.phone)
    assert msgspec.json.decode(row["content"]) == PLAIN[type_]
    (event,) = await read_events(stage)
    assert (event["type"], event["action"]) == ("message_notification", "created")
    assert row["event_ids"] == [ids.parse_id("evt", event["id"])]
    assert event["data"] == {
        "key": {"remoteJid": f"{ANA.phone}@s.whatsapp.net", "fromMe": False, "id": ids.message_id(row["id"])},
        "direction": "in",
        "type": type_,
        "content": PLAIN[type_],
        "timestamp": times.format_time(update.at),
        "contact": contact_view(stage, contact),
        "conversation": {"id": ids.format_id("cv", contact["id"])},
        "context": {"forwarded": True},
    }
    (conversation,) = await stage.rows("conversations")
    assert conversation["last_in_at"] == (None if type_ in NO_WINDOW else update.at)


@pytest.mark.parametrize("type_", ["image", "video", "audio", "document", "sticker"])
async def test_a_file_waits_to_be_fetched_and_has_an_id_at_once(stage: Stage, type_: str) -> None:
    media = RemoteMedia("handle", "image/png", "ab" * 32, 1234, "a.png", "https://127.0.0.1/x")
    content = {"media": {"mime_type": "image/png", "sha256": "ab" * 32, "size": 1234}, "caption": "Look"}
    update = message_from(stage, ANA, type_, content, media=media)
    await receive(stage, update)
    (file,), row = await stage.rows("media"), await row_of(stage, update)
    assert (file["state"], file["mime_type"], file["size"]) == ("waiting", "image/png", 1234)
    assert (file["filename"], file["message_id"], file["next_at"]) == ("a.png", row["id"], stage.clock.now())
    assert msgspec.json.decode(file["source"], type=RemoteMedia) == media
    assert row["media_id"] == file["id"]
    wanted = {**content, "media": {"id": ids.format_id("med", file["id"]), **content["media"]}}  # type: ignore[dict-item]
    assert msgspec.json.decode(row["content"]) == wanted
    ((event),) = await data(stage)
    assert event["content"] == wanted


async def test_a_vote_names_our_poll(stage: Stage) -> None:
    poll = message_from(
        stage, ANA, "poll", {"poll": {"question": "?", "options": ["a", "b"], "multiple": False}}, from_me=True
    )
    vote = message_from(stage, ANA, "poll_vote", {"poll": {"options": ["a"]}}, target=poll.network_id)
    lost = message_from(stage, ANA, "poll_vote", {"poll": {"options": ["b"]}}, target="nobody's")
    await receive(stage, poll)
    await receive(stage, vote, lost)
    poll_id = ids.message_id((await row_of(stage, poll))["id"])
    assert await content_of(stage, vote) == {"poll": {"options": ["a"], "message_id": poll_id}}
    assert (await row_of(stage, vote))["target_id"] == (await row_of(stage, poll))["id"]
    assert await content_of(stage, lost) == {"poll": {"options": ["b"], "message_id": None}}


# -- again and again --------------------------------------------------------------------------------------------------


def one_of_each(stage: Stage) -> list[Incoming]:
    file = RemoteMedia("handle", "image/png")
    items = [{"retailer_id": "a", "quantity": 2, "price": "1.50", "currency": "EUR"}]
    first = message_from(stage, ANA)
    return [
        first,
        message_from(stage, ANA, "image", {"media": {}}, media=file),
        message_from(stage, ANA, "order", {"order": {"catalog_id": "c", "text": "", "items": items}}),
        message_from(stage, ANA, "reaction", {"reaction": {"emoji": "👍"}}, target=first.network_id),
        message_from(
            stage, ANA, "edit", {"edit": {"type": "text", "content": {"body": "Olá"}}}, target=first.network_id
        ),
        message_from(stage, ANA, "revoke", {}, target=first.network_id),
        message_from(stage, ANA, from_me=True),
        message_from(stage, ANA, age=9 * 86_400),
        message_from(stage, ANA, age=-3 * 3600),
    ]


async def test_what_comes_again_changes_nothing(stage: Stage) -> None:
    """In the same report, in the next one, one by one, backwards, and much later."""
    updates = one_of_each(stage)
    await receive(stage, *updates, *updates)
    before = await snapshot(stage)
    assert len(before["messages"]) == len(updates)
    await receive(stage, *reversed(updates))
    for update in updates:
        await receive(stage, update, update)
    stage.clock.advance(6 * 86_400)
    await receive(stage, *updates)
    assert await snapshot(stage) == before


async def test_one_message_of_a_future_that_has_come_is_still_one(stage: Stage) -> None:
    early = message_from(stage, ANA, age=-3 * 3600)
    await receive(stage, early)
    stage.clock.advance(4 * 3600)
    await receive(stage, early)
    assert len(await stage.rows("messages")) == 1


# -- the business's own phone -----------------------------------------------------------------------------------------


async def test_what_the_business_wrote_on_its_own_phone_is_an_outgoing_message_that_was_sent(stage: Stage) -> None:
    update = message_from(stage, ANA, content={"body": "From my phone"}, from_me=True)
    await receive(stage, update)
    row = await row_of(stage, update)
    assert (row["incoming"], row["state"], row["sent_at"]) == (False, State.SENT, update.at)
    (event,) = await data(stage)
    assert (event["direction"], event["status"], event["client_ref"]) == ("out", "SENT", None)
    assert event["key"]["fromMe"] is True
    (conversation,) = await stage.rows("conversations")
    assert (conversation["last_in_at"], conversation["opened_at"]) == (None, None)


async def test_an_echo_of_what_we_sent_is_not_doubled(stage: Stage) -> None:
    await stage.take_over()
    id_ = await stage.accept(ANA.phone or "")
    await stage.settle()
    network_id = (await stage.message(id_)).network_id
    before = await snapshot(stage)
    await receive(stage, message_from(stage, ANA, id=network_id, from_me=True))
    assert await snapshot(stage) == before


async def test_an_echo_that_is_faster_than_our_own_commit_is_known_by_our_id(stage: Stage) -> None:
    id_ = await stage.accept(ANA.phone or "")
    before = await snapshot(stage)
    await receive(stage, message_from(stage, ANA, id=ids.message_id(id_), from_me=True))
    assert await snapshot(stage) == before
    await receive(
        stage, message_from(stage, ANA, id="F" * 32, from_me=True), message_from(stage, ANA, id="0" * 32, from_me=True)
    )
    assert len(await stage.rows("messages")) == 3


@pytest.mark.parametrize("together", [True, False])
async def test_statuses_of_an_echo_find_it_even_when_they_come_first(stage: Stage, together: bool) -> None:
    echo = message_from(stage, ANA, from_me=True)
    pricing = {"category": "service"}
    statuses: list[Update] = [
        StatusUpdate(echo.network_id, "read", stage.clock.now(), pricing=pricing),
        StatusUpdate(echo.network_id, "delivered", stage.clock.now()),
    ]
    if together:
        await receive(stage, *statuses, echo)
    else:
        for update in (*statuses, echo):
            await receive(stage, update)
    row = await row_of(stage, echo)
    assert row["state"] == State.READ
    assert msgspec.json.decode(row["pricing"]) == pricing
    assert [e["status"] for e in await data(stage, "ack")][-1] == "READ"
    assert await stage.rows("parked_statuses") == []
