"""What a person does with a number besides writing, on both networks."""

import json
from typing import Any

import pytest

from gatepost_sandbox.control.chats import SMALL
from tests.for_each import for_each
from tests.sandbox.driver import NUMBER, Driver, Receiver
from tests.sandbox.incoming import news
from tests.sandbox.messages.payloads import envelope
from tests.sandbox.templates import approved, body, draft

from .phone import ANA, PersonPhone, open_feed

NEW = "5511999997777"


@pytest.fixture
def ana(sandbox: Driver) -> PersonPhone:
    return PersonPhone(sandbox)


async def reads(sandbox: Driver, how: str, **more: Any) -> None:
    await sandbox.control("PUT", f"people/{ANA}", {"name": "Ana", "reads": how, **more})


# -- reading -----------------------------------------------------------------------------------------------------------


async def test_a_person_who_reads_when_open(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    await reads(sandbox, "when_open", character="in_chat")
    wamid = (await sandbox.text(ANA)).wamid
    await sandbox.advance(3600)
    assert receiver.labels() == ["sent", "delivered"]
    assert (await ana.chat())["unread"] == 1
    chat = await ana.act("read")
    assert (chat["unread"], chat["last"]["status"]) == (0, "read")
    await sandbox.advance(3600)
    assert receiver.labels() == ["sent", "delivered", "read"]
    assert receiver.updates()[-1]["id"] == wamid
    await ana.act("read")
    await sandbox.advance(1)
    assert len(receiver.bodies) == 3


async def test_a_person_who_never_reads(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    await reads(sandbox, "never")
    await sandbox.text(ANA)
    await sandbox.advance(3600)
    chat = await ana.act("read")
    assert (chat["unread"], chat["last"]["status"]) == (0, "delivered")
    await sandbox.advance(3600)
    assert receiver.labels() == ["sent", "delivered"]


async def test_a_silent_person_opens_a_chat_without_a_receipt(
    sandbox: Driver, receiver: Receiver, ana: PersonPhone
) -> None:
    await reads(sandbox, "automatic", character="silent")
    await sandbox.text(ANA)
    await sandbox.advance(3600)
    assert (await ana.act("read"))["unread"] == 0
    await sandbox.advance(1)
    assert receiver.labels() == ["sent", "delivered"]


async def test_a_chat_that_is_opened_early_is_read_once(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    await sandbox.text(ANA)
    await sandbox.advance(0.45)
    assert (await ana.act("read"))["last"]["status"] == "read"
    await sandbox.advance(3600)
    assert receiver.labels() == ["sent", "delivered", "read"]


async def test_a_message_that_has_not_arrived_stays_unread(sandbox: Driver, ana: PersonPhone) -> None:
    await reads(sandbox, "when_open")
    await sandbox.text(ANA)
    await ana.act("read")
    await sandbox.advance(1)
    assert (await ana.chat())["unread"] == 1


async def test_a_changed_setting_applies_to_messages_in_flight(
    sandbox: Driver, receiver: Receiver, ana: PersonPhone
) -> None:
    await sandbox.text(ANA)
    await reads(sandbox, "when_open")
    await sandbox.advance(60)
    assert receiver.labels() == ["sent", "delivered"]
    await ana.act("read")
    await sandbox.advance(0)
    assert receiver.labels() == ["sent", "delivered", "read"]


VOICE = {"link": "https://127.0.0.1/a.ogg", "voice": True}


async def play(ana: PersonPhone, message: str) -> Any:
    return await ana.act("played", {"message": message})


async def test_a_voice_message_is_played_when_the_person_plays_it(
    sandbox: Driver, receiver: Receiver, ana: PersonPhone
) -> None:
    await reads(sandbox, "when_open")
    wamid = (await sandbox.post(envelope("audio", VOICE))).wamid
    await sandbox.advance(60)
    await ana.act("read")
    await sandbox.advance(60)
    assert receiver.labels() == ["sent", "delivered", "read"]  # an open chat plays nothing
    for _ in range(2):
        assert (await play(ana, wamid))["last"]["status"] == "played"
        await sandbox.advance(1)
    assert receiver.labels() == ["sent", "delivered", "read", "played"]


async def test_a_voice_message_that_is_played_was_read(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    wamid = (await sandbox.post(envelope("audio", VOICE))).wamid
    await sandbox.advance(0.45)
    await play(ana, wamid)
    await sandbox.advance(60)
    assert receiver.labels() == ["sent", "delivered", "read", "played"]


async def test_a_person_without_read_receipts_plays(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    await reads(sandbox, "never")
    wamid = (await sandbox.post(envelope("audio", VOICE))).wamid
    await sandbox.advance(60)
    await play(ana, wamid)
    await sandbox.advance(60)
    assert receiver.labels() == ["sent", "delivered", "played"]


async def test_what_is_no_voice_message_cannot_be_played(sandbox: Driver, ana: PersonPhone) -> None:
    audio = (await sandbox.post(envelope("audio", {"link": "https://127.0.0.1/a.ogg"}))).wamid
    text = (await sandbox.text(ANA)).wamid
    own = await ana.send("media", kind="audio", data="T2dnUw==", mime_type="audio/ogg", voice=True)
    await sandbox.advance(1)
    for message in (audio, text, own["id"], "nonsense"):
        assert (await sandbox.call("POST", f"/control/{ana.path}/played", {"message": message})).status == 409


# -- offline -----------------------------------------------------------------------------------------------------------


async def test_a_phone_that_is_offline_for_a_minute(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    script = [{"text": "here again"}]
    await sandbox.control("PUT", f"people/{ANA}", {"name": "Ana", "replies": script})
    state = await sandbox.control("POST", f"people/{ANA}/offline", {"seconds": 60})
    assert state == {"phone": ANA, "offline": True, "offline_until": 1_700_000_060}
    await sandbox.text(ANA)
    await sandbox.advance(59)
    assert (receiver.labels(), (await ana.last())["status"], (await ana.chat())["unread"]) == (["sent"], "sent", 0)
    assert (await ana.try_send("text", text="x")).status == 409
    await sandbox.advance(60)
    assert receiver.labels() == ["sent", "delivered", "read", "text"]
    assert [message["view"]["text"] for message in await ana.messages()] == ["hello", "here again"]
    assert not (await sandbox.control("GET", f"people/{ANA}"))["offline"]


async def test_a_phone_that_is_offline_until_it_is_ended(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    state = await sandbox.control("POST", f"people/{ANA}/offline", {"seconds": None})
    assert (state["offline"], state["offline_until"]) == (True, None)
    await sandbox.text(ANA)
    await sandbox.advance(86_400)
    assert receiver.labels() == ["sent"]
    assert not (await sandbox.control("POST", f"people/{ANA}/offline", {"seconds": 0}))["offline"]
    await sandbox.advance(5)
    assert receiver.labels() == ["sent", "delivered", "read"]


async def test_a_later_end_replaces_an_earlier_one(sandbox: Driver, receiver: Receiver) -> None:
    for seconds in (10, 100):
        await sandbox.control("POST", f"people/{ANA}/offline", {"seconds": seconds})
    await sandbox.text(ANA)
    await sandbox.advance(50)
    assert receiver.labels() == ["sent"]
    await sandbox.advance(60)
    assert receiver.labels() == ["sent", "delivered", "read"]


async def test_a_reaction_waits_for_the_phone(sandbox: Driver, ana: PersonPhone) -> None:
    said = await ana.send("text", text="hi")
    await sandbox.control("POST", f"people/{ANA}/offline", {"seconds": 60})
    await sandbox.post(envelope("reaction", {"message_id": said["id"], "emoji": "🎉"}))
    await sandbox.advance(30)
    assert (await ana.last())["reactions"] == []
    await sandbox.advance(60)
    assert (await ana.last())["reactions"] == [{"from": "business", "emoji": "🎉"}]


async def test_a_chat_that_is_opened_offline_is_reported_later(
    sandbox: Driver, receiver: Receiver, ana: PersonPhone
) -> None:
    await reads(sandbox, "when_open")
    await sandbox.text(ANA)
    await sandbox.advance(5)
    await sandbox.control("POST", f"people/{ANA}/offline", {"seconds": 60})
    chat = await ana.act("read")
    assert (chat["unread"], chat["last"]["status"]) == (0, "delivered")
    await sandbox.advance(59)
    assert receiver.labels() == ["sent", "delivered"]
    await sandbox.advance(2)
    assert receiver.labels() == ["sent", "delivered", "read"]


@for_each("seconds", [-1, 366 * 86_400 + 1, "soon", True])
async def test_a_bad_time_is_refused(sandbox: Driver, seconds: Any) -> None:
    assert (await sandbox.call("POST", f"/control/people/{ANA}/offline", {"seconds": seconds})).status == 400


async def test_a_profile_can_be_sent_back_as_it_was_shown(sandbox: Driver) -> None:
    await reads(sandbox, "never")
    await sandbox.control("POST", f"people/{ANA}/offline", {"seconds": 60})
    shown = await sandbox.control("GET", f"people/{ANA}")
    assert shown["reads"] == "never"
    assert await sandbox.control("PUT", f"people/{ANA}", shown) == shown
    assert await sandbox.control("GET", "people") == [shown]


# -- blocking, reports, marketing --------------------------------------------------------------------------------------


async def test_a_blocked_number_cannot_reach_the_person(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    await sandbox.register(None, phone_number_id="1234567", phone="15550009999", token="other")
    assert (await ana.act("block", {"blocked": True}))["blocked"]
    await sandbox.text(ANA)
    await sandbox.post({**envelope("text", {"body": "other"})}, number="1234567", token="other")
    await sandbox.advance(60)
    assert receiver.labels() == ["failed"]
    assert (await ana.last())["error"]["code"] == 131026
    assert (await PersonPhone(sandbox, number="1234567").last())["status"] == "read"
    assert (await ana.try_send("text", text="x")).status == 409
    assert not (await ana.act("block", {"blocked": False}))["blocked"]
    await sandbox.text(ANA)
    await sandbox.advance(60)
    assert receiver.labels() == ["failed", "sent", "delivered", "read"]


async def test_a_report_blocks_and_lowers_the_quality(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    ratings = []
    for person in (ANA, "5511999990001", "5511999990002"):
        assert (await PersonPhone(sandbox, person).act("report"))["blocked"]
        ratings.append((await sandbox.control("GET", f"numbers/{NUMBER}"))["quality_rating"])
    assert ratings == ["YELLOW", "RED", "RED"]
    assert (await sandbox.counts())["reports"] == 3
    await sandbox.advance(0)
    assert [(field, value["event"]) for field, value in news(receiver)] == [("phone_number_quality_update", "FLAGGED")]


async def test_a_person_stops_and_resumes_marketing(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    await approved(sandbox, draft(body("Buy our shoes today"), category="MARKETING"))
    assert (await ana.act("marketing", {"stopped": True}))["marketing_stopped"]
    sent = envelope("template", {"name": "parcel", "language": {"code": "en_US"}})
    await sandbox.post(sent)
    await sandbox.advance(60)
    assert (await ana.last())["error"]["code"] == 131050
    assert not (await ana.act("marketing", {"stopped": False}))["marketing_stopped"]
    await sandbox.post(sent)
    await sandbox.advance(60)
    assert (await ana.last())["status"] == "read"
    values = [value["user_preferences"][0]["value"] for field, value in news(receiver) if field == "user_preferences"]
    assert values == ["stop", "resume"]


async def test_typing_of_the_person_is_accepted(sandbox: Driver, ana: PersonPhone) -> None:
    assert (await ana.act("typing", {"on": True}))["person"] == ANA
    assert (await sandbox.call("POST", f"/control/{ana.path}/typing", {})).status == 400


async def test_actions_are_pushed(sandbox: Driver, ana: PersonPhone) -> None:
    await reads(sandbox, "when_open")
    await sandbox.text(ANA)
    await sandbox.advance(2)
    async with open_feed(sandbox) as feed:
        await ana.act("read")
        assert (await feed.until("message", status="read"))["chat"]["unread"] == 0
        await ana.act("block", {"blocked": True})
        assert (await feed.until("chat", blocked=True))["chat"] == await ana.chat()
        await ana.act("marketing", {"stopped": True})
        await feed.until("chat", marketing_stopped=True)
        await sandbox.control("POST", f"people/{ANA}/offline", {"seconds": 5})
        await feed.until("changed", what="people")
        await sandbox.advance(6)
        await feed.until("changed", what="people")


BODIES: dict[str, Any] = {
    "block": {"blocked": True},
    "marketing": {"stopped": True},
    "played": {"message": "none"},
    "typing": {"on": True},
}


@for_each("action", BODIES)
async def test_a_body_has_a_largest_size(sandbox: Driver, ana: PersonPhone, action: str) -> None:
    written, fits = json.dumps(BODIES[action]).encode(), 409 if action == "played" else 200
    for size, status in ((SMALL - 1, fits), (SMALL, fits), (SMALL + 1, 413)):
        reply = await sandbox.call("POST", f"/control/{ana.path}/{action}", written.ljust(size))
        assert reply.status == status, size


# -- a new number ------------------------------------------------------------------------------------------------------


async def test_a_person_changes_number(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    await reads(sandbox, "when_open")
    await ana.send("text", text="old number")
    before = await ana.messages()
    moved = await sandbox.control("POST", f"people/{ANA}/number", {"phone": NEW})
    assert moved == {"phone": NEW, "old_phone": ANA, "chats": 1}
    await sandbox.advance(0)
    told = receiver.updates()[-1]
    assert told["from"] == ANA
    assert told["system"] == {
        "body": f"User Ana changed from {ANA} to {NEW}",
        "type": "user_changed_number",
        "wa_id": NEW,
    }
    assert await PersonPhone(sandbox, NEW).messages() == before
    assert (await PersonPhone(sandbox, NEW).chat())["name"] == "Ana"
    assert (await sandbox.control("GET", f"people/{NEW}"))["reads"] == "when_open"
    assert (await sandbox.control("GET", f"chats?person={ANA}"))["chats"] == []


async def test_a_message_on_its_way_arrives_at_the_new_number(sandbox: Driver, ana: PersonPhone) -> None:
    await sandbox.text(ANA)
    await sandbox.control("POST", f"people/{ANA}/number", {"phone": NEW})
    await sandbox.advance(60)
    assert (await PersonPhone(sandbox, NEW).last())["status"] == "read"


async def test_a_block_and_a_stop_move_along(sandbox: Driver, ana: PersonPhone) -> None:
    await ana.act("block", {"blocked": True})
    await ana.act("marketing", {"stopped": True})
    await sandbox.control("POST", f"people/{ANA}/number", {"phone": NEW})
    chat = await PersonPhone(sandbox, NEW).chat()
    assert (chat["blocked"], chat["marketing_stopped"]) == (True, True)
    chat = await ana.chat()
    assert (chat["blocked"], chat["marketing_stopped"]) == (False, False)


async def test_the_window_moves_along(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    await sandbox.control("PATCH", "settings", {"limits": {"window": "sync"}})
    await ana.send("text", text="hi")
    window = (await ana.chat())["window_ends_at"]
    await sandbox.advance(3600)
    await sandbox.control("POST", f"people/{ANA}/number", {"phone": NEW})
    assert (await PersonPhone(sandbox, NEW).chat())["window_ends_at"] == window
    assert (await ana.chat())["window_ends_at"] is None
    assert (await sandbox.text(NEW)).status == 200
    assert (await sandbox.text(ANA)).code == 131047


async def test_a_number_of_somebody_else_cannot_be_taken(sandbox: Driver, ana: PersonPhone) -> None:
    await ana.send("text", text="hi")
    await sandbox.control("PUT", "people/5511999990001", {"name": "Ben"})
    await sandbox.text("5511999990002")
    for phone in (ANA, "5511999990001", "5511999990002"):
        assert (await sandbox.call("POST", f"/control/people/{ANA}/number", {"phone": phone})).status == 409
    for bad in ("12", "abc", ""):
        assert (await sandbox.call("POST", f"/control/people/{ANA}/number", {"phone": bad})).status == 400
    await sandbox.control("POST", f"people/{ANA}/offline", {"seconds": 60})
    assert (await sandbox.call("POST", f"/control/people/{ANA}/number", {"phone": NEW})).status == 409
