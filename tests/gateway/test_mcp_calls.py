"""What assistants called, and the conversations that they gave to a person."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.mcp_call import CallResult, McpCall
from gatepost.store.keys import list_keys
from gatepost.store.mcp.calls import CallRecord, insert_calls
from gatepost.store.mcp.conversations import insert_handover, list_handovers
from tests.gateway.checks import check_refused
from tests.gateway.people import new_person
from tests.running_gateway import Gateway

CALLS = "/api/v1/mcp/calls"


async def record(gateway: Gateway, key_id: UUID, at: datetime, tool: str, result: CallResult) -> None:
    channel_id = ids.parse_id("ch", gateway.channel)
    assert channel_id
    call = McpCall(ids.new_id(at), key_id, at, "Helper/2.1", "stdio", tool, '{"body": "Hi"}')
    async with gateway.db.transaction() as conn:
        await insert_calls(conn, channel_id, [CallRecord(call, result)])


async def only_key(gateway: Gateway) -> UUID:
    channel_id = ids.parse_id("ch", gateway.channel)
    assert channel_id
    return (await list_keys(gateway.db, channel_id))[0].id


async def talked(gateway: Gateway) -> UUID:
    """Return the contact of a new conversation."""
    sent = await gateway.send(phone="5511999998888", body="Hello")
    found = (await gateway.call("GET", f"/api/v1/messages/{sent}")).json()["data"]
    contact_id = ids.parse_id("ct", found["contact"]["id"])
    assert contact_id
    return contact_id


async def test_the_log_by_page_and_filter(gateway: Gateway) -> None:
    now, key, contact = gateway.clock.now(), await only_key(gateway), await talked(gateway)
    gone = ids.new_id(now)
    results = [
        (key, "send_text", CallResult("draft", "mode", None, contact, ("drf_1", "msg_2"))),
        (key, "find_contacts", CallResult("done")),
        (gone, "send_text", CallResult("refused", "recipients", "policy_refused", contact)),
    ]
    for number, (key_id, tool, result) in enumerate(results):
        await record(gateway, key_id, now - timedelta(hours=number), tool, result)
    page = (await gateway.call("GET", CALLS)).json()["data"]
    conversation = ids.format_id("cv", contact)
    assert page[0] == {
        "id": page[0]["id"],
        "at": page[0]["at"],
        "key": {"id": ids.format_id("key", key), "name": "test"},
        "client": "Helper/2.1",
        "transport": "stdio",
        "tool": "send_text",
        "arguments": {"body": "Hi"},
        "outcome": "draft",
        "rule": "mode",
        "code": None,
        "conversation": conversation,
        "ids": ["drf_1", "msg_2"],
    }
    assert page[0]["id"].startswith("call_")
    assert page[2]["key"] == {"id": ids.format_id("key", gone), "name": None}
    first = (await gateway.call("GET", f"{CALLS}?limit=2")).json()
    rest = (await gateway.call("GET", f"{CALLS}?limit=2&cursor={first['paging']['next']}")).json()
    assert (first["data"] + rest["data"], rest["paging"]["next"]) == (page, None)
    found: dict[str, list[int]] = {
        f"key={ids.format_id('key', key)}": [0, 1],
        "tool=find_contacts": [1],
        "outcome=refused": [2],
        f"conversation={conversation}": [0, 2],
        f"conversation=cv_{'0' * 32}": [],
        f"outcome=draft&tool=send_text&conversation={conversation}": [0],
        f"from={(now - timedelta(minutes=90)).isoformat().replace('+00:00', 'Z')}": [0, 1],
        f"to={(now - timedelta(minutes=30)).isoformat().replace('+00:00', 'Z')}": [1, 2],
    }
    for query, places in found.items():
        answer = (await gateway.call("GET", f"{CALLS}?{query}")).json()
        assert answer["data"] == [page[place] for place in places], query


async def test_wrong_questions(gateway: Gateway) -> None:
    for query, status, code, field in (
        ("outcome=maybe", 422, "invalid_field", "outcome"),
        ("conversation=ct_1", 422, "invalid_field", "conversation"),
        ("from=yesterday", 422, "invalid_field", "from"),
        ("limit=101", 422, "invalid_field", "limit"),
        ("tool=%00", 422, "invalid_field", "tool"),
        ("key=key_" + "0" * 32, 404, "not_found", None),
        ("key=x", 404, "not_found", None),
        ("cursor=x", 400, "invalid_cursor", None),
    ):
        check_refused(await gateway.call("GET", f"{CALLS}?{query}"), status, code, field, about=query)


async def test_a_conversation_is_given_back_by_an_agent(gateway: Gateway) -> None:
    contact, key, now = await talked(gateway), await only_key(gateway), gateway.clock.now()
    channel_id = ids.parse_id("ch", gateway.channel)
    assert channel_id
    path = f"/api/v1/conversations/{ids.format_id('cv', contact)}/hand-over"
    assert (await gateway.call("GET", path)).json()["data"] == {"handed_over": []}
    async with gateway.db.transaction() as conn:
        await insert_handover(conn, channel_id, contact, key, "A refund", now)
    shown: Any = (await gateway.call("GET", path)).json()["data"]["handed_over"]
    assert [(one["key"], one["reason"]) for one in shown] == [
        ({"id": ids.format_id("key", key), "name": "test"}, "A refund")
    ]
    reader, agent = await new_person(gateway, "reader"), await new_person(gateway, "agent")
    assert (await reader.call("GET", path)).json()["data"]["handed_over"] == shown
    check_refused(await reader.call("DELETE", path), 403, "missing_scope")
    sender = await gateway.new_key(channel_id, scopes=("send", "read"))
    check_refused(await gateway.call("DELETE", path, key=sender), 403, "missing_scope")
    for _ in range(2):
        given = await agent.call("DELETE", path)
        assert (given.status, given.json()["data"]) == (200, {"handed_over": []})
    assert await list_handovers(gateway.db, channel_id, contact) == []
    for method in ("GET", "DELETE"):
        for wrong in ("cv_" + "0" * 32, "cv_x", ids.format_id("ct", contact)):
            path = f"/api/v1/conversations/{wrong}/hand-over"
            check_refused(await gateway.call(method, path), 404, "not_found", about=(method, wrong))


def test_arguments_of_any_kind_can_be_shown() -> None:
    """They are objects, even if they were too long to be kept."""
    from gatepost.model.mcp_call import short_arguments

    long = short_arguments({str(number): "x" * 190 for number in range(100)})
    assert list(msgspec.json.decode(long)) == ["cut"]
