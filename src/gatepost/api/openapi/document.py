"""The API reference as an OpenAPI 3.1 document: operations become paths, structs become components."""

from collections.abc import Sequence
from typing import Any, get_args, get_origin

import msgspec

from gatepost import __version__
from gatepost.api.contract.failure import Failure
from gatepost.api.deprecations import DEPRECATIONS
from gatepost.api.openapi.answer_headers import ANSWER_HEADERS, headers_of
from gatepost.api.openapi.parameters import CHANNEL, EXAMPLES, HEADERS, path_parameter
from gatepost.api.openapi.problems import answer_of, codes_of, share_refusals
from gatepost.api.openapi.route_docs import RouteDocs
from gatepost.api.openapi.routes import Operation
from gatepost.api.openapi.samples import sample_answer, shown_as
from gatepost.api.session_cookie import NAME, SECURE_NAME
from gatepost.model.content.fields import DescribedField, described_fields
from gatepost.model.event.schema import components as event_components
from gatepost.model.send_request import MESSAGE_TYPES
from gatepost.networks.kinds import NETWORK_KINDS

Schema = dict[str, Any]
_INTRODUCTION = """One REST API in front of official and linked numbers. A program sends the channel's key as
`Authorization: Bearer gpk_…`; a page of the dashboard sends the cookie of its session, and names the channel in the
header `Gatepost-Channel`. Times are RFC 3339 in UTC; phone numbers are digits with the country code."""
_SECURITY: Schema = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "The channel's key."},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": SECURE_NAME,
        "description": f"The cookie of a session. Over http its name is {NAME}. The list names the scope that the "
        "session needs, or its role.",
    },
}
_REF = "#/components/schemas/{name}"

_NAMES = {"BatchOptions": "Batch"}  # structs whose component has another, public name


def build_document(operations: Sequence[Operation]) -> Schema:
    """Return the OpenAPI document."""
    used = [Failure, *(type_ for operation in operations for type_ in _types(operation))]
    types = list({id(type_): type_ for type_ in used}.values())
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    known = {id(type_): schema for type_, schema in zip(types, schemas, strict=True)}
    schemas, components = _renamed(schemas), _renamed(components)
    for body in (operation.body for operation in operations):
        for field in described_fields(body):
            components[body.__name__]["properties"][field.name] = _described(field, known)
    components |= _events()
    paths: dict[str, Schema] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, known)
    refusals = share_refusals(paths)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Gatepost", "version": __version__, "description": _INTRODUCTION},
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(operation.resource for operation in operations)],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": refusals,
            "headers": ANSWER_HEADERS,
            "securitySchemes": _SECURITY,
        },
    }


def _renamed(schemas: Any) -> Any:
    """Return schemas with the names of `_NAMES`."""
    text = msgspec.json.encode(schemas).decode()
    for struct, name in _NAMES.items():
        text = text.replace(f'/{struct}"', f'/{name}"').replace(f'"{struct}":', f'"{name}":')
        text = text.replace(f'"title":"{struct}"', f'"title":"{name}"')
    return msgspec.json.decode(text)


def _described(field: DescribedField, known: dict[int, Schema]) -> Schema:
    """Return the schema of a field that is decoded without its type."""
    choices = [known[id(type_)] for type_ in field.types] + ([] if field.required else [{"type": "null"}])
    description = {"description": field.description} if field.description else {}
    return description | (choices[0] if len(choices) == 1 else {"anyOf": choices})


def _events() -> dict[str, Schema]:
    """Return the schemas of events as under /docs/events, instead of only the envelope."""
    event, parts = event_components(_REF.replace("{name}", "Event.{name}"), NETWORK_KINDS)
    return {"Event": event} | {f"Event.{name}": part for name, part in parts.items()}


def _types(operation: Operation) -> list[Any]:
    docs = operation.docs
    fields = [type_ for field in described_fields(operation.body) for type_ in field.types]
    given = [operation.body, docs.data, *docs.extra.values(), *fields]
    return [get_args(type_)[0] if get_origin(type_) is list else type_ for type_ in given if type_ is not None]


def _operation(operation: Operation, known: dict[int, Schema]) -> Schema:
    docs = operation.docs
    only = {"official": "Official channels only.", "qr": "QR channels only."}.get(docs.only or "", "")
    shown: Schema = {
        "operationId": operation.name,
        "tags": [operation.resource],
        "summary": operation.summary,
        "description": " ".join(filter(None, (operation.description, only))),
        "parameters": [
            *map(path_parameter, operation.parameters),
            *(one.described() for one in docs.query),
            *(HEADERS[name] for name in (*docs.headers, *_session_headers(operation))),
            *([CHANNEL] if operation.access and operation.access.channel_in_query and operation.scope else ()),
        ],
        "security": _security(operation),
        "responses": _responses(operation, docs, known),
    }
    if operation.key in DEPRECATIONS:
        shown["deprecated"] = True
    body = _body(operation, docs, known)
    return shown | ({"requestBody": body} if body else {})


def _security(operation: Operation) -> list[Schema]:
    """Return what a request has to carry: a key or a session, a session, or nothing."""
    rule = operation.access
    if rule is None:
        return []
    if rule.scope is None:
        return [{"session": [rule.role] if rule.role else []}]
    return [{"bearer": [rule.scope]}, {"session": [rule.scope]}, *([{"session": ["agent"]}] if rule.agents else [])]


def _session_headers(operation: Operation) -> list[str]:
    if operation.access is None:
        return []
    channel = ["Gatepost-Channel"] if operation.scope else []
    return [*channel, "Gatepost-CSRF"] if operation.changes else channel


def _body(operation: Operation, docs: RouteDocs, known: dict[int, Schema]) -> Schema | None:
    if docs.upload:
        form: Schema = {"type": "object", "required": ["file"], "properties": _FORM, "additionalProperties": False}
        file = {"schema": {"type": "string", "format": "binary"}, "example": docs.upload}
        return {"required": True, "content": {"multipart/form-data": {"schema": form}, docs.upload_type: file}}
    if operation.body is None:
        return None
    content: Schema = {"schema": known[id(operation.body)]}
    if docs.examples:
        content["examples"] = {
            name: {"summary": MESSAGE_TYPES[name].title, "value": fill_in(value, EXAMPLES)}
            for name, value in docs.examples.items()
        }
    elif docs.example is not None:
        content["example"] = fill_in(docs.example, EXAMPLES)
    return {"required": docs.body_required, "content": {"application/json": content}}


_FORM: Schema = {
    "type": {"type": "string", "description": "The MIME type, if the part of the file does not state it."},
    "filename": {"type": "string"},
    "file": {"type": "string", "format": "binary"},
}


def _responses(operation: Operation, docs: RouteDocs, known: dict[int, Schema]) -> Schema:
    answers: Schema = {str(operation.status): _success(operation, docs, docs.data, known)}
    for status, data in docs.extra.items():
        answers[str(status)] = _success(operation, docs, data, known, status)
    for status, codes in codes_of(operation).items():
        error = answer_of(status, codes)
        if str(status) in answers:  # a status of both a success and an error
            (success,) = answers[str(status)]["content"].values()
            error["content"]["application/json"]["schema"] = {
                "anyOf": [success["schema"], error["content"]["application/json"]["schema"]]
            }
        answers[str(status)] = error
    return dict(sorted(answers.items()))


def _success(operation: Operation, docs: RouteDocs, data: Any, known: dict[int, Schema], status: int = 200) -> Schema:
    content: Schema = {kind: {"schema": {}} | shown_as(kind) for kind in docs.binary}
    if not docs.binary or data is not None:
        good = status < 400
        sample = sample_answer(docs, data) | {"success": good}
        content["application/json"] = {"schema": _envelope(data, known, good=good, paged=docs.paged), "example": sample}
    headers = headers_of(keyed=bool(operation.access), once="Idempotency-Key" in docs.headers)
    return {"description": "Done.", "headers": headers, "content": content}


def _envelope(data: Any, known: dict[int, Schema], *, good: bool, paged: bool) -> Schema:
    fields: Schema = {"success": {"const": good}, "message": {"type": "string"}}
    required = ["success", "message", "data"]
    if get_origin(data) is list:
        fields["data"] = {"type": "array", "items": known[id(get_args(data)[0])]}
    else:
        fields["data"] = {"type": "null"} if data is None else known[id(data)]
    if paged:
        fields["paging"] = _PAGING
        required.append("paging")
    return {"type": "object", "required": required, "properties": fields, "additionalProperties": False}


_PAGING: Schema = {
    "type": "object",
    "required": ["next"],
    "properties": {
        "next": {"type": ["string", "null"], "description": "The cursor of the next page."},
        "previous": {
            "type": ["string", "null"],
            "description": "The cursor of the page before. Only `GET /messages` with `around` has it.",
        },
    },
    "additionalProperties": False,
}


def fill_in(example: Any, values: dict[str, str]) -> Any:
    """Replace the {{names}} of an example by their values."""
    if isinstance(example, str):
        for name, value in values.items():
            example = example.replace("{{" + name + "}}", value)
        return example
    if isinstance(example, dict):
        return {name: fill_in(value, values) for name, value in example.items()}
    return [fill_in(value, values) for value in example] if isinstance(example, list) else example
