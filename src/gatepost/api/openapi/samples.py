"""Example responses, built from the examples of their fields (`contract/`), or else from the field types."""

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from gatepost.api.contract.events import Event
from gatepost.api.openapi.route_docs import RouteDocs
from gatepost.model.event.schema import example_of

_EVENT = msgspec.json.decode(example_of("message_notification", "created"))

_TEXTS: dict[str, Any] = {
    "application/x-ndjson": '{"id": "…"}\n',
    "text/csv": "phone,name\n5511999998888,Ana Maria\n",
    "text/event-stream": f"id: {_EVENT['id']}\nevent: {_EVENT['type']}\ndata: {{…}}\n\n",
    "text/html": "<!doctype html>…",
    "text/css": "body { … }",
    "text/javascript": '"use strict"; …',
    "text/plain": "",
    "image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg">…</svg>',
    "image/png": "(a picture)",
    "application/json": {"…": "…"},
    "application/schema+json": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"},
    "*/*": "(the bytes of the file)",
}


def sample_answer(docs: RouteDocs, data: Any) -> dict[str, Any]:
    """Return the example response of a route whose `data` has this type."""
    answer: dict[str, Any] = {"success": True, "message": docs.message, "data": None if data is None else sample(data)}
    return answer | ({"paging": {"next": None}} if docs.paged else {})


def shown_as(kind: str) -> dict[str, Any]:
    """Return the example of a response without the JSON envelope, by media type."""
    plain = kind.split(";", maxsplit=1)[0]
    return {"example": _TEXTS[plain]} if plain in _TEXTS else {}


def sample(type_: Any) -> Any:
    """Return an example value of a type: its first example, or else the simplest value."""
    origin, inner = get_origin(type_), get_args(type_)
    if type_ is Event:
        return _EVENT
    if origin is Annotated:
        examples = type_.__metadata__[-1].examples
        return examples[0] if examples else sample(inner[0])
    if origin is Literal:
        return inner[0]
    if origin in (Union, types.UnionType):
        return sample(inner[0])
    if origin is list:
        return [sample(inner[0])]
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        return _struct(type_)
    return {} if origin is dict else _PLAIN.get(type_)


_PLAIN: dict[Any, Any] = {str: "…", int: 1, float: 0.5, bool: True}


def _struct(type_: type[msgspec.Struct]) -> dict[str, Any]:
    hints = get_type_hints(type_, include_extras=True)
    fields = [field for field in msgspec.structs.fields(type_) if field.default is not msgspec.UNSET]
    return {field.encode_name: sample(hints[field.name]) for field in fields}
