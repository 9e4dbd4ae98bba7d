"""New and edited templates: parsed, normalised and validated."""

import re
from collections import Counter
from typing import Any, get_args

import msgspec

from gatepost_sandbox.errors import Refusal, parameter
from gatepost_sandbox.templates.buttons import check_buttons
from gatepost_sandbox.templates.components import BODY_MAX, check_body, check_footer, check_header
from gatepost_sandbox.templates.problems import BAD_BODY, too_long, wrong
from gatepost_sandbox.templates.special_types import (
    OFFER_BODY_MAX,
    check_authentication,
    check_carousel,
    check_offer,
    compose_authentication,
)
from gatepost_sandbox.templates.template import Category, Format, component

NAME_MAX = 512
_NAME = re.compile(r"[a-z0-9_]+\Z")
_LANGUAGE = re.compile(r"[a-z]{2,3}(_[A-Z]{2,3})?\Z")
_TYPES = ("HEADER", "BODY", "FOOTER", "BUTTONS", "CAROUSEL", "LIMITED_TIME_OFFER")
_TTL: dict[Category, tuple[int, int]] = {
    "AUTHENTICATION": (30, 900),
    "UTILITY": (30, 43_200),
    "MARKETING": (43_200, 2_592_000),
}


class Draft(msgspec.Struct, frozen=True):
    """A valid template."""

    name: str
    language: str
    category: Category
    parameter_format: Format
    components: list[dict[str, Any]]
    ttl: int | None = None


def read_draft(payload: dict[str, Any]) -> Draft | Refusal:
    """Return a new template."""
    for needed in ("name", "language", "category", "components"):
        if not payload.get(needed):
            return parameter(f"The parameter {needed} is required.")
    name, language = payload["name"], payload["language"]
    if not isinstance(name, str) or not _NAME.match(name):
        return wrong("The name of a template consists of small letters, digits and underscores.")
    if len(name) > NAME_MAX:
        return too_long("The name", NAME_MAX)
    if not isinstance(language, str) or not _LANGUAGE.match(language):
        return parameter(f"Param language must be a language code such as en_US - got {str(language)[:32]!r}.")
    return read_content(name, language, payload)


def read_content(name: str, language: str, payload: dict[str, Any]) -> Draft | Refusal:
    """Parse category, format and components of a template with a known name and language."""
    category, form = str(payload["category"]).upper(), str(payload.get("parameter_format") or "POSITIONAL").upper()
    if category not in get_args(Category):
        return parameter(f"Param category must be one of {{{', '.join(get_args(Category))}}} - got {category[:32]!r}.")
    if form not in get_args(Format):
        return parameter(f"Param parameter_format must be one of {{POSITIONAL, NAMED}} - got {form[:32]!r}.")
    components = spell(payload["components"])
    if components is None:
        return parameter("Param components must be an array of objects with a type.")
    ttl = payload.get("message_send_ttl_seconds")
    draft = Draft(name, language, category, form, components, ttl)  # type: ignore[arg-type]
    bad = check_ttl(draft) or check_components(draft)
    if bad is not None or category != "AUTHENTICATION":
        return bad or draft
    return msgspec.structs.replace(draft, components=compose_authentication(components))


def spell(components: Any) -> list[dict[str, Any]] | None:
    """Return the components with types and formats in upper case; None when they are not a list."""
    if not isinstance(components, list) or not all(isinstance(part, dict) for part in components):
        return None
    return [_spell_part(part) for part in components]


def _spell_part(part: dict[str, Any]) -> dict[str, Any]:
    spelt = dict(part)
    for key in ("type", "format"):
        if isinstance(spelt.get(key), str):
            spelt[key] = spelt[key].upper()
    if isinstance(spelt.get("buttons"), list):
        spelt["buttons"] = spell(spelt["buttons"]) or spelt["buttons"]
    if isinstance(spelt.get("cards"), list):
        spelt["cards"] = [
            {**card, "components": spell(card.get("components"))} if isinstance(card, dict) else card
            for card in spelt["cards"]
        ]
    return spelt


def check_ttl(draft: Draft) -> Refusal | None:
    """Check the time to live, which has bounds for each category."""
    if draft.ttl is None or draft.ttl == -1:
        return None
    least, most = _TTL[draft.category]
    if not isinstance(draft.ttl, int) or not least <= draft.ttl <= most:
        return parameter(f"Param message_send_ttl_seconds must be between {least} and {most}, or -1.")
    return None


def check_components(draft: Draft) -> Refusal | None:
    """Check all components, by the rules of the template's build."""
    kinds = Counter(str(part.get("type")) for part in draft.components)
    for kind, count in kinds.items():
        if kind not in _TYPES:
            return parameter(f"Param components[type] must be one of {{{', '.join(_TYPES)}}} - got {kind[:32]!r}.")
        if count > 1:
            return wrong(f"A template has one component of type {kind} at most.")
    if "BODY" not in kinds:
        return wrong("A template needs a component of type BODY.", BAD_BODY)
    if draft.category == "AUTHENTICATION":
        return check_authentication(draft.components)
    if draft.category != "MARKETING" and ("LIMITED_TIME_OFFER" in kinds or "CAROUSEL" in kinds):
        return wrong("Only a template of the category MARKETING has cards, or an offer that ends.")
    if "CAROUSEL" in kinds and set(kinds) != {"BODY", "CAROUSEL"}:
        return wrong("A template with a carousel has a body besides, and nothing else.")
    return next((bad for part in draft.components if (bad := _check_part(part, draft)) is not None), None)


def _check_part(part: dict[str, Any], draft: Draft) -> Refusal | None:
    form = draft.parameter_format
    match part["type"]:
        case "HEADER":
            return check_header(part, form)
        case "BODY":
            offer = component(draft.components, "LIMITED_TIME_OFFER")
            return check_body(part, form, BODY_MAX if offer is None else OFFER_BODY_MAX)
        case "FOOTER":
            return check_footer(part)
        case "BUTTONS":
            return check_buttons(part)
        case "CAROUSEL":
            return check_carousel(part, form)
        case _:
            return check_offer(part, draft.components)
