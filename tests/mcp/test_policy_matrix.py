"""The policy matrix: every rule, for every tool, by both transports; and races at the limit over two nodes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from gatepost.model import ids
from gatepost.model.account_log import OPERATOR, new_entry
from gatepost.model.mcp_policy import Policy, QuietHours, Recipients
from gatepost.store.mcp.policies import McpStop, set_stop
from gatepost_sandbox import SandboxSettings
from tests.gateway.checks import until
from tests.gateway.event_streams import another_node
from tests.mcp.assistant import Assistant, assistant, mcp_key, set_policy
from tests.mcp.transports import TRANSPORTS, connected
from tests.running_gateway import FAST_NETWORK, Gateway, running_gateway

ANA, BOB = "5511999990001", "5511999990002"
NUMBER, WABA = "100000000000007", "200000000000007"
TEMPLATE = {
    "name": "order_ready",
    "language": "en_US",
    "category": "UTILITY",
    "components": [
        {"type": "BODY", "text": "Hello {{1}}, it is ready. Come today.", "example": {"body_text": [["Ana"]]}}
    ],
}
OPEN = Policy(
    mode="send", dry_run=True, no_crossing=False, sends_per_conversation=100, sends_per_hour=100, unanswered=100
)
replace = msgspec.structs.replace
SENDING, CHANGING = (
    ("send_text", "send_template", "send_media"),
    ("mark_read", "set_labels", "update_conversation", "hand_over"),
)
READING = ("read_conversation", "find_conversations", "get_channel")


class Shop(msgspec.Struct):
    """A gateway, the conversation with Ana, and what the tools need."""

    gateway: Gateway
    conversation: str
    other: str
    label: str
    template: str

    def arguments(self, tool: str) -> dict[str, Any]:
        """Return the arguments of a tool. What is sent contains a link."""
        link = f"{self.gateway.sandbox_url}/picture.jpg"
        given: dict[str, dict[str, Any]] = {
            "send_text": {"text": f"See https://shop.example.com/{tool}"},
            "send_template": {"template": self.template, "variables": ["Ana of shop.example.com"]},
            "send_media": {"type": "image", "link": link},
            "set_labels": {"add": [self.label]},
            "update_conversation": {"note": "Likes tea"},
            "hand_over": {"reason": "Asks for a person"},
            "find_conversations": {},
            "get_channel": {},
        }
        whole = tool in ("find_conversations", "get_channel")
        return given.get(tool, {}) | ({} if whole else {"conversation": self.conversation})

    async def call(self, mine: Assistant, tool: str) -> str:
        """Call a tool. Return its outcome, or the rule that refused it."""
        answer = (await mine.client.call_tool(tool, self.arguments(tool))).structured_content
        assert answer is not None
        if "error" in answer:
            assert answer["error"]["code"] == "policy_refused", (tool, answer)
            assert answer["error"]["instead"]
            return str(answer["error"]["rule"])
        if answer.get("outcome") == "dry_run" and "would" in answer:
            return f"would {answer['would']}"
        return str(answer.get("outcome", "read"))


@pytest.fixture
async def shop(parted_database_url: str) -> AsyncIterator[Shop]:
    network = {
        "limits": {"throughput": None, "pair_interval": None},
        "management": {"review_delay": 0.0},
        "callbacks": {"connections": 1},
    }
    options: Any = {"sandbox": msgspec.convert(network, SandboxSettings), "security__key_cache_seconds": 0.0}
    async with running_gateway(parted_database_url, **options) as one:
        channel = await one.new_channel(one.account_id, "15550007777", NUMBER, limits=FAST_NETWORK, waba_id=WABA)
        one.key, one.channel = await one.new_key(channel.id), ids.format_id("ch", channel.id)
        template = (await one.call("POST", "/api/v1/templates", TEMPLATE)).json()["data"]["id"]
        label = (await one.call("POST", "/api/v1/labels", {"name": "Tea"})).json()["data"]["id"]
        for phone in (ANA, BOB):
            said = {"phone_number_id": NUMBER, "from": phone, "text": "Hello", "name": "Ana"}
            await one.sandbox("POST", "/control/say", said)

        async def ready() -> Any:
            found = (await one.call("GET", f"/api/v1/templates/{template}")).json()["data"]
            both = (await one.call("GET", "/api/v1/conversations")).json()["data"]
            return both if len(both) == 2 and found["status"] == "APPROVED" else None

        by_phone = {found["contact"]["phone"]: found["id"] for found in await until(ready)}
        yield Shop(one, by_phone[ANA], by_phone[BOB], label, template)


def rows(label: str) -> list[tuple[str, Policy, dict[str, str]]]:
    """Return the rules that a policy decides alone: its name, the policy, and what becomes of the tools."""
    now = datetime.now(UTC)
    around = QuietHours(f"{now - timedelta(hours=1):%H:%M}", f"{now + timedelta(hours=1):%H:%M}", "UTC")
    later = QuietHours(f"{now + timedelta(hours=2):%H:%M}", f"{now + timedelta(hours=3):%H:%M}", "UTC")
    sends = dict.fromkeys(SENDING, "would send")
    changes = dict.fromkeys(CHANGING, "dry_run")
    fine = sends | changes

    def refused(rule: str, *tools: str) -> dict[str, str]:
        return fine | dict.fromkeys(tools or SENDING, rule)

    return [
        ("nothing", OPEN, fine),
        ("mode read", replace(OPEN, mode="read"), dict.fromkeys((*SENDING, *CHANGING), "mode")),
        ("mode draft", replace(OPEN, mode="draft"), fine | dict.fromkeys(SENDING, "would draft")),
        ("ends_at", replace(OPEN, ends_at=now), dict.fromkeys((*SENDING, *CHANGING, *READING), "ends_at")),
        ("nobody", replace(OPEN, recipients=Recipients(wrote_within_days=None)), refused("recipients")),
        ("another number", replace(OPEN, recipients=_only(phones=(BOB,))), refused("recipients")),
        ("this number", replace(OPEN, recipients=_only(phones=(ANA,))), fine),
        (
            "a label that she does not have",
            replace(OPEN, recipients=_only(labels=(label,))),
            refused("recipients", *SENDING, "set_labels"),
        ),
        ("types", replace(OPEN, types=("location",)), refused("types")),
        ("text only", replace(OPEN, types=("text",)), refused("types", "send_template", "send_media")),
        ("no templates", replace(OPEN, templates=()), refused("templates", "send_template")),
        ("another template", replace(OPEN, templates=("hello",)), refused("templates", "send_template")),
        ("this template", replace(OPEN, templates=("order_ready",)), fine),
        ("no links", replace(OPEN, link_hosts=()), refused("link_hosts")),
        ("own links", replace(OPEN, link_hosts=("example.com",)), refused("link_hosts", "send_media")),
        ("sends_per_hour", replace(OPEN, sends_per_hour=0), refused("sends_per_hour")),
        ("sends_per_conversation", replace(OPEN, sends_per_conversation=0), refused("sends_per_conversation")),
        ("quiet hours", replace(OPEN, quiet_hours=around), refused("quiet_hours")),
        ("other hours", replace(OPEN, quiet_hours=later), fine),
    ]


def _only(**allowed: Any) -> Recipients:
    return Recipients(wrote_within_days=None, **allowed)


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_every_rule_for_every_tool(shop: Shop, transport: str) -> None:
    gateway, key = shop.gateway, await mcp_key(shop.gateway)
    async with connected(gateway, key, transport) as mine:
        for name, policy, expected in rows(shop.label):
            await set_policy(gateway, key, policy)
            found = {tool: await shop.call(mine, tool) for tool in expected}
            assert found == expected, name
        await set_policy(gateway, key, replace(OPEN, dry_run=False, unanswered=3))
        await stop(gateway, True)
        for tool in (*SENDING, *CHANGING, *READING):
            assert await shop.call(mine, tool) == "stopped", tool
        await stop(gateway, False)
        assert (await mine.fail("get_file", media="med_" + "0" * 32))["rule"] == "files"
        assert (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"] == []

        # What counts, crosses or is handed over: without a dry run.
        assert [await shop.call(mine, tool) for tool in SENDING] == ["sent"] * 3
        await set_policy(gateway, key, replace(OPEN, unanswered=3))
        assert [await shop.call(mine, tool) for tool in SENDING] == ["sent"] * 3  # the same calls: repeated
        for tool in SENDING:
            refused = await mine.fail(tool, again=True, **shop.arguments(tool))
            assert (refused["code"], refused["rule"]) == ("policy_refused", "unanswered")
        await set_policy(gateway, key, replace(OPEN, no_crossing=True))
        await mine.ask("read_conversation", conversation=shop.other)
        for tool in SENDING:
            crossing = await mine.ask(tool, again=True, **shop.arguments(tool))
            assert (crossing["would"], crossing["rule"]) == ("draft", "no_crossing")
        await set_policy(gateway, key, replace(OPEN, dry_run=False))
        await mine.ask("hand_over", conversation=shop.conversation, reason="Asks for a person")
        for tool in SENDING:
            assert (await mine.fail(tool, again=True, **shop.arguments(tool)))["rule"] == "hand_over"

    async def three() -> bool:
        return len((await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]) == 3

    await until(three)


async def test_a_draft_to_an_unknown_number_is_a_conversation_of_its_own(shop: Shop) -> None:
    gateway, key = shop.gateway, await mcp_key(shop.gateway)
    await set_policy(gateway, key, replace(OPEN, no_crossing=True))
    secret = {"message": {"phone": "5511900000009", "body": "Your code is 1234"}}
    assert (await gateway.call("POST", "/api/v1/drafts", secret)).status == 201
    async with connected(gateway, key) as mine:
        assert await shop.call(mine, "send_text") == "would send"
        assert "1234" in str(await mine.ask("list_drafts"))
        assert await shop.call(mine, "send_text") == "would draft"


async def test_a_draft_that_was_made_for_crossing_is_a_conversation_of_its_own(shop: Shop) -> None:
    """It may have the words of the conversation that its key had read. Another key then has read them, too."""
    gateway = shop.gateway
    author, reader = [await mcp_key(gateway) for _ in range(2)]
    await set_policy(gateway, author, replace(OPEN, no_crossing=True, dry_run=False))
    async with connected(gateway, author) as mine:
        await mine.ask("read_conversation", conversation=shop.other)
        crossing = await mine.ask("send_text", conversation=shop.conversation, text="Their code is 1234")
        assert (crossing["outcome"], crossing["rule"]) == ("draft", "no_crossing")
    await set_policy(gateway, reader, replace(OPEN, no_crossing=True))
    note = {"conversation": shop.conversation, "note": "Likes tea"}
    async with connected(gateway, reader) as mine:
        assert await shop.call(mine, "send_text") == "would send"
        assert (await mine.ask("update_conversation", **note))["outcome"] == "dry_run"
        # Only drafts of this one conversation.
        assert "1234" in str(await mine.ask("list_drafts", conversation=shop.conversation))
        assert await shop.call(mine, "send_text") == "would draft"
        assert (await mine.fail("update_conversation", **note))["rule"] == "no_crossing"


async def stop(gateway: Gateway, stopped: bool) -> None:
    """Stop all assistants of the account, or let them go on."""
    now = gateway.clock.now()
    entry = new_entry(gateway.account_id, OPERATOR, "mcp_stopped" if stopped else "mcp_resumed", now, target="test")
    assert await set_stop(
        gateway.db, gateway.account_id, McpStop(now if stopped else None, "test" if stopped else None), entry
    )


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        (Policy(mode="send", sends_per_hour=1), "sends_per_hour"),
        (Policy(mode="send", sends_per_conversation=1), "sends_per_conversation"),
        (Policy(mode="draft", unanswered=1), "unanswered"),
    ],
)
async def test_one_left_and_50_calls_over_two_nodes(shop: Shop, policy: Policy, rule: str) -> None:
    gateway, key = shop.gateway, await mcp_key(shop.gateway)
    await set_policy(gateway, key, policy)
    async with another_node(gateway) as (url, _), AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(assistant(gateway, key, url=node)) for node in (gateway.url, url)]

        async def send(number: int) -> str:
            asked = {"conversation": shop.conversation, "text": f"No. {number}"}
            answer: Any = (await nodes[number % 2].client.call_tool("send_text", asked)).structured_content
            return str(answer["error"]["rule"] if "error" in answer else answer["outcome"])

        outcomes = await asyncio.gather(*(send(number) for number in range(50)))
    made = "draft" if policy.mode == "draft" else "sent"
    assert sorted(outcomes) == sorted([made, *[rule] * 49])
    messages = (await gateway.call("GET", "/api/v1/messages?direction=out")).json()["data"]
    assert len(messages) == (made == "sent")
