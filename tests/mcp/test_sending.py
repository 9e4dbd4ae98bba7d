"""The tools that send: by the policy of the key, once for equal calls, and with errors that say what to do."""

import asyncio
from typing import Any

import msgspec
import pytest

from gatepost.admin.keys import rotate_key
from gatepost.model.account import key_hash
from gatepost.model.mcp_policy import Policy, Recipients
from gatepost.store.keys import find_callers
from gatepost.store.mcp.calls import list_calls
from tests.gateway.checks import until
from tests.gateway.test_contact_recipients import hidden_contact
from tests.mcp.assistant import ERAS, PERSON, assistant, channel_of, mcp_key, set_policy, write
from tests.running_gateway import Gateway

SEND = Policy(mode="send", no_crossing=False)
OTHER = "5511977776666"


async def left(gateway: Gateway) -> list[str]:
    """The texts that the network accepted."""
    entries = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
    return [str(entry) for entry in entries]


@pytest.mark.parametrize("era", ERAS)
async def test_a_new_key_makes_drafts(gateway: Gateway, era: str) -> None:
    conversation = await write(gateway, "Is it ready?")
    async with assistant(gateway, await mcp_key(gateway), era) as mine:
        made = await mine.ask("send_text", conversation=conversation, text="It is ready.")
        assert (made["outcome"], made["rule"]) == ("draft", "mode")
        shown = await mine.ask("read_conversation", conversation=conversation)
        assert [one["id"] for one in shown["drafts"]] == [made["draft"]]
        [listed] = (await mine.ask("list_drafts", state="waiting"))["drafts"]
        assert listed["content"] == {"untrusted": True, "text": "It is ready."}
        assert listed["conversation"] == conversation
        assert (await mine.ask("get_channel"))["sends_left"] == Policy().sends_per_hour - 1
    assert await left(gateway) == []


async def test_a_person_whose_number_is_hidden_gets_a_text(gateway: Gateway) -> None:
    contact, key = await hidden_contact(gateway), await mcp_key(gateway)
    await set_policy(gateway, key, SEND)
    async with assistant(gateway, key) as mine:
        sent = await mine.ask("send_text", conversation=contact.replace("ct_", "cv_"), text="It is ready.")
        assert sent["outcome"] == "sent"
    await until(lambda: _accepted(gateway, 1))


@pytest.mark.parametrize("era", ERAS)
async def test_a_key_that_may_send(gateway: Gateway, era: str) -> None:
    conversation, key = await write(gateway, "Is it ready?"), await mcp_key(gateway)
    await set_policy(gateway, key, SEND)
    async with assistant(gateway, key, era) as mine:
        question = (await mine.ask("read_conversation", conversation=conversation))["messages"][0]["id"]
        sent = await mine.ask("send_text", conversation=conversation, text="It is ready.", reply_to=question)
        assert sent["outcome"] == "sent"
        shown = await mine.ask("read_conversation", conversation=conversation)
        assert shown["messages"][0]["id"] == sent["message"]  # at once
        assert shown["messages"][0]["reply_to"] == question
        again = await mine.ask("send_text", conversation=conversation, text="It is ready.", reply_to=question)
        assert again == sent | {"repeated": True}
        twice = await mine.ask(
            "send_text", conversation=conversation, text="It is ready.", reply_to=question, again=True
        )
        assert twice["message"] != sent["message"]
        asked = await mine.ask("send_text", conversation=conversation, text="Shall I?", draft=True)
        assert asked["outcome"] == "draft"
    await until(lambda: _accepted(gateway, 2))
    calls = await list_calls(gateway.db, channel_of(gateway), before=None, limit=20)
    assert [one.outcome for one in reversed(calls) if one.tool == "send_text"] == ["sent", "repeated", "sent", "draft"]


async def test_a_call_that_is_repeated_with_a_rotated_key_sends_nothing_more(gateway: Gateway) -> None:
    key, text = await mcp_key(gateway), {"conversation": await write(gateway, "Is it ready?"), "text": "It is ready."}
    await set_policy(gateway, key, SEND)
    [caller] = (await find_callers(gateway.db, [key_hash(key)])).values()
    async with assistant(gateway, key) as mine:
        sent = await mine.ask("send_text", **text)
    new = await rotate_key(gateway.db, caller.channel_id, caller.principal.id, now=gateway.clock.now())
    async with assistant(gateway, new.text) as mine:
        assert await mine.ask("send_text", **text) == sent | {"repeated": True}
    other = await mcp_key(gateway)
    await set_policy(gateway, other, SEND)
    async with assistant(gateway, other) as mine:
        assert "repeated" not in await mine.ask("send_text", **text)


async def _accepted(gateway: Gateway, count: int) -> bool:
    return len(await left(gateway)) == count


async def test_a_refusal_names_the_rule(gateway: Gateway) -> None:
    key = await mcp_key(gateway)
    await set_policy(gateway, key, SEND)
    conversation = await write(gateway, "Hi")
    async with assistant(gateway, key) as mine:
        refused = await mine.fail("send_text", phone=OTHER, text="Buy!")
        assert (refused["code"], refused["rule"]) == ("policy_refused", "recipients")
        assert refused["instead"]
        await set_policy(gateway, key, Policy(mode="read"))
        for tool, arguments in {
            "send_text": {"conversation": conversation, "text": "Hi"},
            "send_media": {"conversation": conversation, "type": "image", "link": "https://example.com/a.jpg"},
        }.items():
            refused = await mine.fail(tool, **arguments)
            assert (refused["code"], refused["rule"]) == ("policy_refused", "mode")
    assert await left(gateway) == []


async def test_a_closed_window_names_the_tool_that_helps(gateway: Gateway) -> None:
    key = await mcp_key(gateway)
    await set_policy(gateway, key, Policy(mode="send", recipients=Recipients(anyone=True)))
    async with gateway.db.connection() as conn:
        await conn.execute("""UPDATE channels SET limits = limits || '{"window": 1}'""")
    async with assistant(gateway, key) as mine:
        closed = await mine.fail("send_text", phone=OTHER, text="Hello")
        assert closed["code"] == "window_closed"
        assert "send_template" in closed["instead"]


async def test_arguments_that_do_not_fit_together(gateway: Gateway) -> None:
    conversation = await write(gateway, "Hi")
    async with assistant(gateway, await mcp_key(gateway)) as mine:
        for tool, arguments, field in (
            ("send_text", {"text": "Hi"}, "conversation"),
            ("send_text", {"text": "Hi", "phone": PERSON, "conversation": conversation}, "conversation"),
            ("send_text", {"conversation": conversation, "text": ""}, "text"),
            ("send_text", {"conversation": conversation, "text": "a" * 4097}, "text"),
            ("send_text", {"conversation": conversation}, "text"),
            ("send_text", {"conversation": conversation, "text": 5}, "text"),
            ("send_text", {"conversation": conversation, "text": "Hi", "priority": "bulk"}, "priority"),
            ("send_media", {"conversation": conversation, "type": "image"}, "media"),
            ("send_media", {"conversation": conversation, "type": "gif", "link": "https://a.example"}, "type"),
        ):
            error = await mine.fail(tool, **arguments)
            assert error["code"] == "invalid_field", (tool, arguments, error)
            assert [one["field"] for one in error["fields"]] == [field], error
        wrong = await mine.fail("send_text", phone="+55 11", text="Hi")
        assert wrong["code"] == "invalid_phone"
    assert await left(gateway) == []


async def test_one_left_and_50_calls(gateway: Gateway) -> None:
    conversation, key = await write(gateway, "Hi"), await mcp_key(gateway)
    await set_policy(gateway, key, msgspec.structs.replace(SEND, sends_per_hour=1))
    async with assistant(gateway, key) as mine:

        async def send(number: int) -> Any:
            result = await mine.client.call_tool("send_text", {"conversation": conversation, "text": f"No. {number}"})
            return result.structured_content

        answers = await asyncio.gather(*(send(number) for number in range(50)))
    assert sorted(one["error"]["rule"] if "error" in one else one["outcome"] for one in answers) == sorted(
        ["sent"] + ["sends_per_hour"] * 49
    )
    await until(lambda: _accepted(gateway, 1))


async def test_changes_of_our_own_records(gateway: Gateway) -> None:
    conversation, key = await write(gateway, "I want a person"), await mcp_key(gateway)
    label = (await gateway.call("POST", "/api/v1/labels", {"name": "VIP"})).json()["data"]["id"]
    async with assistant(gateway, key) as mine:
        assert await mine.ask("mark_read", conversation=conversation) == {"outcome": "done", "shown": True}
        await mine.ask("set_labels", conversation=conversation, add=[label])
        await mine.ask("update_conversation", conversation=conversation, status="closed", note="Wants it on Friday")
        shown = await mine.ask("read_conversation", conversation=conversation)
        assert ([one["id"] for one in shown["labels"]], shown["status"]) == ([label], "closed")
        assert (shown.get("unread", 0), shown["note"]["text"]) == (0, "Wants it on Friday")
        await mine.ask("set_labels", conversation=conversation, remove=[label])
        for _ in range(2):
            assert await mine.ask("hand_over", conversation=conversation, reason="Asks for a person") == {
                "outcome": "done"
            }
        refused = await mine.fail("send_text", conversation=conversation, text="Hello")
        assert (refused["code"], refused["rule"]) == ("policy_refused", "hand_over")
        for tool, arguments, code in (
            ("set_labels", {"add": ["lb_" + "0" * 32]}, "not_found"),
            ("set_labels", {}, "invalid_field"),
            ("update_conversation", {}, "invalid_field"),
            ("update_conversation", {"status": "archived"}, "invalid_field"),
            ("hand_over", {}, "invalid_field"),
        ):
            assert (await mine.fail(tool, conversation=conversation, **arguments))["code"] == code, tool
        await set_policy(gateway, key, Policy(mode="read"))
        for tool, arguments in (
            ("mark_read", {}),
            ("set_labels", {"add": [label]}),
            ("update_conversation", {"status": "open"}),
            ("hand_over", {"reason": "x"}),
        ):
            refused = await mine.fail(tool, conversation=conversation, **arguments)
            assert (refused["code"], refused["rule"]) == ("policy_refused", "mode"), tool
    calls = await list_calls(gateway.db, channel_of(gateway), before=None, limit=50)
    assert len(calls) == 17
