"""The request collection: it lists what exists, carries the caller's own key, and every request of it works.

Newman, Postman's own runner, runs it.
"""

import asyncio
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gatepost.api import collection_scripts
from gatepost.api.app import HEALTH, REFERENCE, ROUTES
from gatepost.api.openapi.routes import list_operations
from tests.conftest import Receiver
from tests.gateway.checks import until
from tests.gateway.reference import ITEM
from tests.node import NODE, installed
from tests.running_gateway import REVIEW, Gateway
from tests.thorough import choose

COLLECTION = "/api/v1/collection"
PERSON = "5511999990001"
RUNS = choose(2, 1)  # the second run meets what the first one left
_NEEDS_AN_UNLINKED_PHONE = ("Get the code to scan", "Get a pairing code")
_OF_QR = (
    "Edit a message",
    "Delete for everyone",
    "Check numbers",
    "Connect the channel",
    *_NEEDS_AN_UNLINKED_PHONE,
    "Log the channel out",
)
_OF_OFFICIAL = (
    "A product of a catalogue",
    "Several products",
    "The whole catalogue",
    "A template with its variables",
    "Get the business profile",
    "Change the business profile",
    "Check the number's health",
    "List templates",
    "Create a template",
    "Create a template to send",
    "Check a template",
    "Get a template",
    "Edit a template",
    "Sync templates",
    "Preview a template",
    "Delete a template",
)
_VARIABLE = re.compile(r"\{\{(\$?\w+)\}\}")


class Run(msgspec.Struct, frozen=True):
    """What newman reports of a run."""

    sent: list[str]
    skipped: list[str]
    failures: list[str]


async def run_collection(
    gateway: Gateway, collection: Any, folder: Path, *, advance: float = 0.0, **variables: str
) -> Run:
    """Runs a collection from top to bottom in stock newman, while the network's clock goes on."""
    for one in collection["variable"]:
        one["value"] = variables.get(one["key"], one["value"])
    (folder / "collection.json").write_bytes(msgspec.json.encode(collection))
    newman = installed("newman") / "node_modules" / "newman" / "bin" / "newman.js"
    options = ["--reporters", "json", "--reporter-json-export", "report.json", "--timeout", "90000"]
    running = await asyncio.create_subprocess_exec(
        NODE, newman, "run", "collection.json", *options, cwd=folder, stdout=asyncio.subprocess.DEVNULL
    )
    ended = asyncio.create_task(running.wait())
    while not ended.done():
        if advance:
            await gateway.sandbox("POST", "/control/clock", {"advance": advance})
        await asyncio.wait([ended], timeout=0.2)
    run = msgspec.json.decode((folder / "report.json").read_bytes())["run"]
    sent = [one["item"]["name"] for one in run["executions"] if "assertions" in one]
    names = [item["name"] for part in collection["item"] for item in part["item"]]
    failures = [f"{one['source'].get('name')}: {one['error']['message']}" for one in run["failures"]]
    assert running.returncode == (1 if failures else 0)
    return Run(sent, [name for name in names if name not in sent], failures)


async def _collection(gateway: Gateway, key: str) -> Any:
    answer = await gateway.call("GET", COLLECTION, key=key)
    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"
    return answer.json()


async def test_it_lists_exactly_the_routes_that_take_a_key(gateway: Gateway) -> None:
    made = await _collection(gateway, gateway.key)
    there = {(one.method, one.path) for one in list_operations([*ROUTES, *REFERENCE, *HEALTH]) if one.scope}
    listed = set()
    for folder in made["item"]:
        for item in folder["item"]:
            path = item["request"]["url"]["raw"].removeprefix("{{base_url}}").partition("?")[0]
            listed.add((item["request"]["method"], _VARIABLE.sub("{}", path)))
            body = item["request"].get("body")
            if body and body.get("options"):
                msgspec.json.decode(body["raw"])
    assert listed == {(method, re.sub(r"\{\w+\}", "{}", path)) for method, path in there}


async def test_it_is_made_for_its_caller(gateway: Gateway) -> None:
    made = await _collection(gateway, gateway.key)
    variables = {one["key"]: one["value"] for one in made["variable"]}
    assert (variables["base_url"], variables["api_key"]) == (gateway.url, gateway.key)
    assert made["info"]["schema"].endswith("/v2.1.0/collection.json")
    used = set(_VARIABLE.findall(msgspec.json.encode(made["item"]).decode()))
    assert {name for name in used if not name.startswith("$") and not name.isdigit()} <= set(variables)


async def test_newman_runs_it_on_an_official_channel(gateway: Gateway, receiver: Receiver, tmp_path: Path) -> None:
    channel = await gateway.new_channel(gateway.account_id, "15550001001", "100000000000101", waba_id="200000000000101")
    key = await gateway.new_key(channel.id)
    order = {"catalog_id": "c", "text": "", "product_items": [ITEM]}
    said = {"from": PERSON, "type": "order", "order": order}
    await gateway.sandbox("POST", "/control/numbers/100000000000101/incoming", said)
    await _until_heard(gateway, key)
    for _ in range(RUNS):
        made = await _collection(gateway, key)
        run = await run_collection(gateway, made, tmp_path, advance=REVIEW, phone=PERSON, webhook_url=receiver.url)
        assert not run.failures
        assert set(run.skipped) == {"A poll; QR channels", *_OF_QR}


async def test_newman_runs_it_on_a_qr_channel(gateway: Gateway, receiver: Receiver, tmp_path: Path) -> None:
    channel = await gateway.new_qr_channel(gateway.account_id)
    key = await gateway.new_key(channel.id)
    await gateway.call("POST", "/api/v1/channel/connect", key=key)
    await _link(gateway, channel.phone, key)
    items = [{"retailer_id": "rye", "quantity": 1, "price": "4.50", "currency": "USD"}]
    said = {"type": "order", "content": {"order": {"catalog_id": "c", "text": "", "items": items}}}
    await gateway.sandbox("POST", f"/control/phones/{channel.phone}/incoming", {"from": {"phone": PERSON}, **said})
    await _until_heard(gateway, key)
    for _ in range(RUNS):
        made = await _collection(gateway, key)
        run = await run_collection(gateway, made, tmp_path, phone=PERSON, webhook_url=receiver.url)
        assert not run.failures
        assert set(run.skipped) == {*_OF_OFFICIAL, *_NEEDS_AN_UNLINKED_PHONE, "Log the channel out"}


async def _link(gateway: Gateway, phone: str, key: str) -> None:
    code = (await gateway.call("GET", "/api/v1/channel/qr", key=key)).json()["data"]["code"]
    await gateway.sandbox("POST", f"/control/phones/{phone}/scan", {"code": code})

    async def connected() -> bool:
        await gateway.sandbox("POST", "/control/clock", {"advance": 0.5})
        state = (await gateway.call("GET", "/api/v1/channel", key=key)).json()["data"]["connection"]["state"]
        return bool(state == "connected")

    await until(connected)


async def _until_heard(gateway: Gateway, key: str) -> None:
    async def received() -> Any:
        return (await gateway.call("GET", "/api/v1/messages?direction=in", key=key)).json()["data"]

    await until(received)


async def test_newman_runs_it_where_nobody_has_written_yet(
    gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection_scripts, "_PAUSE", 10)  # it waits in vain for each thing that never comes
    channel = await gateway.new_qr_channel(gateway.account_id)
    key = await gateway.new_key(channel.id)
    run = await run_collection(gateway, await _collection(gateway, key), tmp_path)
    assert not run.failures
    assert {"Send a message", "Mark as read", "Get an order"} <= set(run.skipped)  # no number was chosen
    assert (await gateway.call("GET", "/api/v1/messages", key=key)).json()["data"] == []
