"""Notes about conversations: who wrote them, who may delete them, and what becomes of them."""

from typing import Any

import pytest

from gatepost.model import ids
from gatepost.services import notes
from tests.gateway.checks import PERSON, check_refused
from tests.gateway.people import new_person
from tests.gateway.test_conversations import CONVERSATIONS, PEOPLE, listed, say, the_one
from tests.running_gateway import Gateway


async def path_of(gateway: Gateway) -> str:
    await say(gateway)
    return f"{CONVERSATIONS}/{(await the_one(gateway))['id']}/notes"


async def texts(gateway: Gateway, path: str, query: str = "") -> Any:
    answer = await gateway.call("GET", path + query)
    assert answer.status == 200, answer.body
    return [note["text"] for note in answer.json()["data"]]


async def test_notes_name_their_author(gateway: Gateway) -> None:
    path = await path_of(gateway)
    agent = await new_person(gateway, "agent")
    first = await gateway.call("POST", path, {"text": "By a key"})
    assert first.status == 201, first.body
    second = (await agent.call("POST", path, {"text": "By a person"})).json()["data"]
    assert second["author"] == {
        "kind": "user",
        "id": ids.format_id("usr", agent.user.id),
        "label": agent.user.name or agent.user.email,
    }
    key = first.json()["data"]["author"]
    assert (key["kind"], key["id"][:4]) == ("key", "key_")
    answer = (await gateway.call("GET", path)).json()
    assert answer["data"] == [second, first.json()["data"]]
    assert answer["paging"] == {"next": None}
    page = (await gateway.call("GET", f"{path}?limit=1")).json()
    assert await texts(gateway, path, f"?limit=1&cursor={page['paging']['next']}") == ["By a key"]
    assert (await the_one(gateway))["note"] is None, "the single note is another field"


async def test_who_may_delete(gateway: Gateway) -> None:
    path = await path_of(gateway)
    agent, other, reader = [await new_person(gateway, role) for role in ("agent", "agent", "reader")]
    note = (await agent.call("POST", path, {"text": "x"})).json()["data"]["id"]
    check_refused(await reader.call("POST", path, {"text": "x"}), 403, "missing_scope")
    check_refused(await other.call("DELETE", f"{path}/{note}"), 403, "missing_scope")
    assert (await agent.call("DELETE", f"{path}/{note}")).status == 200
    check_refused(await agent.call("DELETE", f"{path}/{note}"), 404, "not_found")
    note = (await agent.call("POST", path, {"text": "y"})).json()["data"]["id"]
    assert (await gateway.call("DELETE", f"{path}/{note}")).status == 200, "the key has the scope manage"
    assert await texts(gateway, path) == []


async def test_bad_notes(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    path = await path_of(gateway)
    for text in ("", " ", "x" * 4097, "a\x00b"):
        check_refused(await gateway.call("POST", path, {"text": text}), 422, "invalid_field", "text", text[:9])
    assert (await gateway.call("POST", path, {"text": "x" * 4096})).status == 201
    for unknown in ("cv_1", ids.format_id("cv", ids.ZERO)):
        wrong = f"{CONVERSATIONS}/{unknown}/notes"
        check_refused(await gateway.call("POST", wrong, {"text": "x"}), 404, "not_found")
        check_refused(await gateway.call("GET", wrong), 404, "not_found")
    for unknown in ("nt_1", ids.format_id("nt", ids.ZERO)):
        check_refused(await gateway.call("DELETE", f"{path}/{unknown}"), 404, "not_found")
    monkeypatch.setattr(notes, "NOTES_MAX", 2)
    assert (await gateway.call("POST", path, {"text": "second"})).status == 201
    check_refused(await gateway.call("POST", path, {"text": "third"}), 409, "wrong_state")


async def test_a_repeated_request_adds_one_note(gateway: Gateway) -> None:
    path = await path_of(gateway)
    answers = [await gateway.call("POST", path, {"text": "x"}, headers={"Idempotency-Key": "one"}) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert await texts(gateway, path) == ["x"]


async def test_notes_follow_their_contact(gateway: Gateway) -> None:
    for phone in (PERSON, PEOPLE[0]):
        await gateway.send(phone=phone, body="Hello")
    stays, goes = (await listed(gateway))["data"]
    for one in (stays, goes):
        await gateway.call("POST", f"{CONVERSATIONS}/{one['id']}/notes", {"text": one["contact"]["phone"]})
    contact = f"/api/v1/contacts/{stays['contact']['id']}"
    merged = await gateway.call("POST", f"{contact}/merge", {"with": goes["contact"]["id"]})
    assert merged.status == 200, merged.body
    assert sorted(await texts(gateway, f"{CONVERSATIONS}/{stays['id']}/notes")) == sorted([PERSON, PEOPLE[0]])
    assert (await gateway.call("DELETE", contact)).status == 200
    async with gateway.db.connection() as conn:
        assert await conn.fetchval("SELECT count(*) FROM conversation_notes") == 0
