"""The reading tools, called by the SDK's own client in both eras of the protocol."""

import asyncio
from typing import Any

import msgspec
import pytest

from gatepost.model import ids
from gatepost.model.mcp_policy import Policy
from gatepost.store.mcp.calls import list_calls
from tests.gateway.checks import until
from tests.mcp.assistant import ERAS, PERSON, Assistant, assistant, channel_of, mcp_key, set_policy, write
from tests.running_gateway import Gateway

OTHER = "5511977776666"
ID = "0199a1b2c3d47e5f8a9b0c1d2e3f4a5b"


@pytest.mark.parametrize("era", ERAS)
async def test_a_conversation_is_found_and_read(gateway: Gateway, era: str) -> None:
    conversation = await write(gateway, "Is my order ready?")
    async with assistant(gateway, await mcp_key(gateway), era) as mine:
        listed = await mine.ask("find_conversations", unread=True)
        [found] = listed["conversations"]
        assert found["id"] == conversation
        assert found["name"] == {"untrusted": True, "text": "Ana"}
        assert found["phone_ends"] == PERSON[-4:]
        assert PERSON not in str(listed)
        assert "order" not in str(listed)

        shown = await mine.ask("read_conversation", conversation=conversation)
        assert shown["person"]["phone"] == PERSON
        assert [one["content"] for one in shown["messages"]] == [{"untrusted": True, "text": "Is my order ready?"}]
        again = await mine.ask("find_conversations", unread=True)
        assert [one["id"] for one in again["conversations"]] == [conversation]
        text = await mine.text("read_conversation", conversation=conversation)
        assert "<<outside " in text.partition("\n")[2]


async def test_finding(gateway: Gateway) -> None:
    first, second = await write(gateway, "one"), await write(gateway, "two", OTHER, "Ben")
    label = (await gateway.call("POST", "/api/v1/labels", {"name": "VIP\u202e"})).json()["data"]["id"]
    await gateway.call("PUT", f"/api/v1/conversations/{first}/labels/{label}")
    async with assistant(gateway, await mcp_key(gateway)) as mine:
        assert await found(mine, label=label) == [first]
        assert await found(mine, query="Be") == [second]
        assert await found(mine, query=f"+{PERSON}") == [first]
        assert await found(mine, query=PERSON[:6]) == []  # a number is found only as a whole
        assert await found(mine, query="two") == []  # words of messages are not searched
        assert await found(mine, status="closed") == []
        assert await found(mine, since="2099-01-01") == []
        page = await mine.ask("find_conversations", limit=1)
        rest = await mine.ask("find_conversations", limit=1, cursor=page["next"])
        assert [one["id"] for one in (*page["conversations"], *rest["conversations"])] == [second, first]
        labels = await mine.ask("list_labels")
        assert labels["labels"] == [{"id": label, "name": {"untrusted": True, "text": "VIP[U+202E]"}}]
        contacts = await mine.ask("find_contacts", query="An")
        assert [one["conversation"] for one in contacts["contacts"]] == [first]
        assert (await mine.ask("find_contacts", query=OTHER))["contacts"][0]["phone_ends"] == OTHER[-4:]
        assert (await mine.ask("find_contacts", query=OTHER[:5]))["contacts"] == []
        assert len((await mine.ask("find_contacts"))["contacts"]) == 2
        assert (await mine.ask("find_orders"))["orders"] == []


async def found(mine: Assistant, **arguments: Any) -> list[str]:
    return [one["id"] for one in (await mine.ask("find_conversations", **arguments))["conversations"]]


async def test_reading_on_and_around(gateway: Gateway) -> None:
    for text in ("one", "two", "three", "four", "five"):
        conversation = await write(gateway, text)
    async with assistant(gateway, await mcp_key(gateway)) as mine:
        page = await mine.ask("read_conversation", conversation=conversation, limit=2)
        rest = await mine.ask("read_conversation", conversation=conversation, limit=2, before=page["next"])
        assert texts(page) + texts(rest) == ["five", "four", "three", "two"]
        middle = rest["messages"][0]["id"]
        around = await mine.ask("read_conversation", conversation=conversation, limit=3, around=middle)
        assert texts(around) == ["four", "three", "two"]
        newer = await mine.ask("read_conversation", conversation=conversation, before=around["newer"])
        assert texts(newer) == ["five"]
        both = await mine.fail("read_conversation", conversation=conversation, around=middle, before=page["next"])
        assert both["code"] == "invalid_field"
        other = await write(gateway, "else", OTHER)
        for wrong in ({"around": middle}, {"before": page["next"]}):
            assert (await mine.fail("read_conversation", conversation=other, **wrong))["code"] == "invalid_field"


def texts(shown: Any) -> list[str]:
    return [one["content"]["text"] for one in shown["messages"]]


async def test_searching_and_tracing(gateway: Gateway) -> None:
    conversation = await write(gateway, "Where is the invoice?")
    await write(gateway, "Nothing of that kind", OTHER)
    sent = await gateway.send(phone=PERSON, body="The invoice is on its way")
    await gateway.until_status(sent, "READ")
    async with assistant(gateway, await mcp_key(gateway)) as mine:
        both = await until(lambda: _found(mine, "invoice", 2))
        assert {one["conversation"] for one in both} == {conversation}
        assert len((await mine.ask("search_messages", query="invoice", direction="in"))["messages"]) == 1
        assert (await mine.ask("search_messages", from_="2099-01-01", tz="Europe/Lisbon"))["messages"] == []
        assert len((await mine.ask("search_messages", conversation=conversation, type="text"))["messages"]) == 2
        first = await mine.ask("search_messages", limit=1)
        second = await mine.ask("search_messages", limit=1, cursor=first["next"])
        assert first["messages"][0]["id"] != second["messages"][0]["id"]
        trace = await mine.ask("trace_message", message=sent)
        assert [step["step"] for step in trace["steps"]][-1] == "read"
        assert trace["message"]["status"] == "READ"
        assert trace["message"]["sent_by"] == "test"


async def _found(mine: Assistant, query: str, count: int) -> list[Any]:
    messages: list[Any] = (await mine.ask("search_messages", query=query))["messages"]
    return messages if len(messages) == count else []


async def test_the_channel_and_what_the_key_may_do(gateway: Gateway) -> None:
    async with assistant(gateway, await mcp_key(gateway)) as mine:
        shown = await mine.ask("get_channel")
        assert shown["kind"] == "official"
        assert "text" in shown["types"]
        assert "A person approves each message." in shown["may"]
        assert shown["sends_left"] == Policy().sends_per_hour


async def test_templates(gateway: Gateway) -> None:
    account_id = await gateway.new_account()
    channel = await gateway.new_channel(account_id, "15550009999", "100000000000009", waba_id="900")
    key = await gateway.new_key(channel.id)
    body = {"type": "BODY", "text": "Hello {{1}}, your order has left our house.", "example": {"body_text": [["Ana"]]}}
    new = {"name": "welcome", "language": "en_US", "category": "UTILITY", "components": [body]}
    made = (await gateway.call("POST", "/api/v1/templates", new, key=key)).json()["data"]["id"]
    async with assistant(gateway, await gateway.new_key(channel.id, scopes=("mcp",))) as mine:
        [listed] = (await mine.ask("list_templates", query="welc"))["templates"]
        assert (listed["id"], listed["status"], listed["variables"]) == (made, "PENDING", ["1"])
        assert (await mine.ask("list_templates", status="approved"))["templates"] == []
        assert listed["body"] == {"untrusted": True, "text": body["text"]}
        for values, name in (({}, "Ana"), ({"variables": ["Bo"]}, "Bo")):
            shown = await mine.ask("preview_template", template=made, **values)
            assert shown["body"] == {"untrusted": True, "text": f"Hello {name}, your order has left our house."}
        error = await mine.fail("preview_template", template=made, variables=["Bo", "x"])
        assert error["code"] == "template_variables_mismatch"
        resource = await mine.client.read_resource(f"gatepost://templates/{made}")
        assert '"name":"welcome"' in resource.contents[0].text  # type: ignore[union-attr]


async def test_files_only_if_the_policy_allows_them(gateway: Gateway) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + b"0" * 100
    media = await upload(gateway, picture, "image/png")
    key = await mcp_key(gateway)
    async with assistant(gateway, key) as mine:
        refused = await mine.fail("get_file", media=media)
        assert (refused["code"], refused["rule"]) == ("policy_refused", "files")
        assert refused["instead"]
        await set_policy(gateway, key, Policy(files=True))
        result = await mine.client.call_tool("get_file", {"media": media})
        assert result.structured_content["shown"] is True
        assert result.content[1].mime_type == "image/png"  # type: ignore[union-attr]
        document = await upload(gateway, b"%PDF-1.4", "application/pdf")
        facts = await mine.client.call_tool("get_file", {"media": document})
        assert len(facts.content) == 1
        assert "shown" not in facts.structured_content


async def upload(gateway: Gateway, content: bytes, mime_type: str) -> str:
    answer = await gateway.call("POST", "/api/v1/media", raw=content, headers={"content-type": mime_type})
    media: str = answer.json()["data"]["id"]
    return media


async def test_resources_and_prompts(gateway: Gateway) -> None:
    conversation = await write(gateway, "Hi\u202e")
    async with assistant(gateway, await mcp_key(gateway)) as mine:
        assert (await mine.client.list_resources()).resources == []
        addresses = [one.uri_template for one in (await mine.client.list_resource_templates()).resource_templates]
        assert addresses == [f"gatepost://{kind}/{{id}}" for kind in ("conversations", "contacts", "templates")]
        read = await mine.client.read_resource(f"gatepost://conversations/{conversation}")
        assert "Hi[U+202E]" in read.contents[0].text  # type: ignore[union-attr]
        contact = await mine.client.read_resource(f"gatepost://contacts/ct_{conversation[3:]}")
        assert PERSON in contact.contents[0].text  # type: ignore[union-attr]
        assert [one.name for one in (await mine.client.list_prompts()).prompts] == [
            "answer_customer",
            "summarise_day",
            "find_unanswered",
        ]
        prompt = await mine.client.get_prompt("answer_customer", {"conversation": conversation})
        assert conversation in prompt.messages[0].content.text  # type: ignore[union-attr]


async def test_every_call_is_recorded_with_what_it_revealed(gateway: Gateway) -> None:
    conversation = await write(gateway, "Hi")
    async with assistant(gateway, await mcp_key(gateway)) as mine:
        await mine.ask("find_conversations")
        await mine.ask("read_conversation", conversation=conversation)
        await mine.fail("trace_message", message=ID)
        await mine.fail("get_channel", nonsense=1)
        await mine.client.read_resource(f"gatepost://conversations/{conversation}")
    calls = await list_calls(gateway.db, channel_of(gateway), before=None, limit=10)
    assert [(one.tool, one.outcome, one.code) for one in reversed(calls)] == [
        ("find_conversations", "done", None),
        ("read_conversation", "done", None),
        ("trace_message", "failed", "not_found"),
        ("get_channel", "failed", "invalid_field"),
        ("read_resource", "done", None),
    ]
    assert [one.contact_id is not None for one in reversed(calls)] == [False, True, False, False, True]
    assert {one.client for one in calls} == {"mcp 0.1.0"}
    assert msgspec.json.decode(calls[-2].arguments) == {"conversation": conversation}
    async with gateway.db.connection() as conn:
        read = [row["contact_id"] for row in await conn.fetch("SELECT contact_id FROM mcp_reads")]
    assert [ids.format_id("cv", contact_id) for contact_id in read] == [conversation] * 2


async def test_50_calls_at_once(gateway: Gateway) -> None:
    conversation = await write(gateway, "Hi")
    async with assistant(gateway, await mcp_key(gateway)) as mine:
        answers = await asyncio.gather(*(mine.ask("read_conversation", conversation=conversation) for _ in range(50)))
    assert [texts(one) for one in answers] == [["Hi"]] * 50
    assert len(await list_calls(gateway.db, channel_of(gateway), before=None, limit=100)) == 50
