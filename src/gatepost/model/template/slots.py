"""The values that a template needs and those that a message gives, in one form, so that they can be compared."""

from typing import Any

import msgspec

from gatepost.model.template.values import Template, TemplateUse, buttons_of, find_component, word
from gatepost.model.template.variables import variables_of

# A button's field in a message → the kind of button that it fills. Only the kinds in REQUIRED must be given.
_GIVEN_AS = {"payload": "quick_reply", "text": "url", "code": "copy_code", "flow_token": "flow"}
REQUIRED = {"url", "copy_code", "mpm"}
FIXED = "fixed"  # a button without a value


class Slots(msgspec.Struct, frozen=True):
    """The values that a template needs, or that a message gives. A variable given by position has the name None."""

    header: str | None = None  # text, image, video, gif, document, location or product
    header_names: tuple[str | None, ...] = ()
    header_texts: tuple[str, ...] = ()  # the values given for a text header, in the same order
    body: tuple[str | None, ...] = ()
    texts: tuple[str, ...] = ()  # the values given for the body, in the same order
    buttons: dict[int, str] = {}
    offer: bool = False
    cards: tuple["Slots", ...] = ()


def needs_of(template: Template) -> Slots:
    """Return the values that a template needs."""
    needs = _needs(template.components)
    if word(template.category) == "AUTHENTICATION" and not needs.body:
        return msgspec.structs.replace(needs, body=("1",))  # the network writes the text; the code is its only variable
    return needs


def _needs(components: list[dict[str, Any]]) -> Slots:
    header, names = _header_need(find_component(components, "HEADER"))
    body = find_component(components, "BODY") or {}
    offer = (find_component(components, "LIMITED_TIME_OFFER") or {}).get("limited_time_offer") or {}
    carousel = find_component(components, "CAROUSEL") or {}
    return Slots(
        header=header,
        header_names=names,
        body=variables_of(body.get("text") or ""),
        buttons={i: _button_need(button) for i, button in enumerate(buttons_of(components))},
        offer=bool(offer.get("has_expiration")),
        cards=tuple(_needs(card.get("components") or []) for card in carousel.get("cards") or ()),
    )


def _header_need(header: dict[str, Any] | None) -> tuple[str | None, tuple[str, ...]]:
    if header is None:
        return None, ()
    kind = word(header.get("format") or "TEXT").lower()
    names = variables_of(header.get("text") or "") if kind == "text" else ()
    return (None if kind == "text" and not names else kind), names


def _button_need(button: dict[str, Any]) -> str:
    kind = word(button.get("type"))
    if kind == "URL":
        return "url" if variables_of(button.get("url") or "") else FIXED
    if kind == "OTP":
        return "url"
    return FIXED if kind == "PHONE_NUMBER" else kind.lower()


def given_by(use: TemplateUse) -> Slots:
    """Return the values that a message gives, from variables or from raw components."""
    return _raw(use.components) if use.components is not None else _plain(use)


def _plain(use: TemplateUse) -> Slots:
    names: tuple[str | None, ...] = ()
    if isinstance(use.variables, dict):
        names, texts = tuple(use.variables), tuple(use.variables.values())
    else:
        texts = use.variables or ()
        names = (None,) * len(texts)
    kind, header_names = _plain_header(use.header)
    buttons = {row["index"]: kind for row in use.buttons for field, kind in _GIVEN_AS.items() if field in row}
    header_texts = _header_texts(use.header) if kind == "text" else ()
    return Slots(kind, header_names, header_texts, names, texts, buttons)


def _plain_header(header: str | dict[str, Any] | None) -> tuple[str | None, tuple[str | None, ...]]:
    if header is None:
        return None, ()
    if isinstance(header, str):
        return "text", (None,)
    if "type" not in header:
        return "text", tuple(header)
    return header["type"], ((None,) if header["type"] == "text" else ())


def _header_texts(header: str | dict[str, Any] | None) -> tuple[str, ...]:
    if isinstance(header, dict):
        return (header["text"],) if "type" in header else tuple(header.values())
    return (header,) if header is not None else ()


def _raw(components: list[dict[str, Any]]) -> Slots:
    header = _parameters(find_component(components, "HEADER"))
    body = _parameters(find_component(components, "BODY"))
    kind = str(header[0].get("type", "")).lower() if header else None
    carousel = find_component(components, "CAROUSEL") or {}
    return Slots(
        header=kind,
        header_names=tuple(row.get("parameter_name") for row in header) if kind == "text" else (),
        header_texts=tuple(_text_of(row) for row in header) if kind == "text" else (),
        body=tuple(row.get("parameter_name") for row in body),
        texts=tuple(_text_of(row) for row in body),
        buttons={_index(row): str(row.get("sub_type", "")).lower() for row in components if _is_button(row)},
        offer=find_component(components, "LIMITED_TIME_OFFER") is not None,
        cards=tuple(_raw(card["components"]) for card in carousel.get("cards", ())),
    )


def _parameters(component: dict[str, Any] | None) -> list[dict[str, Any]]:
    return component.get("parameters") or [] if component else []


def _is_button(component: dict[str, Any]) -> bool:
    return word(component.get("type")) == "BUTTON" and bool(component.get("parameters"))


def _index(component: dict[str, Any]) -> int:
    return int(component["index"])


def _text_of(parameter: dict[str, Any]) -> str:
    """Return a parameter as the recipient will read it: its text, or the fallback value of a currency or date."""
    inner = parameter.get(str(parameter.get("type")))
    text = inner.get("fallback_value") if isinstance(inner, dict) else parameter.get("text")
    return text if isinstance(text, str) else ""
