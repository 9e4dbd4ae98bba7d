"""Template messages: the template's name and the values. `template.use` checks that they fit."""

from typing import Annotated, Any, Literal

from gatepost.model.content.fields import MessageReferences, MessageType, Part, items, read_variant, reads, text
from gatepost.model.content.parts import File, HeaderDocument, Place, ProductRef
from gatepost.model.content.raw_components import read_raw_components
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_unlike, place, plain, read_text, read_texts
from gatepost.model.limits import maximum
from gatepost.model.problem_collector import read_each
from gatepost.model.template.values import TemplateUse
from gatepost.model.template.variables import check_value


def _read_value(path: str, value: Any, name: str = "template.variable") -> str:
    read = read_text(path, value, name)
    check_value(path, read)
    return read


def _read_variables(path: str, value: Any, _: MessageReferences) -> list[str] | dict[str, str]:
    if isinstance(value, list | tuple):
        return read_each(path, value, _read_value)
    if not isinstance(value, dict):
        raise invalid_field(path, 'must be a list such as ["Anna", "1001"] or an object such as {"name": "Anna"}')
    for name in value:
        read_text(place(path, plain(name)), name, "template.variable_name")
    return read_texts(path, value, dict.fromkeys(value, "template.variable"), _read_value)


class _HeaderText(Part, frozen=True):
    type: Literal["text"]
    text: Annotated[str, text("template.header_value", read=_read_value)]


class _HeaderFile(Part, frozen=True):
    type: Literal["image", "video", "gif"]
    media: File


class _HeaderPlace(Part, frozen=True):
    type: Literal["location"]
    location: Place


class _HeaderProduct(Part, frozen=True):
    type: Literal["product"]
    product: ProductRef


_HEADERS: dict[str, type[Part]] = {
    "text": _HeaderText,
    **dict.fromkeys(("image", "video"), _HeaderFile),
    "document": HeaderDocument,
    "gif": _HeaderFile,
    "location": _HeaderPlace,
    "product": _HeaderProduct,
}


def _read_header(path: str, value: Any, found: MessageReferences) -> str | dict[str, Any]:
    if isinstance(value, str):
        return _read_value(path, value, "template.header_value")
    if isinstance(value, dict) and "type" not in value:
        return _named_header(path, value)
    return read_variant(path, value, found, _HEADERS)


def _named_header(path: str, value: dict[str, Any]) -> dict[str, str]:
    """Read the header's only variable by its name, such as {"sale": "Summer"}."""
    if len(value) != 1:
        raise invalid_field(path, 'must be text, {"type": …} or the one variable by its name, e.g. {"sale": "Summer"}')
    ((name, text_),) = value.items()
    read_text(place(path, plain(name)), name, "template.variable_name")
    return {name: _read_value(place(path, name), text_, "template.header_value")}


def _read_index(path: str, value: Any, _: MessageReferences) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < maximum("template.buttons"):
        raise invalid_field(path, "must be the position of the button in the template, counted from 0")
    return value


_Payload = Annotated[str, text("template.payload")]
_UrlEnd = Annotated[str, text("template.url", "The value of the variable at the end of a URL.")]
_Code = Annotated[str, text("template.copy_code")]
_FlowToken = Annotated[str, text("template.flow_token")]


class TemplateButton(Part, frozen=True):
    """The value of one button of a template: `index`, and one of the other fields."""

    index: Annotated[int, reads(_read_index, "The position of the button in the template, counted from 0.", minimum=0)]
    payload: _Payload | None = None
    text: _UrlEnd | None = None
    code: _Code | None = None
    flow_token: _FlowToken | None = None

    @classmethod
    def check_given(cls, path: str, given: dict[str, Any]) -> None:
        if len(given) != 2:
            raise invalid_field(path, f"needs index and one of {', '.join(cls.__struct_fields__[1:])}")


def _check_buttons(path: str, buttons: list[Any]) -> None:
    check_unlike([(f"{path}[{i}].index", str(button["index"])) for i, button in enumerate(buttons)], "button")


class TemplateContent(Part, frozen=True):
    """A template by `name` and `language`, and its values: `variables`, `header` and `buttons`, or `components`."""

    name: Annotated[str, text("template.name")]
    language: Annotated[str, text("template.language")]
    variables: (
        Annotated[
            list[str] | dict[str, str], reads(_read_variables, "The variables of the text, by position or by name.")
        ]
        | None
    ) = None
    header: (
        Annotated[
            str | dict[str, Any],
            reads(
                _read_header,
                "The variable of a text header, or an object with `type` and the file, location or product.",
            ),
        ]
        | None
    ) = None
    buttons: Annotated[list[TemplateButton], items("template.buttons", _check_buttons)] | None = None
    components: (
        Annotated[
            list[dict[str, Any]],
            reads(read_raw_components, "All values in the network's own format, instead of the other fields."),
        ]
        | None
    ) = None

    @classmethod
    def check_given(cls, path: str, given: dict[str, Any]) -> None:
        if "components" in given and any(name in given for name in ("variables", "header", "buttons")):
            raise invalid_field(
                place(path, "components"),
                "cannot be combined with variables, header and buttons: it already contains them",
            )

    @classmethod
    def complete(cls, path: str, content: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
        variables = content.get("variables")
        found.template = TemplateUse(
            name=content["name"],
            language=content["language"],
            variables=tuple(variables) if isinstance(variables, list) else variables,
            header=content.get("header"),
            buttons=tuple(content.get("buttons", ())),
            components=content.get("components"),
        )
        return content


TYPES = {
    "template": MessageType(
        "A template with its variables",
        required={"template": TemplateContent},
        optional={},
        example={"template": {"name": "{{template_name}}", "language": "en_US", "variables": ["Anna", "1001"]}},
    ),
}
