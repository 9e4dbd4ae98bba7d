"""Drafts over REST: created once, listed, edited, approved and refused, by whom they may be."""

import asyncio
from typing import Any

from gatepost.model import ids
from gatepost.model.draft import WAITING_MAX
from tests.for_each import for_each
from tests.gateway.checks import check_refused, until
from tests.gateway.people import new_person
from tests.running_gateway import Answer, Gateway

DRAFTS = "/api/v1/drafts"
PERSON = "5511999998888"
NOTHING = "drf_" + "0" * 32
HELLO = {"phone": PERSON, "body": "Hello"}


async def create(gateway: Gateway, body: str = "Hello", **more: Any) -> Any:
    answer = await gateway.call("POST", DRAFTS, {"message": {"phone": PERSON, "body": body}, **more})
    assert answer.status == 201, answer.body
    return answer.json()["data"]


async def decide(gateway: Gateway, draft: Any, decision: str, body: Any, **options: Any) -> Answer:
    return await gateway.call("POST", f"{DRAFTS}/{draft['id']}/{decision}", body, **options)


async def listed(gateway: Gateway, query: str = "") -> list[str]:
    answer = await gateway.call("GET", f"{DRAFTS}?{query}")
    assert answer.status == 200, answer.body
    return [draft["id"] for draft in answer.json()["data"]]


async def count(gateway: Gateway, **options: Any) -> Any:
    answer = await gateway.call("GET", f"{DRAFTS}/counts", **options)
    assert answer.status == 200, answer.body
    return answer.json()["data"]


async def sent_messages(gateway: Gateway) -> list[Any]:
    found: list[Any] = (await gateway.call("GET", "/api/v1/messages?direction=out")).json()["data"]
    return found


async def test_a_draft_to_somebody_new(gateway: Gateway) -> None:
    made = await create(gateway, comment="Is this right?")
    key = {"kind": "key", "id": made["created_by"]["id"], "label": "test"}
    assert made == {
        "id": made["id"],
        "conversation": None,
        "contact": None,
        "phone": PERSON,
        "message": made["message"],
        "state": "waiting",
        "rule": None,
        "reason": "Is this right?",
        "created_by": key,
        "created_at": made["created_at"],
        "edited_at": None,
        "edited_by": None,
        "expires_at": made["expires_at"],
        "decided_at": None,
        "decided_by": None,
        "comment": None,
        "message_id": None,
        "written_since": False,
        "revision": 1,
    }
    assert {name: made["message"][name] for name in HELLO} == HELLO
    assert None not in made["message"].values()
    assert (await gateway.call("GET", f"{DRAFTS}/{made['id']}")).json()["data"] == made
    assert await sent_messages(gateway) == []


async def test_edited_and_approved_by_an_agent(gateway: Gateway) -> None:
    made, agent = await create(gateway), await new_person(gateway, "agent", name="Ana")
    edited = await agent.call(
        "PATCH", f"{DRAFTS}/{made['id']}", {"message": HELLO | {"body": "Good morning"}, "revision": 1}
    )
    assert edited.status == 200, edited.body
    shown = edited.json()["data"]
    assert (shown["message"]["body"], shown["revision"], shown["edited_by"]["label"]) == ("Good morning", 2, "Ana")
    for method, path, body in (
        ("PATCH", made["id"], {"message": HELLO, "revision": 1}),
        ("POST", f"{made['id']}/approve", {"revision": 1}),
    ):
        check_refused(await agent.call(method, f"{DRAFTS}/{path}", body), 409, "wrong_state", about=path)
    approved = await agent.call("POST", f"{DRAFTS}/{made['id']}/approve", {"revision": 2})
    assert approved.status == 200, approved.body
    sent = approved.json()["data"]
    assert (sent["state"], sent["decided_by"]["label"]) == ("sent", "Ana")
    (message,) = await sent_messages(gateway)
    assert (message["key"]["id"], message["content"]["body"]) == (sent["message_id"], "Good morning")
    assert message["sent_by"]["label"] == "Ana"
    assert sent["conversation"] == message["conversation"]["id"]
    for path, body in (("approve", {}), ("refuse", {})):
        check_refused(await decide(gateway, made, path, body), 409, "wrong_state", about=path)
    check_refused(await gateway.call("PATCH", f"{DRAFTS}/{made['id']}", {"message": HELLO}), 409, "wrong_state")


async def test_refused_with_a_comment(gateway: Gateway) -> None:
    made = await create(gateway)
    refused = (await decide(gateway, made, "refuse", {"comment": "No promises"})).json()["data"]
    assert (refused["state"], refused["comment"], refused["message_id"]) == ("refused", "No promises", None)
    check_refused(await decide(gateway, made, "approve", {}), 409, "wrong_state")
    assert await sent_messages(gateway) == []


async def test_lists(gateway: Gateway) -> None:
    first, second, third = [(await create(gateway, body))["id"] for body in ("One", "Two", "Three")]
    assert await listed(gateway) == [third, second, first]
    assert await count(gateway) == {"waiting": 3}
    page = (await gateway.call("GET", f"{DRAFTS}?limit=2")).json()
    assert await listed(gateway, f"limit=2&cursor={page['paging']['next']}") == [first]
    await decide(gateway, {"id": first}, "refuse", {})
    sent = (await decide(gateway, {"id": second}, "approve", {})).json()["data"]
    assert await listed(gateway, "state=waiting") == [third]
    assert await listed(gateway, "state=refused") == [first]
    assert await listed(gateway, "state=sent") == [second]
    assert await listed(gateway, "state=expired") == []
    assert await count(gateway) == {"waiting": 1}
    assert await listed(gateway, f"conversation={sent['conversation']}") == [third, second, first]
    assert await listed(gateway, f"conversation={sent['conversation']}&state=sent") == [second]
    for query, field in (("state=new", "state"), ("conversation=ct_1", "conversation")):
        check_refused(await gateway.call("GET", f"{DRAFTS}?{query}"), 422, "invalid_field", field, about=query)


async def test_long_drafts_are_listed_a_few_at_a_time(gateway: Gateway) -> None:
    phones = [{"phone": "1" * 1000, "type": "2" * 1000, "wa_id": "3" * 1000} for _ in range(20)]
    cards = [{"name": {"formatted_name": "Ana"}, "phones": phones}] * 16
    made = []
    for _ in range(7):
        body = {"message": {"phone": PERSON, "type": "contacts", "contacts": cards}}
        made.append((await gateway.call("POST", DRAFTS, body)).json()["data"]["id"])
    pages, cursor = [], ""
    while cursor is not None:
        answer = (await gateway.call("GET", f"{DRAFTS}?limit=100{cursor and '&cursor=' + cursor}")).json()
        pages.append([draft["id"] for draft in answer["data"]])
        cursor = answer["paging"]["next"]
    assert pages == [made[:1:-1], made[1::-1]]


async def test_the_person_has_written_since(gateway: Gateway) -> None:
    made = await create(gateway)
    said = {"from": PERSON, "type": "text", "text": {"body": "?"}}
    await gateway.sandbox("POST", "/control/numbers/100000000000001/incoming", said)

    async def written() -> bool:
        return bool((await gateway.call("GET", f"{DRAFTS}/{made['id']}")).json()["data"]["written_since"])

    await until(written)
    check_refused(await decide(gateway, made, "approve", {}), 409, "conversation_changed")
    assert await listed(gateway, "state=waiting") == [made["id"]]
    assert (await decide(gateway, made, "approve", {"anyway": True})).json()["data"]["state"] == "sent"


async def test_the_person_has_another_number_since(gateway: Gateway) -> None:
    await gateway.sandbox("PUT", f"/control/people/{PERSON}", {})
    said = {"from": PERSON, "type": "text", "text": {"body": "?"}}
    await gateway.sandbox("POST", "/control/numbers/100000000000001/incoming", said)
    await until(lambda: contact_at(gateway, PERSON))
    made = await create(gateway)
    await gateway.sandbox("POST", f"/control/people/{PERSON}/number", {"phone": "5511999997777"})
    await until(lambda: contact_at(gateway, "5511999997777"))
    check_refused(await decide(gateway, made, "approve", {"anyway": True}), 409, "wrong_state")
    assert await sent_messages(gateway) == []
    assert await listed(gateway, "state=waiting") == [made["id"]]


async def contact_at(gateway: Gateway, phone: str) -> bool:
    return bool((await gateway.call("GET", f"/api/v1/contacts?phone={phone}")).json()["data"])


async def test_of_many_approvals_one_sends(gateway: Gateway) -> None:
    made = await create(gateway)
    answers = await asyncio.gather(*(decide(gateway, made, "approve", {"anyway": True}) for _ in range(10)))
    assert sorted(answer.status for answer in answers) == [200] + [409] * 9
    assert len(await sent_messages(gateway)) == 1


async def test_created_once_per_key(gateway: Gateway) -> None:
    once, body = {"idempotency-key": "d-1"}, {"message": HELLO}
    answers = [await gateway.call("POST", DRAFTS, body, headers=once) for _ in range(2)]
    assert [answer.status for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert answers[1].headers["idempotent-replayed"] == "true"
    other = await gateway.call("POST", DRAFTS, {"message": HELLO | {"body": "Bye"}}, headers=once)
    check_refused(other, 422, "idempotency_key_reused")
    assert len(await listed(gateway)) == 1


@for_each(
    ("body", "code", "field"),
    [
        ({}, "invalid_field", "message"),
        ({"message": {"body": "x"}}, "invalid_field", "phone"),
        ({"message": {"phone": PERSON}}, "invalid_field", "body"),
        ({"message": {"phone": "+55", "body": "x"}}, "invalid_phone", "phone"),
        ({"message": HELLO | {"type": "fax"}}, "invalid_field", "message.type"),
        ({"message": HELLO, "comment": "x" * 1001}, "invalid_field", "comment"),
        ({"message": HELLO, "comment": "\x00"}, "invalid_field", "comment"),
        ({"message": HELLO, "state": "sent"}, "invalid_field", "state"),
    ],
)
async def test_wrong_drafts(gateway: Gateway, body: Any, code: str, field: str) -> None:
    check_refused(await gateway.call("POST", DRAFTS, body), 422, code, field, about=body)


async def test_limits(gateway: Gateway) -> None:
    made = await create(gateway, "x" * 4096, comment="x" * 1000)
    check_refused(
        await gateway.call("POST", DRAFTS, {"message": HELLO | {"body": "x" * 4097}}), 422, "invalid_field", "body"
    )
    elsewhere = await gateway.call("PATCH", f"{DRAFTS}/{made['id']}", {"message": HELLO | {"phone": "5511999997777"}})
    check_refused(elsewhere, 422, "invalid_field", "message.phone")
    refused = await decide(gateway, made, "refuse", {"comment": "x" * 1001})
    check_refused(refused, 422, "invalid_field", "comment")
    assert (await decide(gateway, made, "refuse", {"comment": "x" * 1000})).status == 200


async def test_so_many_can_wait(gateway: Gateway) -> None:
    made = [await create(gateway) for _ in range(2)]
    async with gateway.db.connection() as conn:  # 998 copies of the first
        await conn.execute(
            """INSERT INTO drafts SELECT (r).* FROM (
                   SELECT jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid())) AS r
                   FROM drafts d, generate_series(1, $2) WHERE id = $1) copies""",
            ids.parse_id("drf", made[0]["id"]),
            WAITING_MAX - 2,
        )
    full = await gateway.call("POST", DRAFTS, {"message": HELLO})
    check_refused(full, 409, "wrong_state")
    assert "1,000 drafts" in full.json()["message"]
    assert await count(gateway) == {"waiting": WAITING_MAX}
    await decide(gateway, made[1], "refuse", {})
    await create(gateway)


async def test_who_may_what(gateway: Gateway) -> None:
    made = await create(gateway)
    path = f"{DRAFTS}/{made['id']}"
    channel = ids.parse_id("ch", gateway.channel)
    assert channel
    reader = await new_person(gateway, "reader")
    keys = {scope: await gateway.new_key(channel, scopes=(scope,)) for scope in ("read", "mcp", "manage")}
    assert (await reader.call("GET", path)).status == 200
    assert (await gateway.call("GET", path, key=keys["read"])).status == 200
    changes: list[tuple[str, str, Any]] = [
        ("POST", DRAFTS, {"message": HELLO}),
        ("PATCH", path, {"message": HELLO}),
        ("POST", path + "/approve", {}),
        ("POST", path + "/refuse", {}),
    ]
    for method, aim, body in changes:
        check_refused(await reader.call(method, aim, body), 403, "missing_scope", about=aim)
        for scope, key in keys.items():
            answer = await gateway.call(method, aim, body, key=key)
            check_refused(answer, 403, "missing_scope", about=(aim, scope))
    theirs = await gateway.new_channel(await gateway.new_account(), "15550002222", "100000000000002")
    stranger = await gateway.new_key(theirs.id)
    for method, aim, body in (("GET", path, None), *changes[1:]):
        check_refused(await gateway.call(method, aim, body, key=stranger), 404, "not_found", about=aim)
        check_refused(await gateway.call(method, aim.replace(made["id"], NOTHING), body), 404, "not_found", about=aim)
    assert (await gateway.call("GET", DRAFTS, key=stranger)).json()["data"] == []
    assert (await count(gateway, key=stranger), await count(gateway, key=keys["read"])) == (
        {"waiting": 0},
        {"waiting": 1},
    )
    check_refused(await gateway.call("GET", f"{DRAFTS}/counts", key=keys["mcp"]), 403, "missing_scope")
    assert (await gateway.call("GET", path)).json()["data"] == made
