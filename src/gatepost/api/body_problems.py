"""Describes what is wrong with a JSON body, in JSON's terms: all invalid fields, or the byte of a syntax error.

Decoding a body stops at its first problem. Only then is the body decoded again here, field by field.
"""

import difflib
import re
import types
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from gatepost.model.errors import BadRequest, FieldProblem, Invalid
from gatepost.model.field_readers import place, plain
from gatepost.model.problem_collector import PROBLEMS_MAX, invalid_fields

_AT = re.compile(r" - at `(?:key in )?\$\.?([^`]*)`$")
_EXPECTED = re.compile(r"Expected `([^`]+)`")
_GOT = re.compile(r"got `([^`]+)`")
_BYTE = re.compile(r"(.*) \(byte (\d+)\)")
_WORDS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
    "datetime": "a time such as 2026-11-15T10:00:00Z",
}
# Field names of other APIs → names in this API.
_USUAL = {
    "to": "phone",
    "number": "phone",
    "recipient": "phone",
    "chatId": "phone",
    "text": "body",
    "message": "body",
    "content": "body",
}
_NEAR = 0.75
_LOOKED_AT = 1000  # items of an array or object to check: more would block other requests


def malformed(error: Exception, body: bytes) -> BadRequest:
    """Return the error for a body that is not valid JSON, with the position of the problem."""
    if isinstance(error, RecursionError):
        return BadRequest("The body is not valid JSON: it is nested too deeply.")
    if isinstance(error, UnicodeDecodeError):
        why, at = "it must be UTF-8", _first_not_utf8(body)
    else:
        text = str(error).removeprefix("JSON is malformed: ")
        found = _BYTE.fullmatch(text)
        why, at = (found[1], int(found[2])) if found else (text[:1].lower() + text[1:], len(body))
    line, column = body.count(b"\n", 0, at) + 1, at - (body.rfind(b"\n", 0, at) + 1) + 1
    return BadRequest(f"The body is not valid JSON: {why} at byte {at} (line {line}, column {column}).")


def _first_not_utf8(body: bytes) -> int:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(body)


def invalid_body(error: msgspec.ValidationError, body: bytes, type_: Any) -> BadRequest | Invalid:
    """Return an error that names every field of the wrong type, every missing field and every unknown one.

    The decoder may find a wrong type before a syntax error. In that case the syntax error is returned.
    """
    try:
        found = list(islice(_problems("", msgspec.json.decode(body), type_), PROBLEMS_MAX))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as broken:
        return malformed(broken, body)
    return invalid_fields(found or [_translate(error, "", type_)])


def _problems(path: str, value: Any, type_: Any) -> Iterable[FieldProblem]:
    struct, items, values = _struct_in(type_), _last_of(list, type_), _last_of(dict, type_)
    if struct is not None and isinstance(value, dict):
        yield from _object_problems(path, value, struct)
    elif items is not None and isinstance(value, list):
        for i, item in enumerate(value[:_LOOKED_AT]):
            yield from _problems(f"{path}[{i}]", item, items)
    elif values is not None and isinstance(value, dict):
        for name, item in islice(value.items(), _LOOKED_AT):
            yield from _problems(place(path, plain(name)), item, values)
    elif not _takes_anything(type_):
        try:
            msgspec.json.decode(msgspec.json.encode(value), type=type_)
        except msgspec.ValidationError as error:
            yield _translate(error, path, type_)


def _object_problems(path: str, value: dict[str, Any], struct: type[msgspec.Struct]) -> Iterable[FieldProblem]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    for name in value:
        if name not in fields and struct.__struct_config__.forbid_unknown_fields:
            yield FieldProblem(place(path, plain(name)), _unknown(name, fields))
    for name, field in fields.items():
        if name in value:
            yield from _problems(place(path, name), value[name], field.type)
        elif field.required:
            yield FieldProblem(place(path, name), "is required")


def _unknown(name: str, fields: Collection[str]) -> str:
    """Return the text for an unknown field, with a suggestion if there is a similar one."""
    usual = _USUAL.get(name)
    near = [usual] if usual and usual in fields else difflib.get_close_matches(name[:64], list(fields), 1, _NEAR)
    return "is not a field of this request" + (f"; did you mean '{near[0]}'?" if near else "")


def _translate(error: msgspec.ValidationError, path: str, type_: Any) -> FieldProblem:
    """Translate an error of msgspec into JSON's terms: "string" for `str`, and the list of choices, if any."""
    text = str(error)
    inner = _AT.search(text)
    text = _AT.sub("", text)
    if inner and inner[1]:
        path = path + inner[1] if inner[1].startswith("[") else place(path, inner[1])
    choices = _choices_in(type_)
    if choices and not (inner and inner[1]):
        words = f"must be one of {', '.join(choices)}"
    elif "RFC3339" in text:
        words = f"must be {_WORDS['datetime']}"
    elif expected := _EXPECTED.search(text):
        words = _expected(expected[1], text[expected.end() :], _GOT.search(text))
    else:
        words = text[:1].lower() + text[1:].replace("`", "'")
    return FieldProblem(path or "body", words)


def _expected(kinds: str, rest: str, got: "re.Match[str] | None") -> str:
    kept = [kind for kind in kinds.split(" | ") if kind != "null"]  # null counts as not given
    named = " or ".join(_WORDS.get(kind, kind) for kind in kept or ["null"])
    if got is None:
        return f"must be {named}{rest}".replace("`", "'")
    return f"must be {named}, not {_WORDS.get(got[1], got[1])}"


def _members(type_: Any) -> tuple[Any, ...]:
    """Return the types that a value may have, without annotations and without `UnsetType`."""
    if hasattr(type_, "__metadata__"):  # Annotated[...]
        return _members(type_.__origin__)
    if get_origin(type_) in (Union, types.UnionType):
        return tuple(inner for one in get_args(type_) for inner in _members(one) if inner is not msgspec.UnsetType)
    return (type_,)


def _struct_in(type_: Any) -> type[msgspec.Struct] | None:
    found = [one for one in _members(type_) if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    return found[0] if len(found) == 1 else None


def _last_of(container: type, type_: Any) -> Any:
    """Return the type of the items of an array, or of the values of an object."""
    found = [get_args(one) for one in _members(type_) if get_origin(one) is container]
    return found[0][-1] if len(found) == 1 and found[0] else None


def _takes_anything(type_: Any) -> bool:
    return any(one in (Any, msgspec.Raw) for one in _members(type_))


def _choices_in(type_: Any) -> tuple[str, ...]:
    found = [one for one in _members(type_) if get_origin(one) is Literal]
    return tuple(str(choice) for choice in get_args(found[0])) if len(found) == 1 else ()
