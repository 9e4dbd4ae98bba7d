"""The events for people and machines: a page that describes every field, and a JSON Schema of each type."""

import re
from functools import cache
from html import escape
from typing import Any

import msgspec

from gatepost.api.asgi import Response
from gatepost.api.reference import PAGE_HEADERS
from gatepost.api.route import get
from gatepost.model.errors import NotFound
from gatepost.model.event import ALL_TYPES
from gatepost.model.event.schema import schema_of
from gatepost.networks.kinds import NETWORK_KINDS

Schema = dict[str, Any]
_CODE = re.compile(r"`([^`]+)`")
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gatepost: the events</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<header>
  <h1>Gatepost: the events</h1>
  <p>Every change on a channel becomes an event: the same in webhooks, in the feed, in the stream and in the log. Each
  type has a JSON Schema. Optional fields are marked; all other fields are always present.</p>
  <p><a href="/docs">The API</a></p>
</header>
<div id="columns">
"""


@get("/docs/events", summary="Read what events look like", binary=("text/html; charset=utf-8",))
async def show_events_page() -> Response:
    """Every type of event with its actions, their fields and an example, as a page."""
    return Response(_page(tuple(NETWORK_KINDS)), media_type="text/html", headers=PAGE_HEADERS)


@get("/docs/events/{schema_name}", summary="Get the schema of an event type", binary=("application/schema+json",))
async def show_event_schema(schema_name: str) -> Response:
    """The JSON Schema (2020-12) of one type with all its actions, such as `message_notification.json`."""
    type_ = schema_name.removesuffix(".json")
    if type_ not in ALL_TYPES or not schema_name.endswith(".json"):
        raise NotFound(f"There is no such schema; there are: {', '.join(f'{name}.json' for name in ALL_TYPES)}.")
    headers = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    return Response(_document(type_, tuple(NETWORK_KINDS)), media_type="application/schema+json", headers=headers)


@cache
def _document(type_: str, kinds: tuple[str, ...]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(schema_of(type_, kinds)), indent=2)


@cache
def _page(kinds: tuple[str, ...]) -> bytes:
    contents = "".join(f'<a href="#{type_}">{type_}</a>' for type_ in ALL_TYPES)
    sections = "".join(_type(type_, schema_of(type_, kinds)) for type_ in ALL_TYPES)
    nav = f'<nav aria-label="Types"><strong>Types</strong>{contents}</nav>'
    return f"{_HEAD}{nav}<main>{sections}</main></div></body></html>".encode()


def _type(type_: str, schema: Schema) -> str:
    actions = "".join(map(_action, schema["oneOf"], schema["examples"]))
    shown = {branch["properties"]["data"]["$ref"].rpartition("/")[2] for branch in schema["oneOf"]}
    parts = "".join(_part(type_, name, part) for name, part in schema["$defs"].items() if name not in shown)
    data = "".join(_part(type_, name, part) for name, part in schema["$defs"].items() if name in shown)
    link = f'<a href="/docs/events/{type_}.json">JSON Schema</a>'
    words = f"<p>{_words(schema['description'])} {link}</p>"
    return f'<section id="{type_}"><h2><code>{type_}</code></h2>{words}{actions}{data}{parts}</section>'


def _action(branch: Schema, example: Any) -> str:
    properties = branch["properties"]
    name = properties["data"]["$ref"].rpartition("/")[2]
    written = escape(msgspec.json.format(msgspec.json.encode(example), indent=2).decode())
    about = f'<a href="#{properties["type"]["const"]}-{name}">{name}</a>'
    return f"<h4><code>{properties['action']['const']}</code>: {about}</h4><pre>{written}</pre>"


def _part(type_: str, name: str, part: Schema) -> str:
    required = set(part["required"])
    rows = "".join(
        f"<tr><td><code>{escape(field)}</code></td><td>{_kind(type_, value)}</td>"
        f"<td>{'' if field in required else 'optional. '}{_words(value.get('description', ''))}</td></tr>"
        for field, value in part["properties"].items()
    )
    head = "<thead><tr><th>field</th><th>is</th><th></th></tr></thead>"
    words = f'<p class="quiet">{_words(part.get("description", ""))}</p>'
    return f'<h4 id="{type_}-{name}">{name}</h4>{words}<table>{head}<tbody>{rows}</tbody></table>'


def _words(text: str) -> str:
    """Return a description with the text between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _kind(type_: str, schema: Schema) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#{type_}-{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_kind(type_, one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(
            f"<code>{escape(str(one).lower() if one is True else str(one))}</code>" for one in schema["enum"]
        )
    if schema.get("type") == "array":
        return f"list of {_kind(type_, schema['items'])}"
    pattern = f" <code>{escape(schema['pattern'])}</code>" if "pattern" in schema else ""
    return escape(str(schema.get("type", "anything"))) + pattern
