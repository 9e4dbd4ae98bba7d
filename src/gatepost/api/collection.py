"""The request collection (Postman v2.1): an example of every route that takes a key, ready to run with one's own.

Folders follow the resources. Within one, what makes things comes before what uses them, and deleting comes last.
Scripts keep the ids that later requests need, and skip what cannot work yet, so that a run from top to bottom succeeds.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import msgspec

from gatepost.api.account_channels import base_url
from gatepost.api.asgi import Request, Response
from gatepost.api.collection_scripts import scripts
from gatepost.api.context import Context, CurrentCaller
from gatepost.api.openapi.parameters import EXAMPLES
from gatepost.api.openapi.route_docs import RouteDocs, Sample
from gatepost.api.openapi.routes import Operation
from gatepost.api.route import get
from gatepost.model import times

_SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
_HEADERS = {"Cache-Control": "no-store", "Content-Disposition": 'attachment; filename="gatepost.postman.json"'}
_LATER = timedelta(days=25)  # what the collection schedules, so that it can still be canceled after some weeks
_KINDS = {"official": "official channels only", "qr": "QR channels only"}
_VARIABLE = re.compile(r"\{\{(\w+)\}\}")
_DESCRIPTION = (
    "Every request, with this channel's own key. Set the variable phone to a number of yours: it gets the messages, "
    "and without it nothing is sent. A run from top to bottom succeeds: what cannot work yet is skipped, and the "
    "console says why. Set webhook_url to an address of yours, and allow_logout to yes to unlink the phone at the end."
)


@get("/api/v1/collection", scope="read", summary="Get the request collection", binary=("application/json",))
async def get_collection(request: Request, gateway: Context, caller: CurrentCaller) -> Response:
    """A Postman collection with the caller's own key and a working example of every route."""
    key = request.headers.get("authorization", "").partition(" ")[2].strip()  # empty for a session
    operations, url = request.state["router"].operations, base_url(gateway, request)
    phone = EXAMPLES["phone"] if gateway.sandbox_url else ""  # on a real network, the example may be somebody's number
    made = build_collection(operations, url, key, caller.kind, gateway.clock.now() + _LATER, phone)
    return Response(msgspec.json.encode(made), media_type="application/json", headers=_HEADERS)


def build_collection(
    operations: Sequence[Operation], base_url: str, key: str, kind: str, later: datetime, phone: str
) -> dict[str, Any]:
    """Return the collection of one caller. What its kind of channel cannot do is in a separate folder."""
    kept = {"phone", *(name for operation in operations for name in _kept(operation.docs))}
    folders: dict[str, list[Any]] = {}
    for operation in _in_order([one for one in operations if one.scope]):
        note = operation.docs
        for sample in _samples(operation, note):
            foreign = sample.only if sample.only not in (None, kind) else None
            name = _KINDS[foreign] if foreign else sample.folder or _folder(operation)
            folders.setdefault(name, []).append(_item(operation, note, sample, kept, foreign))
    variables = {"base_url": base_url, "api_key": key, "phone": phone} | _variables(operations)
    variables |= {"later": times.format_time(later)}
    return {
        "info": {"name": "Gatepost", "schema": _SCHEMA, "description": _DESCRIPTION},
        "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{api_key}}", "type": "string"}]},
        "variable": [{"key": name, "value": value} for name, value in variables.items()],
        "item": [{"name": name, "item": folders[name]} for name in sorted(folders, key=_rank)],
    }


def _rank(folder: str) -> int:
    return _LAST.index(folder) + 1 if folder in _LAST else 0


_LAST = ("message types", "linking", *_KINDS.values())


def _in_order(operations: list[Operation]) -> list[Operation]:
    """By resource, in the order of the routes; what makes comes before what uses, and deleting last."""
    places = list(dict.fromkeys(_folder(operation) for operation in operations))
    return sorted(operations, key=lambda one: (places.index(_folder(one)), one.docs.turn, _ends(one)))


def _folder(operation: Operation) -> str:
    return operation.docs.folder or operation.resource


def _ends(operation: Operation) -> bool:
    return operation.method == "DELETE"


def _variables(operations: Sequence[Operation]) -> dict[str, str]:
    kept = {name: "" for operation in operations for name in _kept(operation.docs)}
    asked = {name: "" for operation in operations for name in operation.docs.needs}
    needed = {name: EXAMPLES.get(name, "") for one in operations if one.scope for name in one.parameters}
    return needed | kept | asked | {"webhook_url": EXAMPLES["webhook_url"]}


def _kept(note: RouteDocs) -> list[str]:
    return [*note.keeps, *(name for sample in note.more for name in sample.keeps)]


def _samples(operation: Operation, note: RouteDocs) -> list[Sample]:
    first = Sample(
        operation.summary,
        note.example,
        note.keeps,
        note.asks,
        only=note.only,
        after=note.after,
        upload=note.upload,
        upload_type=note.upload_type,
    )
    more = [
        msgspec.structs.replace(one, only=one.only or note.only, after=one.after or note.after) for one in note.more
    ]
    return [first, *more]


def _item(operation: Operation, note: RouteDocs, sample: Sample, kept: set[str], foreign: str | None) -> dict[str, Any]:
    request: dict[str, Any] = {
        "method": operation.method,
        "url": _url(operation, note, sample),
        "header": [],
        "description": operation.description,
    }
    if sample.upload:
        request["header"].append({"key": "Content-Type", "value": sample.upload_type})
        request["body"] = {"mode": "raw", "raw": sample.upload}
    elif sample.body is not None:
        request["header"].append({"key": "Content-Type", "value": "application/json"})
        raw = msgspec.json.format(msgspec.json.encode(sample.body), indent=2).decode()
        request["body"] = {"mode": "raw", "raw": raw, "options": {"raw": {"language": "json"}}}
    used = _VARIABLE.findall(request["url"]["raw"] + request.get("body", {}).get("raw", ""))
    needs = [name for name in dict.fromkeys([*used, *note.needs]) if name in kept | {*note.needs}]
    status = {operation.status, *note.extra}
    event = scripts(status, sample.keeps, needs, sample.after, f"it is for {_KINDS[foreign]}" if foreign else None)
    return {"name": sample.title, "request": request, "response": [], "event": event}


def _url(operation: Operation, note: RouteDocs, sample: Sample) -> dict[str, Any]:
    path = operation.path.strip("/")
    for name in operation.parameters:
        path = path.replace("{" + name + "}", "{{" + note.uses.get(name, name) + "}}")
    raw = "{{base_url}}/" + path + ("?" + urlencode(sample.asks, safe="{}") if sample.asks else "")
    asked = [{"key": name, "value": value} for name, value in sample.asks.items()]
    offered = [{"key": name, "value": "", "disabled": True} for name in note.query_names if name not in sample.asks]
    return {"raw": raw, "host": ["{{base_url}}"], "path": path.split("/"), "query": asked + offered}
