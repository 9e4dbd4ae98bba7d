"""A number's own side: registering, profile, settings, codes, usernames and blocked users."""

from typing import Any

import pytest
from pyreqwest.client import Client

from .driver import NUMBER, TOKEN, WABA, Driver, Receiver


async def get(sandbox: Driver, path: str) -> Any:
    reply = await sandbox.call("GET", f"/v25.0/{NUMBER}{path}", token=TOKEN)
    assert reply.status == 200, reply.raw
    return reply.json


async def post(sandbox: Driver, path: str, body: Any = None, number: str = NUMBER) -> int:
    reply = await sandbox.call("POST", f"/v25.0/{number}{path}", body, TOKEN)
    return 200 if reply.status == 200 else reply.code


async def test_a_number_shows_what_is_asked_for(sandbox: Driver) -> None:
    assert (await get(sandbox, ""))["display_phone_number"]
    fields = (
        "health_status,throughput,whatsapp_business_manager_messaging_limit,is_pin_enabled,name_status,account_mode"
    )
    node = await get(sandbox, f"?fields={fields}")
    assert set(node) == {*fields.split(","), "id"}
    assert node["health_status"]["can_send_message"] == "AVAILABLE"
    assert {entity["entity_type"] for entity in node["health_status"]["entities"]} == {
        "PHONE_NUMBER",
        "WABA",
        "BUSINESS",
        "APP",
    }


async def test_a_number_that_is_deregistered_cannot_send(sandbox: Driver) -> None:
    assert await post(sandbox, "/deregister") == 200
    refused = await sandbox.text()
    assert (refused.status, refused.code) == (400, 133010)
    assert (await get(sandbox, "?fields=status,health_status"))["health_status"]["can_send_message"] == "BLOCKED"
    product = {"messaging_product": "whatsapp"}
    for wrong in ({}, product, {**product, "pin": "12345"}, {**product, "pin": "1234567"}):
        assert await post(sandbox, "/register", wrong) == 100
    assert await post(sandbox, "/register", {**product, "pin": "123456"}) == 200
    assert (await sandbox.text()).status == 200


async def test_a_pin_is_kept_and_guessed_at_five_times(sandbox: Driver) -> None:
    register = {"messaging_product": "whatsapp", "pin": "111111"}
    assert await post(sandbox, "", {"pin": "222222"}) == 200
    assert await post(sandbox, "", {"pin": "22222"}) == 100
    assert (await get(sandbox, "?fields=is_pin_enabled"))["is_pin_enabled"] is True
    assert [await post(sandbox, "/register", register) for _ in range(6)] == [133005] * 5 + [133008]


async def test_ten_registrations_in_72_hours(sandbox: Driver) -> None:
    register = {"messaging_product": "whatsapp", "pin": "111111"}
    assert [await post(sandbox, "/register", register) for _ in range(11)] == [200] * 10 + [133016]
    await sandbox.advance(72 * 3600 - 1)
    assert await post(sandbox, "/deregister") == 133016
    await sandbox.advance(1)
    assert await post(sandbox, "/deregister") == 200


async def test_a_new_number_is_verified_and_registered(sandbox: Driver) -> None:
    seen = {"country_code": "1", "phone_number": "5550009999", "verified_name": "Second"}
    made = (await sandbox.call("POST", f"/{WABA}/phone_numbers", seen, TOKEN)).json["id"]
    assert (await sandbox.call("POST", f"/{WABA}/phone_numbers", seen, TOKEN)).code == 100
    for wrong in ({}, seen | {"phone_number": "٥٥٥٠٠٠٩٩٩٩"}):
        assert (await sandbox.call("POST", f"/{WABA}/phone_numbers", wrong, TOKEN)).code == 100
    register = {"messaging_product": "whatsapp", "pin": "111111"}
    assert await post(sandbox, "/register", register, made) == 133006
    assert await post(sandbox, "/verify_code?code=000000", number=made) == 136024
    assert await post(sandbox, "/request_code?code_method=LETTER&language=en_US", number=made) == 100
    assert await post(sandbox, "/request_code?code_method=SMS", number=made) == 100
    assert await post(sandbox, "/request_code?code_method=SMS&language=en_US", number=made) == 200
    code = (await sandbox.control("GET", f"numbers/{made}/file"))["code"]
    assert await post(sandbox, f"/verify_code?code={code}0", number=made) == 136024
    assert await post(sandbox, f"/verify_code?code={code}", number=made) == 200
    assert await post(sandbox, "/register", register, made) == 200
    payload = {"messaging_product": "whatsapp", "to": "5511999990000", "type": "text", "text": {"body": "hi"}}
    assert (await sandbox.post(payload, made)).status == 200


PROFILE = "/whatsapp_business_profile"


async def test_a_profile_is_set_read_and_cleared(sandbox: Driver) -> None:
    assert await get(sandbox, PROFILE) == {"data": [{"vertical": "UNDEFINED", "messaging_product": "whatsapp"}]}
    seen = {"messaging_product": "whatsapp", "about": "Hi", "email": "a@b.c", "vertical": "RETAIL"}
    assert await post(sandbox, PROFILE, seen | {"websites": ["https://a.b", "http://c.d"]}) == 200
    assert await post(sandbox, PROFILE, {"messaging_product": "whatsapp", "email": ""}) == 200
    [profile] = (await get(sandbox, f"{PROFILE}?fields=about,email,websites"))["data"]
    assert profile == {"about": "Hi", "websites": ["https://a.b", "http://c.d"], "messaging_product": "whatsapp"}


LENGTHS = [("about", 139), ("address", 256), ("description", 512), ("email", 128)]


@pytest.mark.parametrize(("name", "most"), LENGTHS)
async def test_each_text_of_a_profile_has_its_length(sandbox: Driver, name: str, most: int) -> None:
    product = {"messaging_product": "whatsapp"}
    assert await post(sandbox, PROFILE, {**product, name: "x" * most}) == 200
    assert await post(sandbox, PROFILE, {**product, name: "x" * (most + 1)}) == 100
    [profile] = (await get(sandbox, PROFILE))["data"]
    assert profile[name] == "x" * most


SITE = "https://example.com/"
BAD_PROFILES = [
    {"about": ""},
    {"websites": [SITE] * 3},
    {"websites": [SITE.ljust(257, "x")]},
    {"websites": ["ftp://a"]},
    {"vertical": "SPACE"},
    {"vertical": ["RETAIL"]},
    {"profile_picture_handle": {"h": 1}},
    {"colour": "red"},
    {"messaging_product": "sms"},
]


@pytest.mark.parametrize("change", BAD_PROFILES)
async def test_profiles_that_are_refused(sandbox: Driver, change: dict[str, Any]) -> None:
    assert await post(sandbox, PROFILE, {"messaging_product": "whatsapp"} | change) == 100
    most = {"messaging_product": "whatsapp", "websites": [SITE.ljust(256, "x")] * 2}
    assert await post(sandbox, PROFILE, most) == 200


async def test_settings_commerce_and_keys(sandbox: Driver) -> None:
    change = {"user_identity_change": {"enable_identity_key_check": True}}
    assert await post(sandbox, "/settings", change) == 200
    assert (await get(sandbox, "/settings?fields=user_identity_change")) == change
    assert await post(sandbox, "/settings", {"volume": 3}) == 100
    assert await post(sandbox, "/whatsapp_commerce_settings?is_cart_enabled=False&is_catalog_visible=true") == 200
    [commerce] = (await get(sandbox, "/whatsapp_commerce_settings"))["data"]
    assert (commerce["is_cart_enabled"], commerce["is_catalog_visible"]) == (False, True)
    assert await post(sandbox, "/whatsapp_commerce_settings?is_cart_enabled=maybe") == 100
    key = {"business_public_key": "-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----"}
    assert await post(sandbox, "/whatsapp_business_encryption", key) == 200
    assert await post(sandbox, "/whatsapp_business_encryption", {"business_public_key": "x"}) == 100
    assert await post(sandbox, "", {"new_display_name": "New"}) == 200
    assert (await get(sandbox, "?fields=new_name_status"))["new_name_status"] == "PENDING_REVIEW"
    assert await post(sandbox, "", {"colour": "red"}) == 100


async def test_prompts_and_commands(sandbox: Driver) -> None:
    def commands(count: int, name: int = 32, hint: int = 256) -> list[dict[str, str]]:
        return [{"command_name": "n" * name, "command_description": "h" * hint}] * count

    most = {"prompts": ["p" * 80] * 4, "commands": commands(30)}
    assert await post(sandbox, "/conversational_automation", most) == 200
    shown = (await get(sandbox, "?fields=conversational_automation"))["conversational_automation"]
    assert shown == {**most, "id": NUMBER}
    over: list[dict[str, Any]] = [
        {"prompts": ["p"] * 5},
        {"prompts": ["p" * 81]},
        {"commands": commands(31)},
        {"commands": commands(1, name=33)},
        {"commands": commands(1, hint=257)},
        {"commands": "no json"},
    ]
    assert [await post(sandbox, "/conversational_automation", change) for change in over] == [100] * len(over)


async def test_qr_codes(sandbox: Driver, client: Client) -> None:
    text = {"prefilled_message": "x" * 140, "generate_qr_image": "SVG"}
    made = (await sandbox.call("POST", f"/{NUMBER}/message_qrdls", text, TOKEN)).json
    assert made["deep_link_url"].endswith(made["code"])
    drawn = await client.get(made["qr_image_url"]).build().send()
    assert (drawn.status, b"<svg" in bytes(await drawn.bytes())) == (200, True)
    assert await post(sandbox, "/message_qrdls", {"prefilled_message": "x" * 141}) == 100
    assert await post(sandbox, "/message_qrdls", {"prefilled_message": "new", "code": made["code"]}) == 200
    assert await post(sandbox, "/message_qrdls", {"prefilled_message": "new", "code": "NONE"}) == 100
    [listed] = (await get(sandbox, "/message_qrdls?fields=code,prefilled_message"))["data"]
    assert listed == {"code": made["code"], "prefilled_message": "new"}
    [one] = (await get(sandbox, f"/message_qrdls/{made['code']}?fields=code,qr_image_url.format(PNG)"))["data"]
    assert one["qr_image_url"].endswith(".png")
    assert (await sandbox.call("DELETE", f"/{NUMBER}/message_qrdls/{made['code']}", token=TOKEN)).status == 200
    assert (await sandbox.call("DELETE", f"/{NUMBER}/message_qrdls/{made['code']}", token=TOKEN)).code == 100
    assert await get(sandbox, f"/message_qrdls/{made['code']}") == {"data": []}
    assert (await client.get(made["qr_image_url"]).build().send()).status == 404


async def test_usernames(sandbox: Driver) -> None:
    await sandbox.register(phone_number_id="2002", phone="15550002222")
    assert (await get(sandbox, "/username"))["status"] == "deleted"
    assert [await post(sandbox, "/username", {"username": name}) for name in ("ab", "a" * 36, "A_b")] == [147001] * 3
    for name in ("abc", "a" * 35, "acme"):
        assert await post(sandbox, "/username", {"username": name}) == 200
    assert await get(sandbox, "/username") == {"username": "acme", "status": "approved"}
    assert await post(sandbox, "/username", {"username": "acme"}, "2002") == 147002
    assert "acme" in (await get(sandbox, "/username_suggestions"))["data"][0]["username_suggestions"]
    assert (await sandbox.call("DELETE", f"/{NUMBER}/username", token=TOKEN)).json == {"success": True}
    assert await post(sandbox, "/username", {"username": "acme"}, "2002") == 200


async def test_a_blocked_person_gets_nothing(sandbox: Driver, receiver: Receiver) -> None:
    users = {"messaging_product": "whatsapp", "block_users": [{"user": "+55 11 99999-0000"}]}
    added = (await sandbox.call("POST", f"/{NUMBER}/block_users", users, TOKEN)).json
    assert added["block_users"]["added_users"] == [{"input": "+55 11 99999-0000", "wa_id": "5511999990000"}]
    assert (await sandbox.text("5511999990000")).code == 130403
    assert (await sandbox.text("5511999990001")).status == 200
    [listed] = (await get(sandbox, "/block_users"))["data"]
    assert listed["wa_id"] == "5511999990000"
    removed = (await sandbox.call("DELETE", f"/{NUMBER}/block_users", users, TOKEN)).json
    assert removed["block_users"]["removed_users"][0]["wa_id"] == "5511999990000"
    assert (await sandbox.text("5511999990000")).status == 200
    for wrong in ({}, {"messaging_product": "whatsapp"}, {"messaging_product": "whatsapp", "block_users": [{}]}):
        assert await post(sandbox, "/block_users", wrong) == 100


async def test_a_number_blocks_so_many_people_and_no_more(sandbox: Driver) -> None:
    most = {"messaging_product": "whatsapp", "block_users": [{"user": str(10**9 + place)} for place in range(64_000)]}
    assert await post(sandbox, "/block_users", most) == 200
    one = {"messaging_product": "whatsapp", "block_users": [{"user": "5511999990000"}]}
    assert await post(sandbox, "/block_users", one) == 139103
