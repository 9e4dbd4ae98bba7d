"""What becomes of a message that was well-formed: refused, held, failed, priced, read, played."""

from typing import Any

import pytest

from .driver import NUMBER, PHONE, START, TOKEN, WABA, Driver, Receiver
from .incoming import ANA, news, send_in
from .messages.payloads import INTERACTIVE, PLAIN, envelope, form, plain

HELLO = {"name": "hello_world", "language": {"code": "en_US"}}
UPDATE = {"name": "order_update", "language": {"code": "en_US"}}


async def send(sandbox: Driver, kind: str, content: Any = None, **more: Any) -> Any:
    return await sandbox.post(envelope(kind, plain(kind) if content is None else content, **more))


async def make_template(
    sandbox: Driver, name: str, category: str, text: str = "Good news for you today", **more: Any
) -> str:
    part = {"type": "BODY", "text": text}
    body = {"name": name, "language": "en_US", "category": category, "components": [part], **more}
    made = await sandbox.call("POST", f"/v25.0/{WABA}/message_templates", body, TOKEN)
    assert made.status == 200, made.raw
    await sandbox.control("POST", f"templates/{made.json['id']}/review", {"decision": "approve"})
    return str(made.json["id"])


async def send_template(sandbox: Driver, name: str, **more: Any) -> Any:
    return await send(sandbox, "template", {"name": name, "language": {"code": "en_US"}}, **more)


@pytest.mark.parametrize("kind", sorted(set(PLAIN) - {"reaction", "text"}))
async def test_every_kind_travels(sandbox: Driver, receiver: Receiver, kind: str) -> None:
    assert (await send(sandbox, kind)).status == 200
    await sandbox.advance(10)
    assert receiver.labels() == ["sent", "delivered", "read"]
    [entry] = await sandbox.ledger(kind="accepted")
    assert (entry["type"], entry["content"]) == (kind, PLAIN[kind])


async def test_interactive_travels(sandbox: Driver, receiver: Receiver) -> None:
    for sort in INTERACTIVE:
        assert (await send(sandbox, "interactive", form(sort))).status == 200
    await sandbox.advance(10)
    assert len(receiver.labels()) == 3 * len(INTERACTIVE)


async def test_media_by_id_must_be_there(sandbox: Driver) -> None:
    assert (await send(sandbox, "image", {"id": "404"})).code == 131009
    assert (await sandbox.counts())["refused.131009"] == 1


async def test_templates_are_looked_up(sandbox: Driver) -> None:
    missing = await send(sandbox, "template", {**HELLO, "name": "nothing"})
    assert (missing.status, missing.code) == (404, 132001)
    assert (await send(sandbox, "template", {**HELLO, "language": {"code": "xx"}})).code == 132001
    assert (await send(sandbox, "template", UPDATE)).code == 132000
    accepted = await send(sandbox, "template", HELLO)
    assert accepted.json["messages"][0]["message_status"] == "accepted"


@pytest.mark.parametrize(("decision", "code"), [("pause", 132015), ("disable", 132016), ("reject", 132001)])
async def test_templates_in_other_states(sandbox: Driver, decision: str, code: int) -> None:
    template = await make_template(sandbox, "promo", "UTILITY")
    await sandbox.control("POST", f"templates/{template}/review", {"decision": decision})
    assert (await send_template(sandbox, "promo")).code == code


async def prices(sandbox: Driver, receiver: Receiver) -> list[Any]:
    await sandbox.advance(10)
    found = [update["pricing"] for update in receiver.updates() if "pricing" in update]
    receiver.bodies.clear()
    assert len(found) == 2
    assert found[0] == found[1]
    return [found[0][name] for name in ("billable", "type", "category")]


async def test_prices_by_category_and_window(sandbox: Driver, receiver: Receiver) -> None:
    await make_template(sandbox, "promo", "MARKETING")
    await sandbox.advance(0)
    receiver.bodies.clear()
    await send_template(sandbox, "promo")
    assert await prices(sandbox, receiver) == [True, "regular", "marketing"]
    await send(sandbox, "template", HELLO)
    assert await prices(sandbox, receiver) == [True, "regular", "utility"]
    await sandbox.text()
    assert await prices(sandbox, receiver) == [False, "free_customer_service", "service"]
    await send_in(sandbox, "text", "hi")
    await sandbox.advance(0)
    receiver.bodies.clear()
    await send(sandbox, "template", HELLO)
    assert await prices(sandbox, receiver) == [False, "free_customer_service", "utility"]
    await sandbox.control("PATCH", "settings", {"service_billed": True})
    await sandbox.text()
    assert await prices(sandbox, receiver) == [True, "regular", "service"]


async def test_everything_is_free_for_three_days_after_an_advertisement(sandbox: Driver, receiver: Receiver) -> None:
    await send_in(sandbox, "text", "hi", referral={"source_type": "ad"})
    await sandbox.advance(24 * 3600 - 1)
    receiver.bodies.clear()
    await sandbox.text()
    assert await prices(sandbox, receiver) == [False, "free_entry_point", "referral_conversion"]
    await sandbox.advance(72 * 3600 - 11)
    await send(sandbox, "template", HELLO)
    await sandbox.advance(10)
    sent, *_ = receiver.updates()
    assert sent["conversation"]["origin"] == {"type": "referral_conversion"}
    assert int(sent["conversation"]["expiration_timestamp"]) == int(START) + 24 * 3600 - 1 + 72 * 3600
    receiver.bodies.clear()
    await send(sandbox, "template", HELLO)
    assert await prices(sandbox, receiver) == [True, "regular", "utility"]


async def test_an_advertisement_nobody_answered_in_time_is_forgotten(sandbox: Driver, receiver: Receiver) -> None:
    await send_in(sandbox, "text", "hi", referral={"source_type": "ad"})
    await sandbox.advance(24 * 3600)
    receiver.bodies.clear()
    await sandbox.text()
    assert await prices(sandbox, receiver) == [False, "free_customer_service", "service"]


async def test_older_versions_report_conversations(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", f"numbers/{NUMBER}", {"callbacks": {"version": "v23.0"}})
    await sandbox.text()
    await sandbox.advance(10)
    sent, delivered, read = receiver.updates()
    assert sent["conversation"]["origin"] == {"type": "service"}
    assert sent["conversation"]["expiration_timestamp"].isdigit()
    assert delivered["conversation"] == {"id": sent["conversation"]["id"], "origin": {"type": "service"}}
    assert "conversation" not in read
    await sandbox.control("PATCH", f"numbers/{NUMBER}", {"callbacks": {"version": "v24.0"}})
    receiver.bodies.clear()
    await sandbox.text()
    await sandbox.advance(10)
    assert all("conversation" not in update for update in receiver.updates())


async def test_a_voice_message_is_played(sandbox: Driver, receiver: Receiver) -> None:
    await send(sandbox, "audio", {"link": "https://127.0.0.1/a.ogg", "voice": True}, biz_opaque_callback_data="x")
    await sandbox.advance(10)
    assert receiver.labels() == ["sent", "delivered", "read", "played"]
    assert {update["biz_opaque_callback_data"] for update in receiver.updates()} == {"x"}
    await sandbox.control("PUT", f"people/{ANA}", {"character": "silent"})
    await send(sandbox, "audio", {"link": "https://127.0.0.1/a.ogg", "voice": True})
    await sandbox.advance(10)
    assert receiver.labels()[4:] == ["sent", "delivered"]


async def test_a_reaction_is_only_sent(sandbox: Driver, receiver: Receiver) -> None:
    wamid = await send_in(sandbox, "text", "hi")
    await sandbox.advance(0)
    reply = await send(sandbox, "reaction", {"message_id": wamid, "emoji": "👍"})
    await sandbox.advance(100)
    assert receiver.labels()[1:] == ["sent"]
    for target in (reply.wamid, "wamid.unknown"):
        await send(sandbox, "reaction", {"message_id": target, "emoji": "👍"})
        await sandbox.advance(100)
        assert receiver.updates()[-1]["errors"][0]["code"] == 131009


@pytest.mark.parametrize(("age", "label"), [(30 * 86_400, "sent"), (30 * 86_400 + 1, "failed")])
async def test_a_reaction_comes_within_30_days(sandbox: Driver, receiver: Receiver, age: int, label: str) -> None:
    wamid = await send_in(sandbox, "text", "hi")
    await sandbox.advance(age)
    await send(sandbox, "reaction", {"message_id": wamid, "emoji": ""})
    await sandbox.advance(10)
    assert receiver.labels()[1:] == [label]


async def test_quoting_what_is_not_there(sandbox: Driver, receiver: Receiver) -> None:
    known = (await sandbox.text()).wamid
    await sandbox.control("PATCH", "settings", {"limits": {"unknown_context": "refuse"}})
    assert (await sandbox.text(context={"message_id": "wamid.unknown"})).code == 131009
    assert (await sandbox.text(context={"message_id": known})).status == 200
    await sandbox.control("PATCH", "settings", {"limits": {"unknown_context": "fail"}})
    await sandbox.advance(20)
    receiver.bodies.clear()
    assert (await sandbox.text(context={"message_id": "wamid.unknown"})).status == 200
    await sandbox.advance(10)
    assert receiver.labels() == ["failed"]


async def test_the_window_can_refuse_at_once(sandbox: Driver) -> None:
    await sandbox.control("PATCH", "settings", {"limits": {"window": "sync"}})
    refused = await sandbox.text()
    assert (refused.status, refused.code) == (400, 131047)
    assert (await send(sandbox, "template", HELLO)).status == 200
    await send_in(sandbox, "text", "hi")
    await sandbox.advance(24 * 3600 - 1)
    assert (await sandbox.text()).status == 200
    await sandbox.advance(1)
    assert (await sandbox.text()).code == 131047


async def test_templates_need_no_window(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"limits": {"window": "async"}})
    await send(sandbox, "template", HELLO)
    await send(sandbox, "image")
    await sandbox.advance(10)
    assert sorted(receiver.labels()) == ["delivered", "failed", "read", "sent"]


async def test_a_person_who_stopped_marketing(sandbox: Driver, receiver: Receiver) -> None:
    await make_template(sandbox, "promo", "MARKETING")
    await send_in(sandbox, "user_preferences", {"value": "stop"})
    for _ in range(2):
        await send_template(sandbox, "promo")
        await sandbox.advance(10)
        await send_in(sandbox, "user_preferences", {"value": "resume"})
    statuses = [update for update in receiver.updates() if "status" in update]
    assert [update["status"] for update in statuses] == ["failed", "sent", "delivered", "read"]
    assert statuses[0]["errors"][0]["code"] == 131050


async def test_a_person_gets_a_limited_number_of_marketing_messages(sandbox: Driver, receiver: Receiver) -> None:
    await make_template(sandbox, "promo", "MARKETING")
    await sandbox.control("PATCH", "settings", {"limits": {"marketing": 1, "pair_interval": None}})

    async def codes(*sends: tuple[str, str]) -> list[int]:
        before = len(receiver.updates())
        for name, person in sends:
            assert (await send_template(sandbox, name, to=person)).status == 200
        await sandbox.advance(10)
        last = {update["id"]: update for update in receiver.updates()[before:]}
        return sorted(update["errors"][0]["code"] if "errors" in update else 0 for update in last.values())

    assert await codes(("promo", ANA), ("promo", ANA), ("hello_world", ANA), ("promo", PHONE[:-1] + "9")) == [0] * 3 + [
        131049
    ]
    await sandbox.advance(24 * 3600 - 25)
    assert await codes(("promo", ANA)) == [131049]
    await sandbox.advance(30)
    assert await codes(("promo", ANA)) == [0]
    await sandbox.control("PATCH", "settings", {"limits": {"marketing": 0}})
    assert await codes(("promo", "5511977776666"), ("hello_world", "5511977776666")) == [0, 131049]


@pytest.mark.parametrize(("ttl", "offline", "arrives"), [(60, 59, True), (60, 61, False), (-1, 3600, True)])
async def test_a_template_that_expires_is_not_delivered(
    sandbox: Driver, receiver: Receiver, ttl: int, offline: float, arrives: bool
) -> None:
    await make_template(sandbox, "order_sent", "UTILITY", message_send_ttl_seconds=ttl)
    await sandbox.control("PUT", f"people/{ANA}", {"replies": [{"text": "Thanks"}]})
    await sandbox.control("POST", f"people/{ANA}/offline", {"seconds": offline})
    await send_template(sandbox, "order_sent")
    await sandbox.advance(offline + 60)
    assert receiver.labels() == (["sent", "delivered", "read", "text"] if arrives else ["sent"])


async def test_a_message_that_has_arrived_does_not_expire(sandbox: Driver, receiver: Receiver) -> None:
    await make_template(sandbox, "order_sent", "UTILITY", message_send_ttl_seconds=30)
    await sandbox.control("PATCH", "settings", {"delays": {"read": 100, "jitter": 0}})
    await send_template(sandbox, "order_sent")
    await sandbox.advance(120)
    assert receiver.labels() == ["sent", "delivered", "read"]


async def test_another_identity_than_the_business_knows(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PUT", f"people/{ANA}", {"identity_hash": "abc", "character": "offline"})
    for known in ("abc", "xyz"):
        await sandbox.text(recipient_identity_key_hash=known)
        await sandbox.advance(10)
    assert receiver.labels() == ["sent", "failed"]
    assert receiver.updates()[-1]["errors"][0]["code"] == 137000


async def test_writing_to_a_user_id(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PUT", f"people/{ANA}", {"user_id": "US.1349", "phone_hidden": True})
    reply = await sandbox.text("US.1349")
    assert reply.json["contacts"] == [{"input": "US.1349", "wa_id": "", "user_id": "US.1349"}]
    await sandbox.advance(10)
    assert [update["recipient_id"] for update in receiver.updates()] == [""] * 3
    assert {update["recipient_user_id"] for update in receiver.updates()} == {"US.1349"}
    await sandbox.text("US.404")
    await sandbox.advance(10)
    assert receiver.updates()[-1]["errors"][0]["code"] == 131026


async def test_one_time_codes_need_a_phone_number(sandbox: Driver) -> None:
    button = {"type": "OTP", "otp_type": "COPY_CODE"}
    parts = [{"type": "BODY"}, {"type": "BUTTONS", "buttons": [button]}]
    body = {"name": "code", "language": "en_US", "category": "AUTHENTICATION", "components": parts}
    made = await sandbox.call("POST", f"/v25.0/{WABA}/message_templates", body, TOKEN)
    await sandbox.control("POST", f"templates/{made.json['id']}/review", {"decision": "approve"})
    words = [{"type": "text", "text": "1234"}]
    filled: list[dict[str, Any]] = [{"type": "body", "parameters": words}]
    filled.append({"type": "button", "sub_type": "url", "index": "0", "parameters": words})
    content = {"name": "code", "language": {"code": "en_US"}, "components": filled}
    assert (await send(sandbox, "template", content)).status == 200
    assert (await send(sandbox, "template", content, to="US.1349")).code == 131062


async def test_a_rule_lets_links_fail(sandbox: Driver, receiver: Receiver) -> None:
    rule = {"fault": "fail", "code": 131053, "link": "*/broken*", "details": "could not fetch"}
    await sandbox.control("POST", "faults", rule)
    for link in ("https://127.0.0.1/fine.png", "https://127.0.0.1/broken.png"):
        assert (await send(sandbox, "image", {"link": link})).status == 200
        await sandbox.advance(10)
    assert receiver.labels() == ["sent", "delivered", "read", "failed"]
    [error] = receiver.updates()[-1]["errors"]
    assert (error["code"], error["error_data"]["details"]) == (131053, "could not fetch")


async def test_a_rule_strikes_some_types_alone(sandbox: Driver) -> None:
    await sandbox.control("POST", "faults", {"fault": "refuse", "code": 131000, "types": ["image", "video"]})
    assert (await sandbox.text()).status == 200
    assert (await send(sandbox, "image")).code == 131000


@pytest.mark.parametrize(
    "rule",
    [{"fault": "fail"}, {"fault": "suppress", "types": ["text"]}, {"fault": "delay", "seconds": 1, "link": "*"}],
)
async def test_impossible_rules(sandbox: Driver, rule: dict[str, Any]) -> None:
    assert (await sandbox.call("POST", "/control/faults", rule)).status == 400


async def hold(sandbox: Driver) -> str:
    reply = await send_template(sandbox, "promo")
    assert reply.json["messages"][0]["message_status"] == "held_for_quality_assessment"
    return str(reply.wamid)


async def test_a_held_template_is_released(sandbox: Driver, receiver: Receiver) -> None:
    await make_template(sandbox, "promo", "MARKETING")
    await sandbox.control("PATCH", "settings", {"pacing": {"hold": 1, "seconds": 600}})
    await hold(sandbox)
    assert (await send(sandbox, "template", HELLO)).json["messages"][0]["message_status"] == "accepted"
    await sandbox.advance(599)
    assert receiver.labels() == ["sent", "delivered", "read"]
    await sandbox.advance(10)
    assert receiver.labels()[3:] == ["sent", "delivered", "read"]


async def test_a_held_template_is_dropped_and_paused(sandbox: Driver, receiver: Receiver) -> None:
    template = await make_template(sandbox, "promo", "MARKETING")
    await sandbox.control("PATCH", "settings", {"pacing": {"hold": 1, "drop": 1}})
    await hold(sandbox)
    await hold(sandbox)
    await sandbox.advance(3600)
    assert [update["errors"][0]["code"] for update in receiver.updates()] == [132015] * 2
    paused = [value for _, value in news(receiver) if value.get("event") == "PAUSED"]
    assert [value["message_template_id"] for value in paused] == [int(template)]
    assert (await send_template(sandbox, "promo")).code == 132015


async def test_held_templates_can_be_decided_by_a_person(sandbox: Driver, receiver: Receiver) -> None:
    await make_template(sandbox, "promo", "MARKETING")
    await sandbox.control("POST", "faults", {"fault": "hold", "seconds": 9999})
    first, second = await hold(sandbox), await hold(sandbox)
    assert await sandbox.control("GET", f"numbers/{NUMBER}/held") == [first, second]
    judged = await sandbox.control("POST", f"numbers/{NUMBER}/held", {"outcome": "drop", "wamid": second})
    assert judged == {"settled": [second]}
    assert await sandbox.control("POST", f"numbers/{NUMBER}/held", {"outcome": "release"}) == {"settled": [first]}
    await sandbox.advance(20_000)
    assert receiver.labels() == ["failed", "sent", "delivered", "read"]


async def test_messages_of_a_blocked_person_are_not_delivered(sandbox: Driver, receiver: Receiver) -> None:
    block = {"messaging_product": "whatsapp", "block_users": [{"user": ANA}]}
    await send_in(sandbox, "text", "hi")
    assert (await sandbox.call("POST", f"/v25.0/{NUMBER}/block_users", block, TOKEN)).status == 200
    await send_in(sandbox, "text", "still there?")
    await sandbox.advance(0)
    assert [update["text"]["body"] for update in receiver.updates()] == ["hi"]
    assert (await sandbox.text()).code == 130403
    assert (await sandbox.text(PHONE)).code == 131021
