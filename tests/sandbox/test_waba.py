"""Business accounts, apps and where callbacks go; and how often the management side may be asked."""

import hashlib
import hmac
from typing import Any

import pytest

from .driver import NUMBER, SECRET, TOKEN, VERIFY, WABA, Driver, Receiver

APP = "634974688087057"
BUSINESS = "506914307656634"
APP_TOKEN = f"{APP}|{SECRET}"


async def get(sandbox: Driver, path: str, token: str = TOKEN) -> Any:
    reply = await sandbox.call("GET", path, token=token)
    assert reply.status == 200, reply.raw
    return reply.json


async def test_the_account_and_its_fields(sandbox: Driver) -> None:
    assert set(await get(sandbox, f"/v25.0/{WABA}")) == {"id", "name", "timezone_id", "message_template_namespace"}
    node = await get(sandbox, f"/{WABA}?fields=name,status,subscribed_apps{{whatsapp_business_api_data}},currency")
    assert set(node) == {"id", "name", "status", "subscribed_apps", "currency"}
    assert node["name"] == "Acme"


async def test_the_numbers_of_an_account_in_pages(sandbox: Driver) -> None:
    await sandbox.register(phone_number_id="2002", phone="15550002222")
    await sandbox.register(phone_number_id="3003", phone="15550003333", waba_id="77")
    page = await get(sandbox, f"/{WABA}/phone_numbers?limit=1&fields=id")
    assert page["data"] == [{"id": NUMBER}]
    following = await get(sandbox, page["paging"]["next"].removeprefix(sandbox.base))
    assert following["data"] == [{"id": "2002"}]
    assert "next" not in following["paging"]


async def test_the_accounts_of_a_business(sandbox: Driver) -> None:
    await sandbox.register(phone_number_id="2002", phone="15550002222", waba_id="77")
    page = await get(sandbox, f"/{BUSINESS}/owned_whatsapp_business_accounts")
    assert [account["id"] for account in page["data"]] == [WABA, "77"]
    assert await get(sandbox, f"/{BUSINESS}/client_whatsapp_business_accounts") == {"data": []}


async def test_settings_of_an_account(sandbox: Driver) -> None:
    change = {"disable_marketing_messages_on_cloud_api": True}
    assert (await sandbox.call("POST", f"/{WABA}", change, TOKEN)).json == {"success": True}
    node = await get(sandbox, f"/{WABA}?fields=disable_marketing_messages_on_cloud_api")
    assert node["disable_marketing_messages_on_cloud_api"] is True
    assert (await sandbox.call("POST", f"/{WABA}", {"colour": 1}, TOKEN)).code == 100


async def test_a_token_its_permissions_and_the_proof_of_the_app_secret(sandbox: Driver) -> None:
    about = (await get(sandbox, f"/debug_token?input_token={TOKEN}"))["data"]
    assert (about["is_valid"], about["app_id"], len(about["scopes"])) == (True, APP, 2)
    assert (await get(sandbox, "/debug_token?input_token=other"))["data"]["is_valid"] is False
    assert (await sandbox.call("GET", f"/debug_token?input_token={TOKEN}", token="other")).code == 190
    proof = hmac.digest(SECRET.encode(), TOKEN.encode(), hashlib.sha256).hex()
    await get(sandbox, f"/{NUMBER}?appsecret_proof={proof}")
    assert (await sandbox.call("GET", f"/{NUMBER}?appsecret_proof={proof[1:]}", token=TOKEN)).code == 100
    await sandbox.register(scopes=["whatsapp_business_messaging"])
    assert (await sandbox.call("GET", f"/{WABA}", token=TOKEN)).code == 200
    await get(sandbox, f"/{NUMBER}")


async def test_the_apps_token(sandbox: Driver) -> None:
    query = f"client_id={APP}&client_secret={SECRET}"
    seen = await get(sandbox, f"/oauth/access_token?grant_type=client_credentials&{query}")
    assert seen == {"access_token": APP_TOKEN, "token_type": "bearer"}
    assert (await sandbox.call("GET", f"/oauth/access_token?{query}")).code == 100
    wrong = "/oauth/access_token?grant_type=client_credentials&client_id=1&client_secret=2"
    assert (await sandbox.call("GET", wrong)).status == 400


def subscription(url: str, fields: str = "messages", **changes: str) -> str:
    seen = {"object": "whatsapp_business_account", "callback_url": url, "verify_token": VERIFY, "fields": fields}
    return f"/{APP}/subscriptions?" + "&".join(f"{name}={value}" for name, value in (seen | changes).items())


async def test_an_app_sets_its_own_address(empty: Driver, receiver: Receiver) -> None:
    await empty.register()
    assert (await empty.call("POST", subscription(receiver.url), token=TOKEN)).status == 400
    assert (await empty.call("POST", subscription(receiver.url, verify_token="no"), token=APP_TOKEN)).code == 2200
    assert (await empty.call("POST", subscription(receiver.url, object="page"), token=APP_TOKEN)).code == 100
    assert (await get(empty, f"/{APP}/subscriptions", APP_TOKEN)) == {"data": []}
    path = subscription(receiver.url) + f"&access_token={APP_TOKEN}"
    assert (await empty.call("POST", path, token=TOKEN)).json == {"success": True}
    [seen] = (await get(empty, f"/{APP}/subscriptions", APP_TOKEN))["data"]
    assert (seen["callback_url"], seen["fields"][0]["name"]) == (receiver.url, "messages")
    await empty.text()
    await empty.advance(10)
    assert receiver.labels() == ["sent", "delivered", "read"]
    assert (await empty.call("DELETE", f"/{APP}/subscriptions", token=APP_TOKEN)).json == {"success": True}
    assert (await empty.call("DELETE", f"/{APP}/subscriptions", token=APP_TOKEN)).code == 100
    await empty.text()
    await empty.advance(10)
    assert len(receiver.bodies) == 3


async def test_an_app_gets_only_the_fields_it_asked_for(empty: Driver, receiver: Receiver) -> None:
    await empty.register()
    only = subscription(receiver.url, "message_template_status_update")
    assert (await empty.call("POST", only, token=APP_TOKEN)).status == 200
    await empty.text()
    [first, *_] = await empty.control("GET", "templates")
    await empty.control("POST", f"templates/{first['id']}/review", {"decision": "disable"})
    await empty.advance(10)
    assert len(receiver.bodies) == 1
    assert b"message_template_status_update" in receiver.bodies[0]


async def test_the_narrowest_address_wins(sandbox: Driver, receiver: Receiver) -> None:
    account, number = Receiver(), Receiver()
    await account.open()
    await number.open()
    try:
        wanted = {"override_callback_uri": account.url, "verify_token": VERIFY}
        assert (await sandbox.call("POST", f"/{WABA}/subscribed_apps", wanted, TOKEN)).json == {"success": True}
        await sandbox.text()
        await sandbox.advance(10)
        wanted = {"override_callback_uri": number.url, "verify_token": VERIFY}
        change = {"webhook_configuration": wanted}
        assert (await sandbox.call("POST", f"/{NUMBER}/", change, TOKEN)).json == {"success": True}
        await sandbox.text()
        await sandbox.advance(10)
        assert [len(one.bodies) for one in (receiver, account, number)] == [0, 3, 3]
        seen = (await get(sandbox, f"/{NUMBER}?fields=webhook_configuration"))["webhook_configuration"]
        assert seen == {
            "phone_number": number.url,
            "whatsapp_business_account": account.url,
            "application": receiver.url,
        }
        [app] = (await get(sandbox, f"/{WABA}/subscribed_apps"))["data"]
        assert app["override_callback_uri"] == account.url
        cleared = {"webhook_configuration": {"override_callback_uri": ""}}
        await sandbox.call("POST", f"/{NUMBER}", cleared, TOKEN)
        await sandbox.call("POST", f"/{WABA}/subscribed_apps", token=TOKEN)
        await sandbox.text()
        await sandbox.advance(10)
        assert [len(one.bodies) for one in (receiver, account, number)] == [3, 3, 3]
    finally:
        await account.close()
        await number.close()


async def test_an_account_without_apps_gets_no_callbacks(sandbox: Driver, receiver: Receiver) -> None:
    assert (await sandbox.call("DELETE", f"/{WABA}/subscribed_apps", token=TOKEN)).json == {"success": True}
    assert await get(sandbox, f"/{WABA}/subscribed_apps") == {"data": []}
    await sandbox.text()
    await sandbox.advance(10)
    assert receiver.bodies == []
    await sandbox.call("POST", f"/{WABA}/subscribed_apps", token=TOKEN)
    await sandbox.text()
    await sandbox.advance(10)
    assert receiver.labels() == ["sent", "delivered", "read"]


async def test_addresses_that_are_not_taken(sandbox: Driver, receiver: Receiver) -> None:
    async def override(url: str, token: str | None = VERIFY) -> int:
        wanted = {"override_callback_uri": url, "verify_token": token}
        return (await sandbox.call("POST", f"/{WABA}/subscribed_apps", wanted, TOKEN)).status

    longest = (receiver.url + "?").ljust(200, "x")
    assert await override(longest) == 200
    assert await override(longest + "x") == 400
    assert await override(receiver.url, "wrong") == 400
    assert await override(receiver.url, None) == 400
    assert await override("ftp://127.0.0.1/") == 400
    [app] = (await get(sandbox, f"/{WABA}/subscribed_apps"))["data"]
    assert app["override_callback_uri"] == longest


async def test_the_management_side_may_be_asked_so_often(sandbox: Driver) -> None:
    await sandbox.control("PATCH", "settings", {"management": {"calls_per_hour": 2}})
    for _ in range(2):
        await get(sandbox, f"/{NUMBER}")
    for path in (NUMBER, WABA, f"{WABA}/message_templates", f"{WABA}/phone_numbers"):
        over = await sandbox.call("GET", f"/{path}", token=TOKEN)
        assert (over.status, over.code) == (429, 80008)
    assert (await sandbox.text()).status == 200
    await get(sandbox, f"/{NUMBER}/whatsapp_business_profile")
    await sandbox.advance(3600)
    await get(sandbox, f"/{WABA}")


PLACES = ["calls", "groups", "flows", "nonsense"]


@pytest.mark.parametrize("place", PLACES)
async def test_what_the_sandbox_has_not_is_refused_cleanly(sandbox: Driver, place: str) -> None:
    for owner in (NUMBER, WABA):
        reply = await sandbox.call("POST", f"/{owner}/{place}", {}, TOKEN)
        assert (reply.status, reply.code, reply.json["error"]["error_subcode"]) == (400, 100, 33)
    assert (await sandbox.call("GET", "/signups/1", token=TOKEN)).code == 100


async def test_a_token_opens_its_own_account_only(sandbox: Driver) -> None:
    await sandbox.register(phone_number_id="2002", phone="15550002222", token="other", waba_id="77")
    assert (await sandbox.call("GET", f"/{WABA}", token="other")).code == 100
    assert (await sandbox.call("GET", "/77", token="other")).status == 200
    assert (await sandbox.call("GET", f"/{WABA}", token="wrong")).code == 190
    assert (await sandbox.call("GET", f"/{WABA}")).code == 190
    assert (await sandbox.call("GET", f"/{NUMBER}?access_token={TOKEN}")).status == 200
