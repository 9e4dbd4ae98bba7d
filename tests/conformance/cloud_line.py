"""The official line: a number at the sandbox's Cloud API."""

from base64 import b64encode
from typing import Any

from tests.conformance.line import FILE_TYPES, File, Line, Sample, Taken

TOKEN = {"authorization": "Bearer token"}
NOWHERE = "http://127.0.0.1:9/nobody-listens"
_AD = {"source_url": "https://ads.example.com/1", "source_type": "ad", "source_id": "1", "headline": "Tea"}
OWN: tuple[Sample, ...] = (
    Sample(
        "button_reply",
        {"type": "button", "button": {"payload": "yes-1", "text": "Yes"}},
        {"reply": {"id": "yes-1", "title": "Yes"}},
    ),
    Sample(
        "flow_reply",
        {"type": "nfm_reply", "nfm_reply": {"name": "flow", "body": "Sent", "response_json": {"size": 42}}},
        {"reply": {"name": "flow", "body": "Sent", "response": {"size": 42}}},
    ),
    Sample(
        "text",
        {"type": "text", "text": {"body": "I saw this"}, "referral": _AD},
        {"body": "I saw this"},
        {"referral": _AD},
    ),
    Sample(
        "text",
        {
            "type": "text",
            "text": {"body": "How much?"},
            "context": {"referred_product": {"catalog_id": "c1", "product_retailer_id": "p1"}},
        },
        {"body": "How much?"},
        {"referred_product": {"catalog_id": "c1", "retailer_id": "p1"}},
    ),
    Sample(
        "unsupported",
        {"type": "unsupported"},
        {
            "unsupported": {
                "code": 131051,
                "title": "Unsupported message type",
                "details": "This sort of message is not supported.",
            }
        },
    ),
)


class CloudLine(Line):
    """Knows the sandbox's numbers."""

    own_types = OWN
    final_code, passing_code = 131049, 131016
    number_id = ""
    waba_id = ""
    _callback_url: str | None = None

    @property
    def place(self) -> str:
        return self.number_id

    # -- people -------------------------------------------------------------------------------------------------------

    async def say(
        self,
        person: str,
        type_: str,
        content: dict[str, Any],
        *,
        name: str | None = None,
        file: File | None = None,
        reply_to: str | None = None,
        target: str | None = None,
        forwarded: bool = False,
    ) -> str:
        wire, part = to_wire(type_, content, target)
        if type_ == "edit" and content["edit"]["type"] in FILE_TYPES:  # the file comes again with its new words
            inner = part["message"]
            inner[inner["type"]] = await self._said(target) | inner[inner["type"]]
        if file:
            part |= {"content": b64encode(file.content).decode(), "mime_type": file.mime_type}
            part |= {"filename": file.filename} if file.filename else {}
        said: dict[str, Any] = {"from": person, "type": wire, wire: part}
        said |= {"name": name} if name else {}
        said |= {"reply_to": reply_to} if reply_to else {}
        said |= {"context": {"forwarded": True}} if forwarded else {}
        return await self._arrive(said)

    async def bring(self, person: str, sample: Sample) -> str:
        return await self._arrive({"from": person, **sample.comes})

    async def say_from_phone(self, person: str, body: str) -> str:
        return await self._arrive({"from": person, "type": "echo", "echo": {"type": "text", "text": {"body": body}}})

    async def say_hidden(self, person: str, body: str, name: str | None = None) -> str:
        hidden = {"user_id": f"BR.{person}", "phone_hidden": True} | ({"name": name} if name else {})
        return await self._arrive({"from": person, "type": "text", "text": {"body": body}, **hidden})

    async def _said(self, network_id: str | None) -> dict[str, Any]:
        rows = (await self.control("GET", f"/ledger?kind=incoming&phone_number_id={self.number_id}"))["entries"]
        content: dict[str, Any] = next(row["content"] for row in rows if row["wamid"] == network_id)
        return content

    async def _arrive(self, said: dict[str, Any]) -> str:
        wamid: str = (await self.control("POST", f"/numbers/{self.number_id}/incoming", said))["wamid"]
        return wamid

    # -- records ------------------------------------------------------------------------------------------------------

    async def taken(self) -> list[Taken]:
        rows = (await self.control("GET", f"/ledger?kind=accepted&phone_number_id={self.number_id}"))["entries"]
        return [_read(row) for row in rows]

    async def offered(self, message_id: str) -> int:
        attempts: int = max(
            (
                step["attempt"]
                for step in (await self.get(f"/messages/{message_id}/trace"))["steps"]
                if "attempt" in step
            ),
            default=1,
        )
        return attempts

    async def open_file(self, file: dict[str, str]) -> bytes:
        if "link" in file:
            return (await self.gateway.call("GET", file["link"], key="")).body
        shown = await self.gateway.call("GET", f"{self.gateway.sandbox_url}/v25.0/{file['id']}", key="", headers=TOKEN)
        return (await self.gateway.call("GET", shown.json()["url"], key="", headers=TOKEN)).body

    # -- trouble ------------------------------------------------------------------------------------------------------

    async def receipt(self, message: Any, status: str) -> None:
        item = {"id": message["network_id"], "status": status, "timestamp": "1700000000", "recipient_id": "1"}
        value = {"messaging_product": "whatsapp", "metadata": {"phone_number_id": self.number_id}, "statuses": [item]}
        await self.control("POST", f"/wabas/{self.waba_id}/news", {"field": "messages", "value": value})

    async def change_number(self, old: str, new: str) -> None:
        system = {"type": "user_changed_number", "wa_id": new, "body": f"Changed to {new}"}
        await self._arrive({"from": old, "type": "system", "system": system})

    async def cut(self) -> None:
        """The gateway cannot be reached: callbacks fail, and the network tries them again."""
        await self.advance(0)  # what is on its way still arrives
        number = await self.control("GET", f"/numbers/{self.number_id}")
        self._callback_url = number["callback_url"]
        # Nothing is tried twice before it is repaired: that would mix the order.
        await self._aim(NOWHERE, {"retry": [300]})

    async def repair(self) -> None:
        await self.advance(0)
        await self._aim(self._callback_url, {})
        await self.advance(600)

    async def _aim(self, url: str | None, callbacks: dict[str, Any]) -> None:
        change = {"callback_url": url, "verify": False, "callbacks": callbacks}
        await self.control("PATCH", f"/numbers/{self.number_id}", change)


def _read(row: dict[str, Any]) -> Taken:
    type_, content = from_wire(row["type"], row["content"])
    return Taken(
        id=row["biz_opaque_callback_data"].split(":")[1].upper(),
        network_id=row["wamid"],
        to=row["to"],
        type=type_,
        content=content,
        reply_to=row["context"],
        target=row["content"]["message_id"] if type_ == "reaction" else None,
    )


def to_wire(type_: str, content: dict[str, Any], target: str | None) -> tuple[str, Any]:
    """The network's own shape of what a person sends."""
    match type_:
        case "location" | "contacts":
            return type_, content[type_]
        case "reaction":
            return type_, {"message_id": target, "emoji": content["reaction"]["emoji"]}
        case "button_reply" | "list_reply":
            return type_, content["reply"]
        case "order":
            return type_, _order(content["order"])
        case "edit":
            inner, part = to_wire(content["edit"]["type"], content["edit"]["content"], None)
            return type_, {"original_message_id": target, "message": {"type": inner, inner: part}}
        case "revoke":
            return type_, {"original_message_id": target}
        case "text" | "image" | "video" | "audio" | "document" | "sticker":
            return type_, dict(content)
    return "raw", {"type": type_, type_: content}


def _order(order: dict[str, Any]) -> dict[str, Any]:
    names = {"retailer_id": "product_retailer_id", "price": "item_price"}
    items = [{names.get(name, name): value for name, value in item.items()} for item in order["items"]]
    return {"catalog_id": order["catalog_id"], "text": order["text"], "product_items": items}


def from_wire(type_: str, part: Any) -> tuple[str, dict[str, Any]]:
    """What the network took, in the neutral shapes: the way back of what the gateway composed."""
    if type_ in FILE_TYPES:
        kept = {name: value for name, value in part.items() if name not in ("id", "link")}
        return type_, {"media": {name: part[name] for name in ("id", "link") if name in part}, **kept}
    if type_ in ("location", "contacts"):
        return type_, {type_: part}
    if type_ == "reaction":
        return type_, {"reaction": {"emoji": part["emoji"]}}
    if type_ == "template":
        return type_, {"template": _template(part)}
    return _interactive(part) if type_ == "interactive" else (type_, part)


def _template(part: dict[str, Any]) -> dict[str, Any]:
    body = next(one for one in part["components"] if one["type"] == "body")
    variables = [one["text"] for one in body["parameters"]]
    return {"name": part["name"], "language": part["language"]["code"], "variables": variables}


def _interactive(part: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    action = part["action"]
    common: dict[str, Any] = {name: part[name]["text"] for name in ("body", "footer") if name in part}
    common |= {"header": part["header"]} if "header" in part else {}
    match part["type"]:
        case "button":
            return "buttons", common | {"buttons": [button["reply"] for button in action["buttons"]]}
        case "list":
            return "list", common | {"button": action["button"], "sections": action["sections"]}
        case "cta_url":
            link = action["parameters"]
            return "cta_url", common | {"cta": {"text": link["display_text"], "url": link["url"]}}
        case "product":
            product = {"catalog_id": action["catalog_id"], "retailer_id": action["product_retailer_id"]}
            return "product", common | {"product": product}
        case "product_list":
            return "product_list", common | {"catalog_id": action["catalog_id"], "sections": _shelves(action)}
    thumbnail = action["parameters"]["thumbnail_product_retailer_id"]
    return "catalog", common | {"thumbnail": thumbnail}


def _shelves(action: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"title": one["title"], "products": [item["product_retailer_id"] for item in one["product_items"]]}
        for one in action["sections"]
    ]
