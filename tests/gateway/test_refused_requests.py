"""The refused requests of keys: what an owner sees of them, and what never appears there."""

from typing import Any

import pytest

from gatepost.admin.accounts import set_suspended
from gatepost.store.pool import Database
from tests.gateway.checks import SEND, TEXT, check_refused, until
from tests.gateway.people import Person, new_person
from tests.gateway.test_account_keys import create, keys_of
from tests.running_gateway import Gateway, running_gateway

pytestmark = pytest.mark.usefixtures("frequent_housekeeping")
NOTHING = "0" * 32
TOKEN = "t" * 43


async def listed(person: Person, query: str = "") -> list[Any]:
    answer = await person.call("GET", f"{keys_of(person.gateway.channel)}/refused?limit=100{query}")
    assert answer.status == 200, answer.body
    rows: list[Any] = answer.json()["data"]
    return rows


async def until_listed(person: Person, wanted: set[Any]) -> list[Any]:
    """Wait until exactly these are there, by method, path, status, code and field."""
    rows: list[Any] = []

    async def there() -> bool:
        rows[:] = await listed(person)
        seen = {tuple(row[name] for name in ("method", "path", "status", "code", "field")) for row in rows}
        assert seen <= wanted, seen - wanted
        return seen == wanted

    await until(there)
    return rows


async def test_each_refusal_of_a_known_key_is_there(frozen: Gateway) -> None:
    gateway = frozen  # equal requests of a minute are one row
    owner, reader = await new_person(gateway), await new_person(gateway, "reader")
    weak, revoked = await create(owner, scopes=["read"]), await create(owner)
    await owner.call("DELETE", f"{keys_of(gateway.channel)}/{revoked['id']}")

    async def ended() -> bool:
        return (await gateway.call("GET", "/api/v1/channel", key=revoked["key"])).status == 401

    await until(ended)
    await gateway.send(**TEXT)
    refused = await gateway.call("POST", SEND, {"phone": "12", "body": "Hello"})
    await gateway.call("POST", SEND, {"phone": "13", "body": "Hello"})
    await gateway.call("POST", SEND, raw=b"{")
    await gateway.call("GET", f"/api/v1/messages/{NOTHING}")
    await gateway.call("GET", f"/api/v1/mesages/{TOKEN}")
    await gateway.call("PUT", "/api/v1/labels", {})
    await gateway.call("POST", "/api/v1/labels", {"name": ""})
    await gateway.call("GET", "/api/v1/account")
    await gateway.call("POST", SEND, TEXT, key=weak["key"])
    for wrong in ("", "gpk_" + "x" * 43, gateway.key + "x", gateway.key[:-1]):
        await gateway.call("GET", "/api/v1/channel", key=wrong)
    rows = await until_listed(
        reader,
        {
            ("POST", SEND, 422, "invalid_phone", "phone"),
            ("POST", SEND, 400, "malformed_json", None),
            ("POST", SEND, 403, "missing_scope", None),
            ("GET", "/api/v1/messages/{message_id}", 404, "not_found", None),
            ("GET", "/api/v1/mesages/…", 404, "not_found", None),
            ("PUT", "/api/v1/labels", 405, "method_not_allowed", None),
            ("POST", "/api/v1/labels", 422, "invalid_field", "name"),
            ("GET", "/api/v1/account", 403, "session_required", None),
            ("GET", "/api/v1/channel", 401, "invalid_api_key", None),
        },
    )
    (phone,) = [row for row in rows if row["code"] == "invalid_phone"]
    assert phone["count"] == 2
    assert phone["request_id"].startswith("req_")
    assert phone["request_id"] != refused.headers["x-request-id"]  # that of the last
    assert phone["message"].startswith("phone: ")
    keys = {row["code"]: row["key"] for row in rows}
    assert keys["missing_scope"] == weak["id"]
    assert keys["invalid_api_key"] == revoked["id"]
    assert [row["code"] for row in await listed(owner, f"&key={weak['id']}")] == ["missing_scope"]
    async with gateway.db.connection() as conn:
        texts = [row["text"] for row in await conn.fetch("SELECT t::text AS text FROM refused_requests t")]
    for secret in (TOKEN, *(key[20:] for key in (gateway.key, weak["key"], revoked["key"])), "Hello"):
        assert not [text for text in texts if secret in text], secret


async def test_requests_of_an_account_without_access(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    await set_suspended(gateway.db, gateway.account_id, True)

    async def suspended() -> bool:
        return (await gateway.call("GET", "/api/v1/channel")).status == 402

    await until(suspended)
    check_refused(await owner.call("GET", f"{keys_of(gateway.channel)}/refused"), 402, "account_suspended")
    await set_suspended(gateway.db, gateway.account_id, False)

    async def back() -> bool:
        return (await owner.call("GET", f"{keys_of(gateway.channel)}/refused")).status == 200

    await until(back)
    await until_listed(owner, {("GET", "/api/v1/channel", 402, "account_suspended", None)})


async def test_requests_of_people_are_not_there(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    check_refused(await owner.call("GET", f"/api/v1/messages/{NOTHING}"), 404, "not_found")
    await gateway.call("GET", f"/api/v1/conversations/cv_{NOTHING}")
    await until_listed(owner, {("GET", "/api/v1/conversations/{conversation_id}", 404, "not_found", None)})


async def test_pages_and_other_accounts(gateway: Gateway) -> None:
    owner, path = await new_person(gateway), f"{keys_of(gateway.channel)}/refused"
    stranger = await new_person(gateway, account_id=await gateway.new_account())
    for name in ("labels", "contacts", "orders"):
        await gateway.call("PUT", f"/api/v1/{name}", {})

    async def all_there() -> bool:
        return len(await listed(owner)) == 3

    await until(all_there)
    seen, cursor = [], ""
    for _ in range(4):
        page = (await owner.call("GET", f"{path}?limit=1{cursor}")).json()
        seen += [row["path"] for row in page["data"]]
        cursor = f"&cursor={page['paging']['next']}"
        if page["paging"]["next"] is None:
            break
    assert sorted(seen) == ["/api/v1/contacts", "/api/v1/labels", "/api/v1/orders"]
    check_refused(await stranger.call("GET", path), 404, "not_found")
    second = await gateway.new_qr_channel(gateway.account_id)
    theirs = await gateway.new_key(second.id)
    assert theirs
    check_refused(await owner.call("GET", f"{path}?key=key_{NOTHING}"), 404, "not_found")
    check_refused(await owner.call("GET", f"{path}?cursor=nonsense"), 400, "invalid_cursor")
    check_refused(await owner.call("GET", f"{path}?limit=101"), 422, "invalid_field", "limit")
    check_refused(await gateway.call("GET", path), 403, "session_required")


async def test_a_stopping_process_saves_them(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url) as gateway:
        await gateway.call("PUT", "/api/v1/labels", {})
    db = await Database.connect(parted_database_url, connections=1)
    try:
        assert [row["path"] for row in await db.fetch("SELECT path FROM refused_requests")] == ["/api/v1/labels"]
    finally:
        await db.close()
