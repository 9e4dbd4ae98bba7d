"""Examples of a template's variables. The network's review requires one for each."""

from typing import Any

from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_unlike, place, read_object, read_text


def check_examples(path: str, component: dict[str, Any], part: str, names: tuple[str, ...], *, named: bool) -> None:
    """Check that each variable has one example. `part` is body or header."""
    field = f"{part}_text_named_params" if named else f"{part}_text"
    where = f"{path}.example.{field}"
    if component.get("example") is None:
        if names:
            raise invalid_field(where, f"is required: an example for each of {_shown(names)}")
        return
    example = read_object(f"{path}.example", component["example"], (field,) if names else (), (field,))
    if field in example and named:
        _check_named(where, example[field], names)
    elif field in example:
        values = _inner(where, example[field]) if part == "body" else example[field]
        _check_counted(where, values, names)


def read_one_example(path: str, value: Any, limit: str) -> str:
    """Read the single example of a button: a string, or a list with one string."""
    if isinstance(value, list | tuple):
        if len(value) != 1:
            raise invalid_field(path, f"must hold one example, but has {len(value)}")
        return read_text(f"{path}[0]", value[0], limit)
    return read_text(path, value, limit)


def _inner(path: str, value: Any) -> Any:
    if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], list):
        raise invalid_field(path, 'must be a list of one list, e.g. [["Anna", "1001"]]')
    return value[0]


def _check_counted(path: str, values: Any, names: tuple[str, ...]) -> None:
    if not isinstance(values, list) or len(values) != len(names):
        count = len(values) if isinstance(values, list) else 0
        raise invalid_field(path, f"must hold {len(names)} examples, one for each variable, but has {count}")
    for i, value in enumerate(values):
        read_text(f"{path}[{i}]", value, "template.variable")


def _check_named(path: str, values: Any, names: tuple[str, ...]) -> None:
    if not isinstance(values, list):
        raise invalid_field(path, 'must be a list such as [{"param_name": "first_name", "example": "Anna"}]')
    given = []
    for i, value in enumerate(values):
        row = read_object(f"{path}[{i}]", value, ("param_name", "example"))
        read_text(place(f"{path}[{i}]", "example"), row["example"], "template.variable")
        given.append((f"{path}[{i}].param_name", read_text(f"{path}[{i}].param_name", row["param_name"], _NAME)))
    check_unlike(given, "param_name")
    if {name for _, name in given} != set(names):
        raise invalid_field(path, f"must have one example for each of {_shown(names)}")


_NAME = "template.variable_name"


def _shown(names: tuple[str, ...]) -> str:
    return ", ".join(f"{{{{{name}}}}}" for name in names) or "no variable"
