"""Contacts in the API: created, found, changed, merged, deleted; and who opted out of marketing."""

from typing import Any

from tests.gateway.checks import PERSON, SEND, check_refused, feed, until, written
from tests.running_gateway import Gateway

CONTACTS = "/api/v1/contacts"


async def make(gateway: Gateway, phone: str, name: str | None = None, **more: Any) -> Any:
    """A new contact."""
    answer = await gateway.call("POST", CONTACTS, {"phone": phone, "name": name, **more})
    assert answer.status == 201, answer.body
    return answer.json()["data"]


async def found(gateway: Gateway, query: str = "", key: str | None = None) -> list[Any]:
    """The names of one page, or numbers where there is no name."""
    answer = await gateway.call("GET", f"{CONTACTS}?{query}", key=key)
    assert answer.status == 200, answer.body
    return [contact["name"] or contact["phone"] for contact in answer.json()["data"]]


async def seen(gateway: Gateway, action: str) -> list[Any]:
    events = await feed(gateway)
    return [e["data"] for e in events if (e["type"], e["action"]) == ("contact_notifications", action)]


async def test_a_contact_is_created_with_an_event(gateway: Gateway) -> None:
    made = await make(gateway, PERSON, "  Ana Silva ", custom={"city": "São Paulo"}, opted_out=True)
    assert (made["phone"], made["name"], made["custom"]) == (PERSON, "Ana Silva", {"city": "São Paulo"})
    assert (made["opted_out"], made["labels"], made["username"]) == (True, [], None)
    assert made["opted_out_at"] == made["created_at"] == made["updated_at"]
    assert made["conversation"]["id"] == made["id"].replace("ct_", "cv_")
    assert (await gateway.call("GET", f"{CONTACTS}/{made['id']}")).json()["data"] == made
    (event,) = await seen(gateway, "created")
    assert (event["id"], event["name"], event["custom"]) == (made["id"], "Ana Silva", {"city": "São Paulo"})
    assert [e["type"] for e in await feed(gateway)] == ["contact_notifications", "chat_notification"]


async def test_a_known_number_is_not_made_again(gateway: Gateway) -> None:
    made = await make(gateway, PERSON)
    refused = await gateway.call("POST", CONTACTS, {"phone": PERSON, "name": "Other"})
    error = check_refused(refused, 409, "contact_exists", "phone")
    assert made["id"] in error["fields"][0]["message"]
    stranger = await gateway.new_stranger()
    assert (await gateway.call("POST", CONTACTS, {"phone": PERSON}, key=stranger)).status == 201


async def test_the_same_key_makes_it_once(gateway: Gateway) -> None:
    headers = {"Idempotency-Key": "one"}
    first = await gateway.call("POST", CONTACTS, {"phone": PERSON}, headers=headers)
    again = await gateway.call("POST", CONTACTS, {"phone": PERSON}, headers=headers)
    assert (again.status, again.body) == (201, first.body)
    assert again.headers["idempotent-replayed"] == "true"
    other = await gateway.call("POST", CONTACTS, {"phone": "5511999997777"}, headers=headers)
    check_refused(other, 422, "idempotency_key_reused")
    assert len(await seen(gateway, "created")) == 1


async def test_what_a_contact_refuses(gateway: Gateway) -> None:
    twenty = {f"f{i}": "x" for i in range(20)}
    await make(gateway, "5511999990001", "n" * 256, custom=twenty)
    await make(gateway, "5511999990002", custom={"n" * 64: "v" * 1024})
    before = await written(gateway)
    wrong: list[tuple[dict[str, Any], str, str]] = [
        ({"phone": "+5511999998888"}, "invalid_phone", "phone"),
        ({"phone": PERSON, "name": "n" * 257}, "invalid_field", "name"),
        ({"phone": PERSON, "name": " "}, "invalid_field", "name"),
        ({"phone": PERSON, "name": "a\0b"}, "invalid_field", "name"),
        ({"phone": PERSON, "custom": twenty | {"one": "more"}}, "invalid_field", "custom"),
        ({"phone": PERSON, "custom": {"n" * 65: "x"}}, "invalid_field", "custom"),
        ({"phone": PERSON, "custom": {" ": "x"}}, "invalid_field", "custom"),
        ({"phone": PERSON, "custom": {"a": "v" * 1025}}, "invalid_field", "custom.a"),
        ({"phone": PERSON, "custom": {"a": 5}}, "invalid_field", "custom.a"),
        ({"phone": PERSON, "custom": {"Phone": "x"}}, "invalid_field", "custom.Phone"),
        ({"phone": PERSON, "nickname": "x"}, "invalid_field", "nickname"),
        ({"name": "Ana"}, "invalid_field", "phone"),
    ]
    for body, code, field in wrong:
        check_refused(await gateway.call("POST", CONTACTS, body), 422, code, field, about=body)
    assert await written(gateway) == before


async def test_changes_are_reported_with_their_fields(gateway: Gateway) -> None:
    one = f"{CONTACTS}/{(await make(gateway, PERSON, 'Ana', custom={'a': '1', 'b': '2'}))['id']}"
    changed = (await gateway.call("PATCH", one, {"custom": {"a": None, "c": "3"}, "opted_out": True})).json()["data"]
    assert (changed["name"], changed["custom"], changed["opted_out"]) == ("Ana", {"b": "2", "c": "3"}, True)
    same = await gateway.call("PATCH", one, {"name": "Ana", "opted_out": True})
    assert same.json()["data"] == changed
    bare = (await gateway.call("PATCH", one, {"name": None, "opted_out": False})).json()["data"]
    assert (bare["name"], bare["opted_out"], bare["opted_out_at"]) == (None, False, None)
    assert [event["changed"] for event in await seen(gateway, "updated")] == [
        ["opted_out", "custom"],
        ["name", "opted_out"],
    ]
    check_refused(await gateway.call("PATCH", one, {}), 422, "invalid_field", "body")
    check_refused(
        await gateway.call("PATCH", one, {"custom": {f"f{i}": "x" for i in range(19)}}), 422, "invalid_field", "custom"
    )
    assert (await gateway.call("PATCH", one, {"custom": {f"f{i}": "x" for i in range(18)}})).status == 200


async def test_pages_are_stable_under_inserts(gateway: Gateway) -> None:
    for i in range(5):
        await make(gateway, f"551199999000{i}", f"P{i}")
    first = (await gateway.call("GET", f"{CONTACTS}?limit=2")).json()
    await make(gateway, "5511999990009", "P9")
    second = (await gateway.call("GET", f"{CONTACTS}?limit=2&cursor={first['paging']['next']}")).json()
    third = (await gateway.call("GET", f"{CONTACTS}?limit=2&cursor={second['paging']['next']}")).json()
    pages = [[contact["name"] for contact in page["data"]] for page in (first, second, third)]
    assert pages == [["P4", "P3"], ["P2", "P1"], ["P0"]]
    assert third["paging"]["next"] is None


async def test_search_by_name_last_name_and_number(gateway: Gateway) -> None:
    people = {
        "5511999990001": "Ana Anders",
        "5511999990002": "Bob Anton",
        "4915112345678": "Zoé",
        "4400000001": "49ers",
    }
    for phone, name in people.items():
        await make(gateway, phone, name)
    await make(gateway, "5599999999")
    assert await found(gateway, "q=an") == ["Ana Anders", "Bob Anton"]
    assert await found(gateway, "q=ZOÉ") == ["Zoé"]
    assert await found(gateway, "q=Ana+And") == ["Ana Anders"]
    assert await found(gateway, "q=49") == ["Zoé", "49ers"]
    assert await found(gateway, "q=55") == ["Ana Anders", "Bob Anton", "5599999999"]
    assert await found(gateway, "q=nders") == []
    assert await found(gateway, "q=%25") == []
    assert await found(gateway, "q=an", await gateway.new_stranger()) == []
    page = (await gateway.call("GET", f"{CONTACTS}?q=55&limit=2")).json()
    rest = (await gateway.call("GET", f"{CONTACTS}?q=55&limit=2&cursor={page['paging']['next']}")).json()
    assert [contact["phone"] for contact in rest["data"]] == ["5599999999"]
    assert len(await found(gateway, "q=" + "n" * 64)) == 0
    for query, field in (("q=" + "n" * 65, "q"), ("q=+", "q"), ("q=%00", "q"), (f"q=a&phone={PERSON}", "q")):
        check_refused(await gateway.call("GET", f"{CONTACTS}?{query}"), 422, "invalid_field", field)


async def test_a_given_name_goes_before_the_networks(gateway: Gateway) -> None:
    say = {"phone_number_id": "100000000000001", "from": PERSON, "text": "Hello?", "name": "Own Name"}
    await gateway.sandbox("POST", "/control/say", say)

    async def known() -> Any:
        return (await gateway.call("GET", f"{CONTACTS}?phone={PERSON}")).json()["data"]

    (contact,) = await until(known)
    assert contact["name"]
    await gateway.call("PATCH", f"{CONTACTS}/{contact['id']}", {"name": "Given"})
    assert await found(gateway, "q=giv") == ["Given"]
    assert await found(gateway, f"q={contact['name'][:3]}") == []
    bare = (await gateway.call("PATCH", f"{CONTACTS}/{contact['id']}", {"name": None})).json()["data"]
    assert bare["name"] == contact["name"]


async def test_filters_combine(gateway: Gateway) -> None:
    ana = await make(gateway, "5511999990001", "Ana", opted_out=True)
    bob = await make(gateway, "5511999990002", "Bob")
    await make(gateway, "5511999990003", "Eve", opted_out=True)
    label = (await gateway.call("POST", "/api/v1/labels", {"name": "VIP"})).json()["data"]
    for contact in (ana, bob):
        assert (await gateway.call("PUT", f"{CONTACTS}/{contact['id']}/labels/{label['id']}")).status == 200
    vip = f"label={label['id']}"
    assert await found(gateway, "opted_out=true") == ["Eve", "Ana"]
    assert await found(gateway, "opted_out=false") == ["Bob"]
    assert await found(gateway, vip) == ["Bob", "Ana"]
    assert await found(gateway, f"{vip}&opted_out=true") == ["Ana"]
    assert await found(gateway, f"{vip}&opted_out=true&q=b") == []
    assert await found(gateway, f"{vip}&q=b") == ["Bob"]
    assert await found(gateway, f"{vip}&phone=5511999990001") == ["Ana"]
    assert await found(gateway, f"{vip}&phone=5511999990003") == []
    assert await found(gateway, "phone=5511999990001&opted_out=false") == []
    shown = (await gateway.call("GET", f"{CONTACTS}/{ana['id']}")).json()["data"]["labels"]
    assert shown == [{"id": label["id"], "name": "VIP", "color": label["color"]}]
    for query, field in (("opted_out=maybe", "opted_out"), ("label=x", "label"), ("name=Ana", "name")):
        check_refused(await gateway.call("GET", f"{CONTACTS}?{query}"), 422, "invalid_field", field)
    check_refused(await gateway.call("GET", f"{CONTACTS}?cursor=x"), 400, "invalid_cursor")


async def test_a_deleted_contact_leaves_its_messages(gateway: Gateway) -> None:
    sent = await gateway.send(phone=PERSON, body="Hello")
    contact = (await gateway.call("GET", f"{CONTACTS}?phone={PERSON}")).json()["data"][0]
    assert (await gateway.call("DELETE", f"{CONTACTS}/{contact['id']}")).status == 200
    check_refused(await gateway.call("GET", f"{CONTACTS}/{contact['id']}"), 404, "not_found")
    check_refused(await gateway.call("DELETE", f"{CONTACTS}/{contact['id']}"), 404, "not_found")
    message = (await gateway.call("GET", f"/api/v1/messages/{sent}")).json()["data"]
    assert message["key"]["remoteJid"].startswith(PERSON)
    (gone,) = await seen(gateway, "deleted")
    assert (gone["id"], gone["phone"]) == (contact["id"], PERSON)
    await gateway.until_status(sent, "READ")
    again = await gateway.send(phone=PERSON, body="Hello again")
    await gateway.until_status(again, "READ")
    (fresh,) = (await gateway.call("GET", f"{CONTACTS}?phone={PERSON}")).json()["data"]
    assert fresh["id"] != contact["id"]


async def test_two_become_one(gateway: Gateway) -> None:
    ana = await make(gateway, PERSON, custom={"a": "1"})
    other = await make(gateway, "5511999997777", "Ana", custom={"a": "2", "b": "2"}, opted_out=True)
    merge = f"{CONTACTS}/{ana['id']}/merge"
    for contact, note in ((ana, "Pays late"), (other, "Wants it on Friday")):
        await gateway.call("PATCH", f"/api/v1/conversations/{contact['conversation']['id']}", {"note": note})
    merged = (await gateway.call("POST", merge, {"with": other["id"]})).json()["data"]
    assert (merged["id"], merged["phone"], merged["name"]) == (ana["id"], PERSON, "Ana")
    assert (merged["custom"], merged["opted_out"]) == ({"a": "1", "b": "2"}, True)
    check_refused(await gateway.call("GET", f"{CONTACTS}/{other['id']}"), 404, "not_found")
    assert (await gateway.call("GET", f"{CONTACTS}?phone=5511999997777")).json()["data"][0]["id"] == ana["id"]
    conversation = await gateway.call("GET", f"/api/v1/conversations/{ana['conversation']['id']}")
    assert conversation.json()["data"]["note"] == "Pays late\nWants it on Friday"
    (event,) = await seen(gateway, "updated")
    assert (event["joined"], event["changed"]) == ([other["id"]], ["history", "name", "opted_out", "custom"])
    check_refused(await gateway.call("POST", merge, {"with": other["id"]}), 404, "not_found")
    check_refused(await gateway.call("POST", merge, {"with": "nobody"}), 404, "not_found")
    check_refused(await gateway.call("POST", merge, {"with": ana["id"]}), 422, "invalid_field", "with")


async def test_nobody_sees_a_strangers_contacts(gateway: Gateway) -> None:
    contact = await make(gateway, PERSON)
    stranger, one = await gateway.new_stranger(), f"{CONTACTS}/{contact['id']}"
    assert await found(gateway, "", stranger) == []
    for method, path, body in (
        ("GET", one, None),
        ("PATCH", one, {"name": "Mine"}),
        ("DELETE", one, None),
        ("POST", f"{one}/merge", {"with": contact["id"].replace("ct_0", "ct_1")}),
    ):
        check_refused(await gateway.call(method, path, body, key=stranger), 404, "not_found", about=method)
    assert (await gateway.call("GET", one)).json()["data"] == contact


# -- marketing --------------------------------------------------------------------------------------------------------


async def test_no_bulk_to_people_who_opted_out(gateway: Gateway) -> None:
    contact = await make(gateway, PERSON, opted_out=True)
    before = await written(gateway)
    bulk = {"phone": PERSON, "body": "Sale!", "priority": "bulk"}
    error = check_refused(await gateway.call("POST", SEND, bulk), 422, "opted_out", "phone")
    assert error["retryable"] is False
    assert await written(gateway) == before
    assert (await gateway.call("POST", SEND, {"phone": PERSON, "body": "Your order"})).status == 200
    assert (await gateway.call("POST", SEND, bulk | {"phone": "5511999997777"})).status == 200
    await gateway.call("PATCH", f"{CONTACTS}/{contact['id']}", {"opted_out": False})
    assert (await gateway.call("POST", SEND, bulk)).status == 200


async def test_no_bulk_to_any_number_of_theirs(gateway: Gateway) -> None:
    ana, other = await make(gateway, PERSON, opted_out=True), await make(gateway, "5511999997777")
    await gateway.call("POST", f"{CONTACTS}/{ana['id']}/merge", {"with": other["id"]})
    bulk = {"phone": "5511999997777", "body": "Sale!", "priority": "bulk"}
    check_refused(await gateway.call("POST", SEND, bulk), 422, "opted_out", "phone")


# -- who is there -----------------------------------------------------------------------------------------------------


async def test_the_official_network_cannot_check_numbers(gateway: Gateway) -> None:
    refused = await gateway.call("POST", f"{CONTACTS}/check", {"phones": [PERSON]})
    check_refused(refused, 422, "unsupported_on_channel")


async def test_a_check_without_a_link_is_refused(gateway: Gateway) -> None:
    key = await gateway.new_key((await gateway.new_qr_channel(gateway.account_id)).id)
    check, most = f"{CONTACTS}/check", [f"55119999900{i:02d}" for i in range(50)]
    check_refused(await gateway.call("POST", check, {"phones": most}, key=key), 409, "channel_not_connected")
    for phones, code, field in (
        ([*most, PERSON], "invalid_field", "phones"),
        ([], "invalid_field", "phones"),
        ([PERSON, "x"], "invalid_phone", "phones[1]"),
    ):
        check_refused(await gateway.call("POST", check, {"phones": phones}, key=key), 422, code, field)


async def test_a_linked_phone_checks_which_numbers_exist(gateway: Gateway) -> None:
    phone, absent = "15550003333", "5511999990404"
    channel = await gateway.new_qr_channel(gateway.account_id, phone)
    gateway.key = await gateway.new_key(channel.id)
    await gateway.sandbox("PUT", f"/control/people/{absent}", {"character": "absent"})
    assert (await gateway.call("POST", "/api/v1/channel/connect")).status == 200
    code = (await gateway.call("GET", "/api/v1/channel/qr")).json()["data"]["code"]
    await gateway.sandbox("POST", f"/control/phones/{phone}/scan", {"code": code})

    async def checked() -> Any:
        answer = await gateway.call("POST", f"{CONTACTS}/check", {"phones": [PERSON, absent, PERSON]})
        return answer.json()["data"] if answer.status == 200 else None

    contact = await make(gateway, PERSON)
    there = {"phone": PERSON, "exists": True, "contact": contact["id"]}
    assert await until(checked) == [there, {"phone": absent, "exists": False, "contact": None}, there]
