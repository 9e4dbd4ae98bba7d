"""JSON schemas of the tools' arguments and results, made from their structs and kept short."""

from typing import Any

import msgspec

from gatepost.mcp.outside_words import Outside

_DROPPED = ("title", "description")
_OUTSIDE = {"required": ["untrusted", "text"]}  # an object: the list of tools has to be short


def make_schema(struct: type[Any]) -> dict[str, Any]:
    """Return the schema of a struct, with the structs that it contains in `$defs`."""
    (ref,), found = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    top = found.pop(ref["$ref"].rpartition("/")[2])
    schema = _short(top)
    if found:
        schema["$defs"] = {
            name: _OUTSIDE if name == Outside.__name__ else _nested(part) for name, part in found.items()
        }
    return schema


def _nested(part: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a struct in another one, without which of its fields are always there."""
    if part.get("title") == Outside.__name__:
        return _OUTSIDE
    return {name: value for name, value in _short(part).items() if name != "required"}


def _short(part: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a struct without its title and docstring."""
    kept = {name: value for name, value in part.items() if name not in _DROPPED}
    if "properties" in kept:
        kept["properties"] = {name: _field(field) for name, field in kept["properties"].items()}
        if not kept.get("required"):
            kept.pop("required", None)
    return kept


def _field(field: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field. One that may be null may be left out, too: the schema says only that."""
    options = [one for one in field.get("anyOf", ()) if one != {"type": "null"}]
    rest = {name: value for name, value in field.items() if name != "anyOf"}
    if rest.get("default", ...) is None or rest.get("default") in (False, []):
        del rest["default"]
    if len(options) == 1:
        return _field(options[0] | rest)
    if options:
        return {"anyOf": options, **rest}
    if isinstance(rest.get("items"), dict):
        rest["items"] = _field(rest["items"])
    return rest
