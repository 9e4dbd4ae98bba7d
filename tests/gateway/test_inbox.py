"""The inbox: conversations by name, number and words, by assignee and by closing window, and their counts."""

from datetime import timedelta
from typing import Any

from gatepost.admin import accounts
from gatepost.model import ids
from gatepost.model.account import Plan
from gatepost.services.conversations import CONTACTS
from tests.gateway.checks import PERSON, check_refused
from tests.gateway.people import new_person
from tests.gateway.test_conversations import CONVERSATIONS, PEOPLE, listed, phones, say, the_one
from tests.running_gateway import Gateway

COUNTS = f"{CONVERSATIONS}/counts"


async def counts(gateway: Gateway, query: str = "") -> Any:
    found = await gateway.call("GET", COUNTS + query)
    assert found.status == 200, found.body
    return found.json()["data"]


async def set_last_incoming(gateway: Gateway, phone: str, age: timedelta) -> None:
    """Make a person's newest message this old."""
    async with gateway.db.connection() as conn:
        await conn.execute(
            "UPDATE conversations SET last_in_at = $2 WHERE contact_id = (SELECT id FROM contacts WHERE phone = $1)",
            phone,
            gateway.clock.now() - age,
        )


async def test_search_by_name_number_and_words(gateway: Gateway) -> None:
    ana, bob, cid = PEOPLE[:3]
    await say(gateway, "Where is my order?", ana, name="Ana Silva")
    await say(gateway, "Bom dia, Ana", bob, later=2, name="Bob")
    await say(gateway, "🙂", cid, later=2, name="🙂 Cid")
    for query, expected in {
        "q=ana": [bob, ana],  # a name, and a word of a message
        "q=SILV": [ana],
        "q=Ana%20S": [ana],
        "q=order": [ana],
        "q=where%20ord": [ana],
        "q=order%20where%20dia": [],
        f"q={bob}": [bob],
        "q=%2B55%20(11)%2090000": [cid, bob, ana],
        "q=%F0%9F%99%82": [cid],  # no word: names only
        "q=ana&limit=1": [bob],
        f"q=ana&phone={ana}": [ana],
        f"q=order&phone={bob}": [],
        "q=ana&status=closed": [],
        "q=ana&unread=true": [bob, ana],
        "q=nothing": [],
    }.items():
        assert await phones(gateway, f"?{query}") == expected, query
    first = await listed(gateway, "?q=ana&limit=1")
    second = await listed(gateway, f"?q=ana&limit=1&cursor={first['paging']['next']}")
    assert [one["contact"]["phone"] for one in second["data"]] == [ana]
    label = (await gateway.call("POST", "/api/v1/labels", {"name": "VIP"})).json()["data"]["id"]
    await gateway.call("PUT", f"{CONVERSATIONS}/{second['data'][0]['id']}/labels/{label}")
    assert await phones(gateway, f"?q=ana&label={label}") == [ana]


async def test_a_search_is_bounded(gateway: Gateway) -> None:
    await gateway.send(phone=PERSON, body="Hello")
    async with gateway.db.connection() as conn:
        await conn.execute(
            """WITH made AS (INSERT INTO contacts (channel_id, id, phone, name, created_at, updated_at)
                   SELECT channel_id, gen_random_uuid(), '44' || i, 'Zoe', now(), now()
                   FROM contacts CROSS JOIN generate_series(1, $1::int) i RETURNING channel_id, id)
               INSERT INTO conversations (channel_id, contact_id, created_at, last_message_id)
               SELECT channel_id, id, now(), gen_random_uuid() FROM made""",
            CONTACTS + 1,
        )
    found, cursor = 0, ""
    while cursor is not None:
        page = await listed(gateway, f"?q=zoe&limit=100{cursor and '&cursor=' + cursor}")
        found, cursor = found + len(page["data"]), page["paging"]["next"]
    assert found == CONTACTS


async def test_bad_searches(gateway: Gateway) -> None:
    for query, field in {
        "q=": "q",
        "q=%20": "q",
        "q=" + "x" * 201: "q",
        "q=" + "%20".join("abcdefghijk"): "q",
        "q=%00": "q",
        "assignee=usr_1": "assignee",
        "assignee=%00": "assignee",
        "window=open": "window",
        "window=closing&closing_hours=0": "closing_hours",
        "window=closing&closing_hours=25": "closing_hours",
    }.items():
        check_refused(await gateway.call("GET", f"{CONVERSATIONS}?{query}"), 422, "invalid_field", field, query)
    check_refused(await gateway.call("GET", f"{COUNTS}?closing_hours=25"), 422, "invalid_field", "closing_hours")


async def test_assignees(gateway: Gateway) -> None:
    for phone in PEOPLE[:3]:
        await gateway.send(phone=phone, body="Hello")
    by_phone = {one["contact"]["phone"]: one["id"] for one in (await listed(gateway))["data"]}
    agent = await new_person(gateway, "agent")
    agent_id = ids.format_id("usr", agent.user.id)
    for phone, assignee in ((PEOPLE[0], agent_id), (PEOPLE[1], "Anna")):
        changed = await gateway.call("PATCH", f"{CONVERSATIONS}/{by_phone[phone]}", {"assignee": assignee})
        assert changed.json()["data"]["assignee"] == assignee
    for query, expected in {
        f"assignee={agent_id}": [PEOPLE[0]],
        f"assignee={agent_id}&status=closed": [],
        f"assignee={agent_id}&phone={PEOPLE[0]}": [PEOPLE[0]],
        f"assignee={agent_id}&phone={PEOPLE[1]}": [],
        "assignee=Anna": [PEOPLE[1]],
        "assignee=none": [PEOPLE[2]],
        f"assignee=none&phone={PEOPLE[1]}": [],
        f"assignee={ids.format_id('usr', ids.ZERO)}": [],
    }.items():
        assert await phones(gateway, f"?{query}") == expected, query
    assert (await counts(gateway)) == {
        "open": 3,
        "unread": 0,
        "mine": None,
        "unassigned": 1,
        "closing": 0,
        "complete": True,
    }
    assert (await agent.call("GET", COUNTS)).json()["data"]["mine"] == 1
    await gateway.call("PATCH", f"{CONVERSATIONS}/{by_phone[PEOPLE[0]]}", {"status": "closed"})
    await gateway.call("PATCH", f"{CONVERSATIONS}/{by_phone[PEOPLE[2]]}", {"archived": True})
    mine = (await agent.call("GET", COUNTS)).json()["data"]
    assert (mine["open"], mine["mine"], mine["unassigned"]) == (1, 0, 0)


async def test_an_assignee_is_a_user_of_the_account(gateway: Gateway) -> None:
    await say(gateway)
    path = f"{CONVERSATIONS}/{(await the_one(gateway))['id']}"
    other = await accounts.create_account(
        gateway.db, "Other", "free", plans={"free": Plan("Free")}, trial_days=14, now=gateway.clock.now()
    )
    stranger = await new_person(gateway, account_id=other.id, signed_in=False)
    for assignee in (ids.format_id("usr", stranger.user.id), ids.format_id("usr", ids.ZERO), "usr_1"):
        answer = await gateway.call("PATCH", path, {"assignee": assignee})
        check_refused(answer, 422, "invalid_field", "assignee")
    assert (await the_one(gateway))["assignee"] is None


async def test_windows_that_close_soon(gateway: Gateway) -> None:
    for phone in PEOPLE[:4]:
        await say(gateway, phone=phone)
    hour, second = timedelta(hours=1), timedelta(seconds=30)
    await set_last_incoming(gateway, PEOPLE[0], 20 * hour - second)  # closes in a little more than 4 hours
    await set_last_incoming(gateway, PEOPLE[1], 20 * hour + second)
    await set_last_incoming(gateway, PEOPLE[2], 24 * hour - second)
    await set_last_incoming(gateway, PEOPLE[3], 24 * hour + second)  # closed already
    assert sorted(await phones(gateway, "?window=closing")) == PEOPLE[1:3]
    assert await phones(gateway, "?window=closing&closing_hours=1") == [PEOPLE[2]]
    assert await phones(gateway, f"?window=closing&phone={PEOPLE[0]}") == []
    assert await phones(gateway, f"?window=closing&phone={PEOPLE[1]}") == [PEOPLE[1]]
    found = await counts(gateway)
    assert (found["closing"], found["unread"], found["open"]) == (2, 4, 4)
    assert (await counts(gateway, "?closing_hours=1"))["closing"] == 1
