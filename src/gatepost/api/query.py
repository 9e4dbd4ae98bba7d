"""Query parameters: one struct per route, from which requests are parsed and the API reference is derived."""

import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.model import ids
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_storable, plain, read_choice

T = TypeVar("T", bound="Query")
_FLAGS = ("true", "false")
SECONDS = {"unit": "seconds"}  # `extra` of a number


class Query(msgspec.Struct, frozen=True, kw_only=True, rename={"from_": "from"}):
    """The query parameters of a route."""

    def given(self) -> dict[str, str]:
        """Return the given filters, or raise if one contains characters that cannot be stored."""
        texts = {
            name: value
            for attribute, name in zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True)
            if attribute != "cursor" and isinstance(value := getattr(self, attribute), str)
        }
        for name, value in texts.items():
            check_storable(name, value)
        return texts


Limit = Annotated[int, Meta(description="The maximum number of items.", ge=1, le=100)]
Cursor = Annotated[str, Meta(description="`paging.next` of the previous page.")]
Phone = Annotated[str, Meta(description="Only items of this phone number.")]
From = Annotated[str, Meta(description="From this date or time on.")]
To = Annotated[str, Meta(description="Before this date or time.")]
Zone = Annotated[
    str, Meta(description="The time zone of dates, a name such as `America/Sao_Paulo`. The default is UTC.")
]


class Paged(Query, frozen=True, kw_only=True):
    """The parameters of a list with pages."""

    limit: Limit = 20
    cursor: Cursor | None = None


class Parameter(msgspec.Struct, frozen=True):
    """One query parameter."""

    name: str
    attribute: str
    type: Any  # without null
    meta: Meta
    default: Any

    def read(self, text: str) -> Any:
        """Return the value of a parameter, or raise if it is invalid."""
        if self.type is bool:
            return read_choice(self.name, text, _FLAGS) == "true"
        if get_origin(self.type) is Literal:
            return read_choice(self.name, text, get_args(self.type))
        return self._number(text) if self.type is int else text

    def _number(self, text: str) -> int:
        least, most = self.meta.ge, self.meta.le
        assert least is not None
        assert most is not None
        short = len(text) <= len(str(most)) + 1  # a leading zero is accepted, a long row of them is not
        if not (text.isascii() and text.isdigit() and short and least <= int(text) <= most):
            unit = (self.meta.extra or {}).get("unit")
            number = f"whole number of {unit}" if unit else "whole number"
            raise invalid_field(self.name, f"must be a {number} from {least} to {most}")
        return int(text)

    def described(self) -> dict[str, Any]:
        """Return the OpenAPI description of the parameter."""
        choices = _FLAGS if self.type is bool else get_args(self.type) if get_origin(self.type) is Literal else ()
        meta = Meta(ge=self.meta.ge, le=self.meta.le, extra_json_schema=self.meta.extra_json_schema)
        schema = (
            {"type": "string", "enum": list(choices)} if choices else msgspec.json.schema(Annotated[self.type, meta])
        )
        if self.default not in (None, msgspec.NODEFAULT):
            schema["default"] = self.default
        return {"name": self.name, "in": "query", "description": self.meta.description or "", "schema": schema}


class QueryReader(Generic[T]):
    """Reads the query parameters of a route."""

    def __init__(self, type_: type[T]) -> None:
        self._type = type_
        self.parameters = {
            field.encode_name: Parameter(field.encode_name, field.name, *_unwrapped(field.type), field.default)
            for field in msgspec.structs.fields(type_)
        }

    def read(self, given: Mapping[str, Sequence[str]], ignored: Sequence[str] = ()) -> T:
        """Return the parameters. Unknown ones are rejected: a misspelt filter must not return everything."""
        values = {}
        for name, texts in given.items():
            if name in ignored:
                continue
            parameter = self.parameters.get(name)
            if parameter is None:
                known = ", ".join(self.parameters)
                raise invalid_field(plain(name), f"is not a parameter of this request; there are: {known}")
            if len(texts) > 1:
                raise invalid_field(name, "is given twice")
            values[parameter.attribute] = parameter.read(texts[0])
        return self._type(**values)


def _unwrapped(type_: Any) -> tuple[Any, Meta]:
    """Return the type of a field without null and annotations, and its annotation."""
    if get_origin(type_) in (Union, types.UnionType):
        (type_,) = (one for one in get_args(type_) if one is not type(None))
    if get_origin(type_) is Annotated:
        inner, meta = get_args(type_)[:2]
        return _unwrapped(inner)[0], meta
    return type_, Meta()


LabelFilter = Annotated[str, Meta(description="The id of a label: only items with this label.")]


def read_label(text: str | None) -> UUID | None:
    """Return the id of the label that a filter names."""
    label_id = None if text is None else ids.parse_id("lb", text)
    if text is not None and label_id is None:
        raise invalid_field("label", "must be the id of a label, as GET /api/v1/labels shows it")
    return label_id
