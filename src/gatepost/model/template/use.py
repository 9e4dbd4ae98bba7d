"""Checks that a message may use a template, and gives it exactly the values that it needs."""

from collections.abc import Sequence
from typing import Any

from gatepost.model.errors import Invalid, invalid_field
from gatepost.model.limits import limit, maximum
from gatepost.model.template.slots import FIXED, REQUIRED, Slots, given_by, needs_of
from gatepost.model.template.values import Template, TemplateUse, find_component
from gatepost.model.template.variables import fill

_SENDABLE = "APPROVED"
_ADVICE = {
    "PENDING": "It is being reviewed, which takes up to 24 hours; try again when it is approved.",
    "IN_APPEAL": "Its rejection is being looked at again; try again when it is approved.",
    "REJECTED": "Edit it and hand it in again, or use another template.",
    "PAUSED": "Too many people disliked it; it opens again after some hours. Use another template until then.",
    "DISABLED": "It was paused too often and is off for good. Use another template.",
    "ARCHIVED": "Bring it back from the archive, or use another template.",
}
_OTHERWISE = "Use a template that is approved."
_ASKS = {
    "url": 'the end of its address, as {"index": %d, "text": "…"}',
    "copy_code": 'the code, as {"index": %d, "code": "…"}',
    "quick_reply": 'a payload, as {"index": %d, "payload": "…"}',
    "flow": 'a token, as {"index": %d, "flow_token": "…"}',
    "mpm": "its products, in raw components (button %d)",
}


def check_use(template: Template | None, use: TemplateUse) -> None:
    """Reject a template that does not exist or is not approved, and a message that does not fit it."""
    if template is None:
        raise _not_approved(f"There is no template '{use.name}' in the language '{use.language}'. Create it, or sync.")
    if template.status.upper() != _SENDABLE:
        advice = _ADVICE.get(template.status.upper(), _OTHERWISE)
        reason = f" ({template.reason})" if template.reason else ""
        raise _not_approved(f"The template '{use.name}' is {template.status.upper()}{reason}. {advice}")
    needs, given = needs_of(template), given_by(use)
    raw = use.components is not None
    _check_slots("template", needs, given, raw=raw, named=template.named)
    body_limit = "template.offer_body" if template.component("LIMITED_TIME_OFFER") else "template.body"
    _check_lengths("template", template.components, given, body_limit, raw=raw)
    if template.category.upper() == "AUTHENTICATION":
        _check_code(use, given)


def _not_approved(message: str) -> Invalid:
    return invalid_field("template", message, "template_not_approved")


def mismatch(field: str, message: str) -> Invalid:
    """Return the error of a message that does not give the template the values it needs."""
    return invalid_field(field, message, "template_variables_mismatch")


def _check_slots(path: str, needs: Slots, given: Slots, *, raw: bool, named: bool) -> None:
    at = {part: f"{path}.components" if raw else f"{path}.{part}" for part in ("header", "variables", "buttons")}
    _check_header(at["header"], needs, given, named=named)
    _check_names(at["variables"], needs.body, given.body, "variables", named=named)
    _check_buttons(at["buttons"], needs.buttons, given.buttons)
    if needs.offer != given.offer:
        wish = "needs the end of its offer" if needs.offer else "has no offer that ends, but is given one"
        raise mismatch(f"{path}.components", f"the template {wish} (limited_time_offer with expiration_time_ms)")
    if len(needs.cards) != len(given.cards):
        raise mismatch(
            f"{path}.components", f"the template has {len(needs.cards)} cards, but {len(given.cards)} are given"
        )
    for i, (need, gift) in enumerate(zip(needs.cards, given.cards, strict=True)):
        _check_slots(f"{path}.cards[{i}]", need, gift, raw=True, named=named)


def _check_header(path: str, needs: Slots, given: Slots, *, named: bool) -> None:
    if needs.header == given.header:
        _check_names(path, needs.header_names, given.header_names, "variables of the header", named=named)
    elif needs.header is None:
        raise mismatch(path, "the template's header has no variables; omit it")
    elif given.header is None:
        raise mismatch(path, f"the template needs a header of type {needs.header}")
    else:
        raise mismatch(path, f"is of type {given.header}, but the template's header is of type {needs.header}")


def _check_names(
    path: str, needs: Sequence[str | None], given: Sequence[str | None], what: str, *, named: bool
) -> None:
    """Compare named variables by name, and positional ones by count."""
    if given and needs and named != (None not in given):
        expected = "by name: " + _listed(needs) if named else f"by position: a list of {len(needs)}"
        raise mismatch(path, f"the template has its {what} {expected}")
    if not named and len(needs) != len(given):
        raise mismatch(path, f"the template has {len(needs)} {what}, but {len(given)} are given")
    missing, strange = [n for n in needs if n not in given], [n for n in given if n not in needs]
    if named and missing:
        raise mismatch(path, f"lacks {_listed(missing)}")
    if named and strange:
        raise mismatch(path, f"has {_listed(strange)}, which the template does not have; it has {_listed(needs)}")
    if named and len(given) != len(needs):
        raise mismatch(path, f"the template has {len(needs)} {what}, but {len(given)} are given")


def _check_buttons(path: str, needs: dict[int, str], given: dict[int, str]) -> None:
    for index, kind in given.items():
        need = needs.get(index)
        if need is None:
            raise mismatch(path, f"there is no button {index} in the template; it has {len(needs)}, counted from 0")
        if need == FIXED:
            raise mismatch(path, f"button {index} has no variables; omit it")
        if need != kind:
            asks = _ASKS.get(need, "something else (button %d), in raw components") % index
            raise mismatch(path, f"button {index} is of type {need}; it needs {asks}")
    for index, need in needs.items():
        if need in REQUIRED and index not in given:
            raise mismatch(path, f"button {index} needs {_ASKS[need] % index}")


def _check_lengths(path: str, components: list[dict[str, Any]], given: Slots, body_limit: str, *, raw: bool) -> None:
    """Check the length of each text with its variables filled in."""
    header, body = find_component(components, "HEADER"), find_component(components, "BODY")
    at = {part: f"{path}.components" if raw else f"{path}.{part}" for part in ("header", "variables")}
    _check_length(at["header"], "header", header, given.header_names, given.header_texts, "template.header")
    _check_length(at["variables"], "text", body, given.body, given.texts, body_limit)
    carousel = find_component(components, "CAROUSEL") or {}
    for i, (card, gift) in enumerate(zip(carousel.get("cards") or (), given.cards, strict=True)):
        parts = card.get("components") or []
        _check_lengths(f"{path}.cards[{i}]", parts, gift, "template.card_body", raw=True)


def _check_length(
    path: str,
    what: str,
    part: dict[str, Any] | None,
    given: Sequence[str | None],
    texts: Sequence[str],
    name: str,
) -> None:
    values = {given_name or str(i + 1): text for i, (given_name, text) in enumerate(zip(given, texts, strict=True))}
    length = len(fill((part or {}).get("text") or "", values))
    if values and length > maximum(name):
        raise mismatch(path, f"filled in, the {what} may have {limit(name).words()}, but has {length:,}")


def _check_code(use: TemplateUse, given: Slots) -> None:
    """Check an authentication code, which must be the same in the text and in the button."""
    code, row = given.texts[0] if given.texts else "", limit("template.copy_code")
    if code and not row.fits(len(code)):
        raise mismatch("template.variables", f"an authentication code may have {row.words()}, but has {len(code)}")
    if any(button.get("text", code) != code for button in use.buttons):
        raise mismatch("template.buttons", "the code of the button must be the same as the one in the text")


def _listed(names: Sequence[str | None]) -> str:
    return ", ".join(str(name) for name in names) or "none"
