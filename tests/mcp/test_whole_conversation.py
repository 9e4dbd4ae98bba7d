"""A scripted assistant holds a whole conversation with a person of the sandbox, through MCP alone."""

import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from gatepost.clock import FollowingClock
from gatepost.model import ids
from gatepost.model.mcp_policy import Policy
from gatepost_sandbox import SandboxSettings
from tests.gateway.checks import until
from tests.mcp.assistant import PERSON, Assistant, mcp_key, set_policy
from tests.mcp.transports import TRANSPORTS, connected
from tests.running_gateway import FAST_NETWORK, Gateway, running_gateway

DAY = 25 * 3600.0
NUMBER, PHONE, WABA = "100000000000007", "15550007777", "200000000000007"
TEMPLATE = {
    "name": "order_ready",
    "language": "en_US",
    "category": "UTILITY",
    "components": [
        {
            "type": "BODY",
            "text": "Hello {{1}}, your order {{2}} is ready. Come and get it today.",
            "example": {"body_text": [["Ana", "4711"]]},
        }
    ],
}


@pytest.fixture
async def shop(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Yield a gateway at a network that enforces the window. Both clocks can be moved."""
    network = {
        "limits": {"window": "sync", "throughput": None, "pair_interval": None},
        "management": {"review_delay": 0.0},
        "callbacks": {"connections": 1},
    }
    sandbox, clock = msgspec.convert(network, SandboxSettings), FollowingClock()
    async with running_gateway(parted_database_url, sandbox=sandbox, clock=clock) as one:
        limits = FAST_NETWORK | {"window": 1}
        channel = await one.new_channel(one.account_id, PHONE, NUMBER, limits=limits, waba_id=WABA)
        one.key, one.channel = await one.new_key(channel.id), ids.format_id("ch", channel.id)
        yield one


async def say(gateway: Gateway, text: str) -> None:
    said = {"phone_number_id": NUMBER, "from": PERSON, "text": text, "name": "Ana"}
    await gateway.sandbox("POST", "/control/say", said)


async def what_the_person_got(gateway: Gateway) -> list[Any]:
    """Return the messages that reached the person, as the network recorded them."""
    entries = (await gateway.sandbox("GET", f"/control/ledger?kind=accepted&to={PERSON}"))["entries"]
    return [entry["content"] for entry in entries]


async def unread(mine: Assistant) -> Any:
    """Return the unread conversation, when there is one."""

    async def found() -> Any:
        return (await mine.ask("find_conversations", unread=True))["conversations"]

    [conversation] = await until(found)
    return conversation


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_from_the_first_question_to_the_hand_over(shop: Gateway, transport: str) -> None:
    label = (await shop.call("POST", "/api/v1/labels", {"name": "Waiting"})).json()["data"]["id"]
    assert (await shop.call("POST", "/api/v1/templates", TEMPLATE)).status == 201
    key = await mcp_key(shop)
    await set_policy(shop, key, Policy(mode="send"))
    await say(shop, "Is my order ready?")
    async with connected(shop, key, transport) as mine:
        # It finds the question, reads and answers it.
        conversation = (await unread(mine))["id"]
        read = await mine.ask("read_conversation", conversation=conversation)
        assert read["messages"][0]["content"]["text"] == "Is my order ready?"
        assert read["unread"] == 1
        sent = await mine.ask("send_text", conversation=conversation, text="Not yet. I will write.")
        assert sent["outcome"] == "sent"
        read = await mine.ask("read_conversation", conversation=conversation)
        assert read["messages"][0]["id"] == sent["message"]
        assert (await mine.ask("send_text", conversation=conversation, text="Not yet. I will write."))["repeated"]

        # It marks the conversation as read, and puts a label and a note on it.
        await mine.ask("mark_read", conversation=conversation)
        await mine.ask("set_labels", conversation=conversation, add=[label])
        await mine.ask("update_conversation", conversation=conversation, note="Order 4711 is in the oven")
        [listed] = (await mine.ask("find_conversations", label=label))["conversations"]
        assert (listed["id"], listed.get("unread", 0)) == (conversation, 0)
        [got] = await until(lambda: what_the_person_got(shop))
        assert got["body"] == "Not yet. I will write."
        assert (await shop.sandbox("GET", "/control/ledger?kind=read"))["entries"]

        # A day later the window has closed: the error names the tool that helps.
        await wait_a_day(shop)
        failed = await mine.fail("send_text", conversation=conversation, text="It is ready.")
        assert failed["code"] == "window_closed"
        assert "send_template" in failed["instead"]
        template = await approved(mine)
        shown = await mine.ask("preview_template", template=template, variables=["Ana", "4711"])
        assert "4711" in shown["body"]["text"]
        values = {"template": template, "variables": ["Ana", "4711"]}
        assert (await mine.ask("send_template", conversation=conversation, **values))["outcome"] == "sent"

        # The person asks for somebody; the assistant hands over, and writes no more.
        await say(shop, "Can I talk to a person?")
        await unread(mine)
        await mine.ask("hand_over", conversation=conversation, reason="Ana asks for a person")
        refused = await mine.fail("send_text", conversation=conversation, text="Bye")
        assert (refused["code"], refused["rule"]) == ("policy_refused", "hand_over")

    async def both() -> Any:
        got = await what_the_person_got(shop)
        return got if len(got) == 2 else None

    text, filled = await until(both)
    assert text["body"] == "Not yet. I will write."
    assert filled["name"] == "order_ready"
    calls = (await shop.call("GET", "/api/v1/mcp/calls?limit=100")).json()["data"]
    assert {call["transport"] for call in calls} == {transport}
    assert {"sent", "repeated", "refused", "failed", "done"} <= {call["outcome"] for call in calls}
    assert len({call["key"]["id"] for call in calls}) == 1


async def wait_a_day(gateway: Gateway) -> None:
    """Move both clocks by more than a day."""
    assert isinstance(gateway.clock, FollowingClock)
    gateway.clock.set_time(time.time() + DAY, 1.0)
    await gateway.sandbox("POST", "/control/clock", {"advance": DAY})


async def approved(mine: Assistant) -> str:
    """Return the id of the approved template, when the network has reviewed it."""

    async def found() -> Any:
        return (await mine.ask("list_templates", status="APPROVED"))["templates"]

    [template] = await until(found)
    id_: str = template["id"]
    return id_
