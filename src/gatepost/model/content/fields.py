"""The fields of message contents. Each is declared as a type, by which it is read and described in the reference.

Footer = Annotated[str, text("interactive.footer")]                   a string with a limit of `limits.toml`
Buttons = Annotated[list[ReplyButton], items("buttons.count")]        a list with a limit
class ReplyButton(Part): ...                                          an object
Variables = Annotated[list[str] | dict[str, str], reads(_variables)]  anything else, with its own reader
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.model.field_readers import place, read_choice, read_flag, read_list, read_number, read_object, read_text
from gatepost.model.limits import limit
from gatepost.model.problem_collector import ProblemCollector, read_each
from gatepost.model.template.values import TemplateUse


class MessageReferences(msgspec.Struct):
    """The files and links of a message, the target of a reaction, and the template that it uses."""

    media: list[str] = []
    links: list[str] = []
    target: UUID | None = None
    template: TemplateUse | None = None


Reader = Callable[[str, Any, MessageReferences], Any]  # path, value and references → the value to store
ItemsCheck = Callable[[str, list[Any]], None]


def reads(read: Reader, description: str = "", **schema: Any) -> Meta:
    """Declare a value that this function reads."""
    return Meta(description=description or None, extra={"read": read}, extra_json_schema=schema or None)


def text(name: str, description: str = "", read: Callable[[str, Any, str], str] = read_text) -> Meta:
    """Declare a string with the limit of this name."""
    row = limit(name)
    pattern = f"^(?:{row.pattern})$" if row.pattern else None
    schema = _given(minLength=row.min, maxLength=row.max, pattern=pattern)
    return reads(lambda path, value, _: read(path, value, name), description or row.note, **schema)


def number(name: str) -> Meta:
    """Declare a number with the limit of this name."""
    row = limit(name)
    schema = _given(minimum=row.min, maximum=row.max)
    return reads(lambda path, value, _: read_number(path, value, name), row.note, **schema)


def items(name: str, check: ItemsCheck = lambda _path, _items: None) -> Meta:
    """Declare a list with the limit of this name. `check` is called with all its items."""
    row = limit(name)
    schema = _given(minItems=row.min, maxItems=row.max)
    return Meta(description=row.note, extra={"limit": name, "check": check}, extra_json_schema=schema)


def described(*types: Any, description: str = "") -> Meta:
    """Declare a JSON value that is decoded as it is, and read later as one of these types."""
    return Meta(description=description or None, extra={"types": types})


class DescribedField(msgspec.Struct, frozen=True):
    """A field of a struct that is declared with `described`."""

    name: str
    types: tuple[Any, ...]
    description: str | None
    required: bool


def described_fields(struct: Any) -> list[DescribedField]:
    """Return the fields of a struct that are declared with `described`."""
    if not (isinstance(struct, type) and issubclass(struct, msgspec.Struct)):
        return []
    metas = [(field, _unwrapped(field.type)[1]) for field in msgspec.structs.fields(struct)]
    return [
        DescribedField(field.encode_name, meta.extra["types"], meta.description, field.required)
        for field, meta in metas
        if meta.extra and "types" in meta.extra
    ]


def _given(**schema: Any) -> dict[str, Any]:
    return {word: value for word, value in schema.items() if value is not None}


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An object in the content of a message. Fields with a default are optional; null counts as not set."""

    @classmethod
    def read(cls, path: str, value: Any, found: MessageReferences) -> dict[str, Any]:
        """Return the content of an object from a request."""
        required, optional = cls._names()
        given = read_object(path, value, required, optional)
        cls.check_given(path, given)
        return cls.complete(path, read_fields(path, given, cls._readers(), found), found)

    @classmethod
    def check_given(cls, path: str, given: dict[str, Any]) -> None:
        """Check which fields are set, before they are read."""

    @classmethod
    def complete(cls, path: str, content: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
        """Return the content to store, after all fields are read."""
        return content

    @classmethod
    @cache
    def _names(cls) -> tuple[tuple[str, ...], tuple[str, ...]]:
        fields = msgspec.structs.fields(cls)
        return tuple(one.name for one in fields if one.required), tuple(one.name for one in fields if not one.required)

    @classmethod
    @cache
    def _readers(cls) -> dict[str, Reader]:
        hints = get_type_hints(cls, include_extras=True)
        return {name: reader_of(hints[name]) for name in cls.__struct_fields__}


class MessageType(msgspec.Struct, frozen=True):
    """A type of message: the types of its fields, and an example, which may contain variables as {{image_id}}."""

    title: str
    required: Mapping[str, Any]
    optional: Mapping[str, Any]
    example: Mapping[str, Any]

    @property
    def fields(self) -> tuple[str, ...]:
        return (*self.required, *self.optional)

    def readers(self) -> dict[str, Reader]:
        """Return the functions that read its fields."""
        return {name: reader_of(type_) for name, type_ in {**self.required, **self.optional}.items()}


def read_fields(
    path: str, given: Mapping[str, Any], readers: Mapping[str, Reader], found: MessageReferences
) -> dict[str, Any]:
    """Read the given fields of an object. One error names all invalid ones."""
    problems = ProblemCollector()
    content = {
        name: problems.read(read, place(path, name), given[name], found)
        for name, read in readers.items()
        if name in given
    }
    problems.check()
    return content


def read_variant(path: str, value: Any, found: MessageReferences, parts: Mapping[str, type[Part]]) -> dict[str, Any]:
    """Read an object whose field `type` says which of these parts it is."""
    given = read_object(path, value, ("type",), value if isinstance(value, Mapping) else ())
    return parts[read_choice(place(path, "type"), given["type"], parts)].read(path, value, found)


def reader_of(type_: Any) -> Reader:
    """Return the function that reads a value of a declared type."""
    type_, meta = _unwrapped(type_)
    extra = meta.extra or {}
    if "read" in extra:
        read: Reader = extra["read"]
        return read
    if get_origin(type_) is list:
        return _list_reader(extra["limit"], extra["check"], reader_of(get_args(type_)[0]))
    if get_origin(type_) is Literal:
        return lambda path, value, _: read_choice(path, value, get_args(type_))
    if type_ is bool:
        return lambda path, value, _: read_flag(path, value)
    part: type[Part] = type_
    return part.read


def _list_reader(name: str, check: ItemsCheck, read: Reader) -> Reader:
    def read_items(path: str, value: Any, found: MessageReferences) -> list[Any]:
        content = read_each(path, read_list(path, value, name), lambda where, item: read(where, item, found))
        check(path, content)
        return content

    return read_items


def _unwrapped(type_: Any) -> tuple[Any, Meta]:
    """Return a type without null and annotation, and its annotation."""
    members = [one for one in get_args(type_) if one is not type(None)]
    if type(None) in get_args(type_) and len(members) == 1:
        return _unwrapped(members[0])
    return (members[0], members[1]) if get_origin(type_) is Annotated else (type_, Meta())
