"""Previews of templates."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gatepost.model.template.slots import given_by, needs_of
from gatepost.model.template.use import mismatch
from gatepost.model.template.values import Template, TemplateUse, buttons_of, word
from gatepost.model.template.variables import check_value, fill

Variables = tuple[str, ...] | list[str] | dict[str, str] | None


class PreviewHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The header of a message: its type, and the text of a text header."""

    type: str
    text: str | UnsetType = UNSET


class PreviewButton(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A button of a message."""

    type: str
    text: str | None
    url: str | UnsetType = UNSET
    phone_number: str | UnsetType = UNSET


class Preview(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A template as the recipient will see it."""

    header: Annotated[PreviewHeader | None, Meta(examples=[None])]
    body: Annotated[str, Meta(examples=["Hello Ana, your order 4711 has been sent."])]
    footer: Annotated[str | None, Meta(examples=[None])]
    buttons: Annotated[list[PreviewButton], Meta(examples=[[]])]


def preview(template: Template, variables: Variables = None, header: str | None = None) -> Preview:
    """Return header, body, footer and buttons as the recipient will see them. The default values are the examples."""
    values = _example_values(template, "body") if variables is None else _values(template, variables)
    return Preview(
        header=_header(template, header),
        body=fill((template.component("BODY") or {}).get("text") or "", values),
        footer=(template.component("FOOTER") or {}).get("text"),
        buttons=[_button(button) for button in buttons_of(template.components)],
    )


def _values(template: Template, variables: list[str] | tuple[str, ...] | dict[str, str]) -> dict[str, str]:
    given = variables if isinstance(variables, dict) else tuple(variables)
    needs, gifts = needs_of(template), given_by(TemplateUse(template.name, template.language, given))
    names = gifts.body if isinstance(given, dict) else tuple(str(i + 1) for i in range(len(given)))
    if sorted(map(str, names)) != sorted(map(str, needs.body)):
        raise mismatch("variables", f"the template has {', '.join(map(str, needs.body)) or 'no variables'}")
    for i, (name, text) in enumerate(zip(names, gifts.texts, strict=True)):
        check_value(f"variables.{name}" if isinstance(given, dict) else f"variables[{i}]", text)
    return dict(zip(map(str, names), gifts.texts, strict=True))


def _header(template: Template, text: str | None) -> PreviewHeader | None:
    header = template.component("HEADER")
    if header is None:
        return None
    kind = word(header.get("format") or "TEXT").lower()
    if kind != "text":
        return PreviewHeader(kind)
    check_value("header", text or "")
    names = needs_of(template).header_names
    values = _example_values(template, "header") if text is None else {str(name): text for name in names}
    return PreviewHeader(kind, fill(header.get("text") or "", values))


def _example_values(template: Template, part: str) -> dict[str, str]:
    """Return the examples of body or header by variable; empty if the network has none."""
    example = (template.component(part.upper()) or {}).get("example") or {}
    if template.named:
        rows = example.get(f"{part}_text_named_params") or ()
        return {str(row.get("param_name")): str(row.get("example")) for row in rows}
    values = example.get(f"{part}_text") or []
    if values and isinstance(values[0], list):
        values = values[0]
    return {str(i + 1): str(value) for i, value in enumerate(values)}


def _button(button: dict[str, Any]) -> PreviewButton:
    links = {name: button[name] for name in ("url", "phone_number") if name in button}
    return PreviewButton(word(button.get("type")), button.get("text"), **links)
