"""Every tool, with its answer and its errors: in both eras of the protocol, over both transports."""

from collections.abc import AsyncIterator
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from gatepost.mcp.tools import TOOLS
from gatepost.model import ids
from gatepost.model.mcp_policy import Policy
from gatepost_sandbox import SandboxSettings
from tests.gateway.checks import until
from tests.mcp.assistant import ERAS, PERSON, Assistant, mcp_key, set_policy
from tests.mcp.transports import TRANSPORTS, connected
from tests.running_gateway import FAST_NETWORK, Gateway, running_gateway

NUMBER, WABA = "100000000000007", "200000000000007"
NOBODY = "0" * 32
BODY = {"type": "BODY", "text": "Hello {{1}}, it is ready. Come today.", "example": {"body_text": [["Ana"]]}}
TEMPLATE = {"name": "order_ready", "language": "en_US", "category": "UTILITY", "components": [BODY]}
ORDER = {
    "catalog_id": "1",
    "text": "Please",
    "product_items": [{"product_retailer_id": "tea", "quantity": 2, "item_price": 3.5, "currency": "EUR"}],
}
OPEN = Policy(
    mode="send", no_crossing=False, sends_per_conversation=100, sends_per_hour=100, unanswered=100, files=True
)


class Shop(msgspec.Struct):
    """A gateway with one of everything."""

    gateway: Gateway
    conversation: str
    message: str
    label: str
    template: str
    media: str

    def calls(self, run: str) -> dict[str, tuple[dict[str, Any], str]]:
        """Return valid arguments of each tool, and a field of its answer. What is sent is different in each run."""
        here = {"conversation": self.conversation}
        return {
            "find_conversations": ({"query": "Ana", "since": "2020-01-01", "tz": "Europe/Lisbon"}, "conversations"),
            "read_conversation": (here, "messages"),
            "search_messages": ({"conversation": self.conversation, "direction": "in"}, "messages"),
            "find_contacts": ({"query": PERSON}, "contacts"),
            "find_orders": ({"status": "new"}, "orders"),
            "list_labels": ({}, "labels"),
            "list_templates": ({"status": "APPROVED"}, "templates"),
            "preview_template": ({"template": self.template, "variables": ["Bo"]}, "body"),
            "get_channel": ({}, "state"),
            "trace_message": ({"message": self.message}, "steps"),
            "get_file": ({"media": self.media}, "shown"),
            "mark_read": (here, "outcome"),
            "set_labels": (here | {"add": [self.label]}, "outcome"),
            "update_conversation": (here | {"note": f"Likes tea ({run})", "status": "open"}, "outcome"),
            "send_text": (here | {"text": f"It is ready ({run})", "reply_to": self.message}, "message"),
            "send_template": (here | {"template": self.template, "variables": [run]}, "message"),
            "send_media": (here | {"type": "image", "media": self.media, "caption": run, "draft": True}, "draft"),
            "list_drafts": (here | {"state": "waiting"}, "drafts"),
            "hand_over": (here | {"reason": "Asks for a person"}, "outcome"),
        }


WRONG_IDS: dict[str, dict[str, Any]] = {
    "read_conversation": {"conversation": f"cv_{NOBODY}"},
    "trace_message": {"message": NOBODY},
    "preview_template": {"template": f"tpl_{NOBODY}"},
    "get_file": {"media": f"med_{NOBODY}"},
    "mark_read": {"conversation": f"cv_{NOBODY}"},
    "set_labels": {"conversation": f"cv_{NOBODY}", "add": [f"lb_{NOBODY}"]},
    "update_conversation": {"conversation": f"cv_{NOBODY}", "status": "closed"},
    "send_text": {"conversation": f"cv_{NOBODY}", "text": "Hi"},
    "send_template": {"phone": PERSON, "template": f"tpl_{NOBODY}"},
    "send_media": {"conversation": f"cv_{NOBODY}", "type": "image", "media": f"med_{NOBODY}"},
    "hand_over": {"conversation": f"cv_{NOBODY}", "reason": "x"},
}


@pytest.fixture
async def shop(parted_database_url: str) -> AsyncIterator[Shop]:
    network = {
        "limits": {"throughput": None, "pair_interval": None},
        "management": {"review_delay": 0.0},
        "callbacks": {"connections": 1},
    }
    async with running_gateway(parted_database_url, sandbox=msgspec.convert(network, SandboxSettings)) as one:
        channel = await one.new_channel(one.account_id, "15550007777", NUMBER, limits=FAST_NETWORK, waba_id=WABA)
        one.key, one.channel = await one.new_key(channel.id), ids.format_id("ch", channel.id)
        template = (await one.call("POST", "/api/v1/templates", TEMPLATE)).json()["data"]["id"]
        label = (await one.call("POST", "/api/v1/labels", {"name": "Tea"})).json()["data"]["id"]
        picture = b"\x89PNG\r\n\x1a\n" + b"0" * 100
        stored = await one.call("POST", "/api/v1/media", raw=picture, headers={"content-type": "image/png"})
        said = {"from": PERSON, "type": "order", "order": ORDER, "name": "Ana"}
        await one.sandbox("POST", f"/control/numbers/{NUMBER}/incoming", said)

        async def ready() -> Any:
            made = (await one.call("GET", f"/api/v1/templates/{template}")).json()["data"]
            messages = (await one.call("GET", "/api/v1/messages?direction=in")).json()["data"]
            return messages if messages and made["status"] == "APPROVED" else None

        [message] = await until(ready)
        await one.call("PATCH", f"/api/v1/contacts/ct_{message['conversation']['id'][3:]}", {"name": "Ana"})
        media = stored.json()["data"]["id"]
        yield Shop(one, message["conversation"]["id"], message["key"]["id"], label, template, media)


async def test_every_tool_in_both_eras_over_both_transports(shop: Shop) -> None:
    gateway = shop.gateway
    for era in ERAS:
        for transport in TRANSPORTS:
            key, run = await mcp_key(gateway), f"{era} by {transport}"
            await set_policy(gateway, key, OPEN)
            async with connected(gateway, key, transport, era) as mine:
                schemas = {one.name: one.output_schema for one in (await mine.client.list_tools()).tools}
                calls = shop.calls(run)
                assert list(schemas) == list(TOOLS), run
                assert schemas.keys() == calls.keys(), run
                await check_answers(mine, calls, schemas, run)
                await check_errors(mine, run)

    async def sent() -> bool:
        entries = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
        return len(entries) == 2 * len(ERAS) * len(TRANSPORTS)

    await until(sent)


async def check_answers(mine: Assistant, calls: dict[str, tuple[dict[str, Any], str]], schemas: Any, run: str) -> None:
    for tool, (arguments, field) in calls.items():
        answer = await mine.ask(tool, **arguments)
        assert answer.get(field), (run, tool, answer)
        jsonschema_rs.validator_for(schemas[tool]).validate(answer)


async def check_errors(mine: Assistant, run: str) -> None:
    for tool in TOOLS:
        error = await mine.fail(tool, nonsense=1)
        assert (error["code"], error["retryable"]) == ("invalid_field", False), (run, tool, error)
        assert error["fields"][0]["field"] == "nonsense", (run, tool, error)
    for tool, arguments in WRONG_IDS.items():
        error = await mine.fail(tool, **arguments)
        assert error["code"] == "not_found", (run, tool, error)
        assert error["instead"], (run, tool)
