"""The request collection: it lists what exists, carries the caller's own key, and every request of it works.

The runner below reads the file as Postman does: variables, the test scripts that set them, requests in their order.
"""

import asyncio
import re
import time
from typing import Any

import msgspec

from gatepost.api.app import HEALTH, REFERENCE, ROUTES
from gatepost.api.openapi.routes import list_operations
from tests.conftest import Receiver
from tests.gateway.checks import until
from tests.gateway.reference import ITEM
from tests.house import REVIEW, Answer, House

COLLECTION = "/api/v1/collection"
PERSON = "5511999990001"
ELSEWHERE = {"official": "QR channels only", "qr": "Official channels only"}
_VARIABLE = re.compile(r"\{\{(\$?\w+)\}\}")
_SET = re.compile(r'pm\.collectionVariables\.set\("(\w+)", pm\.response\.json\(\)\.([\w.\[\]]+)\);')


class Runner:
    """Runs requests of a collection one after the other."""

    def __init__(self, house: House, collection: Any, **variables: str) -> None:
        self._house = house
        self.variables = {one["key"]: one["value"] for one in collection["variable"]} | variables
        self.folders = {folder["name"]: folder["item"] for folder in collection["item"]}
        assert collection["auth"]["bearer"][0]["value"] == "{{api_key}}"

    async def run(self, items: list[Any]) -> None:
        for item in items:
            answer = await self._ask(item["request"])
            # What was just sent may need a moment to arrive, a template its review; a person would try once more.
            for _ in range(100):
                if answer.status != 409 and self._has(item["event"], answer):
                    break
                if "/templates/" in item["request"]["url"]["raw"]:
                    await self._house.sandbox("POST", "/control/clock", {"advance": REVIEW})
                await asyncio.sleep(0.05)
                answer = await self._ask(item["request"])
            assert answer.status in (200, 201), (item["name"], item["request"]["url"]["raw"], answer.body)
            for event in item["event"]:
                self._keep(event["script"]["exec"], answer)

    async def _ask(self, request: Any) -> Answer:
        body = request.get("body")
        return await self._house.call(
            request["method"],
            self._fill(request["url"]["raw"]),
            raw=self._fill(body["raw"]).encode() if body else None,
            key=self.variables["api_key"],
            headers={one["key"].lower(): one["value"] for one in request["header"]},
        )

    def _fill(self, text: str) -> str:
        values = self.variables | {"$timestamp": str(int(time.time()))}
        return _VARIABLE.sub(lambda hit: values.get(hit.group(1), hit.group(0)), text)

    def _has(self, events: list[Any], answer: Answer) -> bool:
        """Whether the list that something is to be kept of has it yet."""
        first = any("data[0]" in line for event in events for line in event["script"]["exec"])
        return answer.status != 200 or not first or bool(answer.json()["data"])

    def _keep(self, lines: list[str], answer: Answer) -> None:
        for line in lines:
            found = _SET.fullmatch(line)
            assert found, line
            value = answer.json()
            for step in re.findall(r"\w+", found.group(2)):
                value = value[int(step) if step.isdigit() else step]
            self.variables[found.group(1)] = value


async def _collection(house: House, key: str) -> Any:
    answer = await house.call("GET", COLLECTION, key=key)
    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"
    return answer.json()


async def test_it_lists_exactly_the_routes_that_take_a_key(house: House) -> None:
    made = await _collection(house, house.key)
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


async def test_it_is_made_for_its_caller(house: House) -> None:
    made = await _collection(house, house.key)
    variables = {one["key"]: one["value"] for one in made["variable"]}
    assert (variables["base_url"], variables["api_key"]) == (house.url, house.key)
    assert made["info"]["schema"].endswith("/v2.1.0/collection.json")
    used = set(_VARIABLE.findall(msgspec.json.encode(made["item"]).decode()))
    assert {name for name in used if not name.startswith("$") and not name.isdigit()} <= set(variables)


async def test_every_request_works_on_an_official_channel(house: House, receiver: Receiver) -> None:
    channel = await house.new_channel(house.account_id, "15550001001", "100000000000101", waba_id="200000000000101")
    key = await house.new_key(channel.id)
    order = {"catalog_id": "c", "text": "", "product_items": [ITEM]}
    said = {"from": PERSON, "type": "order", "order": order}
    await house.sandbox("POST", "/control/numbers/100000000000101/incoming", said)
    runner = Runner(house, await _collection(house, key), webhook_url=receiver.url)
    await _until_heard(house, key)
    for name, items in runner.folders.items():
        if name != ELSEWHERE["official"]:
            await runner.run(items)


async def test_every_request_works_on_a_qr_channel(house: House, receiver: Receiver) -> None:
    channel = await house.new_qr_channel(house.account_id)
    key = await house.new_key(channel.id)
    runner = Runner(house, await _collection(house, key), webhook_url=receiver.url)
    linking = runner.folders.pop("linking")
    await runner.run(linking[:-1])
    await _link(house, channel.phone, key)
    items = [{"retailer_id": "rye", "quantity": 1, "price": "4.50", "currency": "USD"}]
    said = {"type": "order", "content": {"order": {"catalog_id": "c", "text": "", "items": items}}}
    await house.sandbox("POST", f"/control/phones/{channel.phone}/incoming", {"from": {"phone": PERSON}, **said})
    await _until_heard(house, key)
    for name, folder in runner.folders.items():
        if name != ELSEWHERE["qr"]:
            await runner.run(folder)
    await runner.run(linking[-1:])


async def _link(house: House, phone: str, key: str) -> None:
    code = (await house.call("GET", "/api/v1/channel/qr", key=key)).json()["data"]["code"]
    await house.sandbox("POST", f"/control/phones/{phone}/scan", {"code": code})

    async def connected() -> bool:
        await house.sandbox("POST", "/control/clock", {"advance": 0.5})
        state = (await house.call("GET", "/api/v1/channel", key=key)).json()["data"]["connection"]["state"]
        return bool(state == "connected")

    await until(connected)


async def _until_heard(house: House, key: str) -> None:
    async def heard() -> Any:
        return (await house.call("GET", "/api/v1/messages?direction=in", key=key)).json()["data"]

    await until(heard)
