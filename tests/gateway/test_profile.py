"""Profile, health, read marks and typing in the API, against the sandbox."""

from typing import Any

from tests.gateway.checks import PERSON, TEXT, check_refused, feed, until
from tests.running_gateway import Gateway

PROFILE = "/api/v1/channel/profile"
HEALTH = "/api/v1/channel/health"
NUMBER = "100000000000001"


async def received(gateway: Gateway, text: str = "Hello?") -> Any:
    """The event of a message that a person has just written."""
    await gateway.sandbox("POST", "/control/say", {"phone_number_id": NUMBER, "from": PERSON, "text": text})

    async def there() -> Any:
        found = [e["data"] for e in await feed(gateway) if e["data"].get("content") == {"body": text}]
        return found[-1] if found else None

    return await until(there)


async def marks(gateway: Gateway) -> list[Any]:
    """The read marks that the network has got."""
    entries: list[Any] = (await gateway.sandbox("GET", "/control/ledger?kind=read"))["entries"]
    return entries


# -- profile ----------------------------------------------------------------------------------------------------------


async def test_a_profile_is_changed_piece_by_piece(gateway: Gateway) -> None:
    change = {"about": "Fresh bread", "email": "hello@example.com", "websites": ["https://example.com"]}
    changed = await gateway.call("PATCH", PROFILE, change)
    assert changed.status == 200, changed.body
    data = changed.json()["data"]
    assert {name: data[name] for name in change} == change
    assert data["address"] is None
    more = (await gateway.call("PATCH", PROFILE, {"vertical": "GROCERY", "email": ""})).json()["data"]
    assert (more["about"], more["vertical"], more["email"]) == ("Fresh bread", "GROCERY", None)
    assert (await gateway.call("GET", PROFILE)).json()["data"] == more


async def test_what_a_profile_refuses(gateway: Gateway) -> None:
    await gateway.call("PATCH", PROFILE, {"about": "x" * 139})
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"about": "x" * 140}, "about"),
        ({"websites": ["https://a.example", "https://b.example", "https://c.example"]}, "websites"),
        ({"websites": ["example.com"]}, "websites[0]"),
        ({}, "body"),
        ({"colour": "red"}, "colour"),
    ]
    for change, field in wrong:
        check_refused(await gateway.call("PATCH", PROFILE, change), 422, "invalid_field", field, about=change)
    refused = await gateway.call("PATCH", PROFILE, {"vertical": "WIZARDRY"})
    assert check_refused(refused, 422, "network_refused")["network"]["code"] == 100
    assert (await gateway.call("GET", PROFILE)).json()["data"]["about"] == "x" * 139


async def test_health_is_asked_and_noted(gateway: Gateway) -> None:
    health = (await gateway.call("GET", HEALTH)).json()["data"]
    assert (health["status"], health["quality"]) == ("CONNECTED", "GREEN")
    assert health["name"] == "Sandbox Business"
    await gateway.sandbox("PATCH", f"/control/numbers/{NUMBER}", {"quality_rating": "RED"})
    assert (await gateway.call("GET", HEALTH)).json()["data"]["quality"] == "RED"
    async with gateway.db.connection() as conn:
        noted = await conn.fetchval("SELECT state->>'quality' FROM channels WHERE kind = 'official'")
    assert noted == "RED"


async def test_a_linked_phone_has_no_profile(gateway: Gateway) -> None:
    key = await gateway.new_key((await gateway.new_qr_channel(gateway.account_id)).id)
    for method, path, body in (("GET", PROFILE, None), ("PATCH", PROFILE, {"about": "x"}), ("GET", HEALTH, None)):
        check_refused(await gateway.call(method, path, body, key=key), 422, "unsupported_on_channel", about=path)


# -- reading and typing -----------------------------------------------------------------------------------------------


async def test_a_message_is_marked_as_read(gateway: Gateway) -> None:
    message = await received(gateway)
    read = await gateway.call("POST", f"/api/v1/messages/{message['key']['id']}/read")
    assert read.status == 200, read.body
    shown = read.json()["data"]
    assert shown["key"] == message["key"]
    (mark,) = await marks(gateway)
    assert (mark["message_id"], mark["typing"]) == (shown["network_id"], False)


async def test_only_what_came_in_can_be_read(gateway: Gateway) -> None:
    ours = await gateway.send(**TEXT)
    check_refused(await gateway.call("POST", f"/api/v1/messages/{ours}/read"), 409, "wrong_state")
    message = await received(gateway)
    path = f"/api/v1/messages/{message['key']['id']}/read"
    check_refused(await gateway.call("POST", path, key=await gateway.new_stranger()), 404, "not_found")
    check_refused(await gateway.call("POST", "/api/v1/messages/nonsense/read"), 404, "not_found")
    assert await marks(gateway) == []


async def test_typing_is_shown_under_the_newest_message(gateway: Gateway) -> None:
    await received(gateway, "First")
    message = await received(gateway, "Second")
    path = f"/api/v1/conversations/{message['conversation']['id']}/typing"
    typed = await gateway.call("POST", path)
    assert typed.status == 200, typed.body
    newest = (await gateway.call("GET", f"/api/v1/messages/{message['key']['id']}")).json()["data"]["network_id"]
    (mark,) = await marks(gateway)
    assert (mark["message_id"], mark["typing"]) == (newest, True)
    check_refused(await gateway.call("POST", path, key=await gateway.new_stranger()), 404, "not_found")


async def test_typing_needs_a_message_of_the_person(gateway: Gateway) -> None:
    ours = await gateway.send(**TEXT)
    silent = (await gateway.call("GET", f"/api/v1/messages/{ours}")).json()["data"]["conversation"]["id"]
    check_refused(await gateway.call("POST", f"/api/v1/conversations/{silent}/typing"), 409, "wrong_state")
    for nobody in ("cv_" + "0" * 32, "nonsense"):
        check_refused(await gateway.call("POST", f"/api/v1/conversations/{nobody}/typing"), 404, "not_found")


async def test_a_channel_without_a_link_cannot_show_anything(gateway: Gateway) -> None:
    qr = await gateway.new_qr_channel(gateway.account_id)
    message = await received(gateway)
    async with gateway.db.connection() as conn:
        for table in ("messages", "conversations"):
            await conn.execute(f"UPDATE {table} SET channel_id = $1", qr.id)
    key = await gateway.new_key(qr.id)
    for path in (f"messages/{message['key']['id']}/read", f"conversations/{message['conversation']['id']}/typing"):
        check_refused(await gateway.call("POST", f"/api/v1/{path}", key=key), 409, "channel_not_connected", about=path)
