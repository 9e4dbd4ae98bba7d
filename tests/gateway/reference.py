"""The served reference as tests use it: its routes, and a tenant who owns one thing of every kind that they name."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import msgspec

from gatepost.api.app import HEALTH, REFERENCE, ROUTES
from gatepost.api.openapi.routes import list_operations
from gatepost.model import ids
from gatepost.model.event import TYPES
from tests.gateway.checks import until
from tests.running_gateway import Gateway

V1 = "/api/v1"
# The example of each route's body, with its {{names}}.
BODIES = {operation.key: operation.docs.example for operation in list_operations([*ROUTES, *REFERENCE, *HEALTH])}
ITEM = {"product_retailer_id": "rye", "quantity": 1, "item_price": "4.50", "currency": "USD"}
TEMPLATE = {
    "name": "order_sent",
    "language": "en_US",
    "category": "UTILITY",
    "components": [{"type": "BODY", "text": "Your order has left our house today."}],
}


class Route(msgspec.Struct, frozen=True):
    """One operation of the document."""

    method: str
    path: str
    spec: Any

    @property
    def key(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def scope(self) -> str | None:
        return next((one["bearer"][0] for one in self.spec["security"] if "bearer" in one), None)

    @property
    def secured(self) -> bool:
        """Whether it takes a key or a session."""
        return bool(self.spec["security"])

    @property
    def role(self) -> str | None:
        """The role that a session needs, if the route takes no key."""
        return next((one["session"][0] for one in self.spec["security"] if one.get("session") and not self.scope), None)

    @property
    def agents(self) -> bool:
        """Whether agents may use it without its scope."""
        return {"session": ["agent"]} in self.spec["security"]

    @property
    def ids(self) -> list[str]:
        return [one["name"] for one in self.spec["parameters"] if one["in"] == "path"]

    @property
    def query(self) -> list[str]:
        return [one["name"] for one in self.spec["parameters"] if one["in"] == "query"]

    @property
    def example(self) -> Any:
        return next(iter(self.examples), None)

    @property
    def examples(self) -> list[Any]:
        """The examples of its body: one of each kind, or just the one."""
        content = self.spec.get("requestBody", {}).get("content", {}).get("application/json", {})
        return (
            [content["example"]]
            if "example" in content
            else [one["value"] for one in content.get("examples", {}).values()]
        )

    @property
    def takes_file(self) -> bool:
        return "multipart/form-data" in self.spec.get("requestBody", {}).get("content", {})

    def at(self, things: dict[str, str]) -> str:
        """Its address, with ids in their places."""
        path = self.path
        for name in self.ids:
            path = path.replace("{" + name + "}", things[name])
        return path


async def served(gateway: Gateway) -> Any:
    """The document as it is served, without a key."""
    answer = await gateway.call("GET", "/openapi.json", key="")
    assert answer.status == 200
    return answer.json()


def routes_of(document: Any) -> list[Route]:
    """Every operation that it names."""
    return [
        Route(method.upper(), path, spec)
        for path, methods in document["paths"].items()
        for method, spec in methods.items()
    ]


class Tenant(msgspec.Struct):
    """Somebody with a channel, a key, and one thing of every kind."""

    channel_id: UUID
    number_id: str
    phone: str
    key: str
    things: dict[str, str] = {}


async def move_in(gateway: Gateway, wanted: set[str], digit: int) -> Tenant:
    """A new account with a channel, and one thing for every name of an id that is wanted."""
    number, phone = f"10000000000010{digit}", f"1555000100{digit}"
    waba = f"20000000000010{digit}"
    channel = await gateway.new_channel(await gateway.new_account(), phone, number, waba_id=waba)
    tenant = Tenant(channel.id, number, phone, await gateway.new_key(channel.id))
    tenant.things["channel_id"] = ids.format_id("ch", channel.id)
    await _talk(gateway, tenant, f"551199999000{digit}")
    quiet = dict.fromkeys(TYPES, False)  # nothing is delivered, so that nothing moves by itself
    made = {"endpoint_id": {"url": gateway.sandbox_url + "/nowhere", "events": quiet}}
    for name in sorted(wanted - set(tenant.things)):
        if name in tenant.things:  # made along with another
            continue
        tenant.things[name] = await _MAKERS[name](gateway, tenant, made.get(name))
    return tenant


async def _talk(gateway: Gateway, tenant: Tenant, person: str) -> None:
    """One message each way; the conversation and the contact come of it."""
    said = {"from": person, "type": "order", "order": {"catalog_id": "c", "text": "", "product_items": [ITEM]}}
    await gateway.sandbox("POST", f"/control/numbers/{tenant.number_id}/incoming", said)

    async def received() -> Any:
        page = (await gateway.call("GET", f"{V1}/events?types=message_notification", key=tenant.key)).json()
        return page["data"]

    first = (await until(received))[0]["data"]
    tenant.things["incoming_id"] = first["key"]["id"]
    sent = await gateway.call("POST", f"{V1}/message/send", {"phone": person, "body": "Hello"}, key=tenant.key)
    tenant.things["message_id"] = sent.json()["data"]["key"]["id"]

    async def read() -> bool:
        found = (await gateway.call("GET", f"{V1}/messages/{tenant.things['message_id']}", key=tenant.key)).json()
        tenant.things["conversation_id"] = found["data"]["conversation"]["id"]
        tenant.things["contact_id"] = found["data"]["contact"]["id"]
        return bool(found["data"]["status"] == "READ")

    await until(read)


Maker = Callable[[Gateway, Tenant, Any], Awaitable[str]]


def _post(path: str, body: Any) -> Maker:
    async def make(gateway: Gateway, tenant: Tenant, given: Any) -> str:
        answer = await gateway.call("POST", V1 + path, given or body, key=tenant.key)
        assert answer.status == 201, answer.body
        made: str = answer.json()["data"]["id"]
        return made

    return make


async def _upload(gateway: Gateway, tenant: Tenant, _: Any) -> str:
    answer = await gateway.call(
        "POST", V1 + "/media", raw=b"Hello", key=tenant.key, headers={"content-type": "text/plain"}
    )
    assert answer.status == 201, answer.body
    made: str = answer.json()["data"]["id"]
    return made


async def _order(_gateway: Gateway, tenant: Tenant, _: Any) -> str:
    return "ord_" + tenant.things["incoming_id"].lower()


async def _deliver(gateway: Gateway, tenant: Tenant, _: Any) -> str:
    """A delivery that was made, of the first event, to the endpoint that gets none by itself."""
    endpoint = await _own_endpoint(gateway, tenant)
    first = (await gateway.call("GET", f"{V1}/events?limit=1", key=tenant.key)).json()["data"][0]["id"]
    endpoint_id, event_id = ids.parse_id("we", endpoint), ids.parse_id("evt", first)
    async with gateway.db.connection() as conn:
        await conn.execute(
            "INSERT INTO deliveries (channel_id, endpoint_id, event_id, state, attempts) VALUES ($1, $2, $3, 1, 1)",
            tenant.channel_id,
            endpoint_id,
            event_id,
        )
    return f"dl_{endpoint[3:]}{first[4:]}"


async def _recover(gateway: Gateway, tenant: Tenant, _: Any) -> str:
    path = f"{V1}/webhooks/{await _own_endpoint(gateway, tenant)}/recover"
    answer = await gateway.call("POST", path, {"since": "2026-01-01"}, key=tenant.key)
    assert answer.status == 201, answer.body
    made: str = answer.json()["data"]["id"]

    async def done() -> bool:
        found = (await gateway.call("GET", path.removesuffix("recover") + f"recoveries/{made}", key=tenant.key)).json()
        return bool(found["data"]["status"] == "done")

    await until(done)
    return made


async def _note(gateway: Gateway, tenant: Tenant, _: Any) -> str:
    path = f"/conversations/{tenant.things['conversation_id']}/notes"
    return await _post(path, {"text": "Wants it on Friday"})(gateway, tenant, None)


async def _own_endpoint(gateway: Gateway, tenant: Tenant) -> str:
    if "endpoint_id" not in tenant.things:
        quiet = {"url": gateway.sandbox_url + "/nowhere", "events": dict.fromkeys(TYPES, False)}
        tenant.things["endpoint_id"] = await _MAKERS["endpoint_id"](gateway, tenant, quiet)
    return tenant.things["endpoint_id"]


_MAKERS: dict[str, Maker] = {
    "delivery_id": _deliver,
    "recovery_id": _recover,
    "endpoint_id": _post("/webhooks", None),
    "template_id": _post("/templates", TEMPLATE),
    "label_id": _post("/labels", {"name": "VIP", "color": "#00aa00"}),
    "media_id": _upload,
    "order_id": _order,
    "note_id": _note,
    "draft_id": _post("/drafts", {"message": {"phone": "5511999990009", "body": "Hello"}}),
}


async def rows_of(gateway: Gateway, channel_id: UUID) -> dict[str, str]:
    """A fingerprint of all that a channel has, table by table: any table that names channels."""
    async with gateway.db.connection() as conn:
        tables = await conn.fetch(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE a.attname = 'channel_id' AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
            " AND c.relnamespace = 'public'::regnamespace"
        )
        return {
            table["relname"]: await conn.fetchval(
                f"SELECT md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {table['relname']} t"
                " WHERE channel_id = $1",
                channel_id,
            )
            for table in tables
            if table["relname"] not in _RESTLESS
        }


# Leases, times of use, refused requests and daily counts change in the background.
_RESTLESS = {"channel_heads", "api_keys", "refused_requests", "daily_counts", "daily_failures", "daily_cursors"}
