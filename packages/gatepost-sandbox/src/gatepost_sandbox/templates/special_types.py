"""Special types of templates: one-time codes, carousels, and limited-time offers."""

from typing import Any

from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.templates.buttons import check_buttons
from gatepost_sandbox.templates.components import check_body, check_header
from gatepost_sandbox.templates.problems import lacking, too_long, wrong
from gatepost_sandbox.templates.template import Format, component

CARD_BODY_MAX, OFFER_BODY_MAX, OFFER_TEXT_MAX = 160, 600, 16
CARDS_MIN, CARDS_MAX = 2, 10
EXPIRY_MIN, EXPIRY_MAX = 1, 90
OTP_TYPES = ("COPY_CODE", "ONE_TAP", "ZERO_TAP")
_OTP_URL = "https://www.whatsapp.com/otp/code/?otp_type={kind}&code=otp{{{{1}}}}"


def check_authentication(components: list[dict[str, Any]]) -> Refusal | None:
    """Check a one-time code template: the network writes its text, the business only chooses the parts."""
    body, footer, buttons = (component(components, kind) for kind in ("BODY", "FOOTER", "BUTTONS"))
    if component(components, "HEADER") is not None or body is None or "text" in body:
        return wrong("An authentication template has no header, and a body without a text of its own.")
    if not isinstance(body.get("add_security_recommendation", False), bool):
        return wrong("add_security_recommendation is true or false.")
    if footer is not None:
        minutes = footer.get("code_expiration_minutes")
        if not isinstance(minutes, int) or not EXPIRY_MIN <= minutes <= EXPIRY_MAX:
            return wrong(f"code_expiration_minutes is a number from {EXPIRY_MIN} to {EXPIRY_MAX}.")
    made = (buttons or {}).get("buttons")
    if not isinstance(made, list) or len(made) != 1 or made[0].get("type") != "OTP":
        return lacking("BUTTONS", "a single button of type OTP")
    if str(made[0].get("otp_type", "")).upper() not in OTP_TYPES:
        return wrong(f"otp_type is one of {', '.join(OTP_TYPES)}.")
    return None


def compose_authentication(components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the stored components of a one-time code template, with the text that the network adds."""
    body, footer, buttons = (component(components, kind) for kind in ("BODY", "FOOTER", "BUTTONS"))
    secure = bool((body or {}).get("add_security_recommendation"))
    text = "*{{1}}* is your verification code." + (" Keep it to yourself." if secure else "")
    kept: list[dict[str, Any]] = [
        {"type": "BODY", "text": text, "add_security_recommendation": secure, "example": {"body_text": [["123456"]]}}
    ]
    if footer is not None:
        minutes = footer["code_expiration_minutes"]
        kept.append({"type": "FOOTER", "text": f"Good for {minutes} minutes.", "code_expiration_minutes": minutes})
    asked = (buttons or {})["buttons"][0]
    url = _OTP_URL.format(kind=str(asked["otp_type"]).upper())
    button = {"type": "URL", "text": asked.get("text") or "Copy code", "url": url, "example": [url[:-5] + "123456"]}
    return [*kept, {"type": "BUTTONS", "buttons": [button]}]


def check_carousel(part: dict[str, Any], form: Format) -> Refusal | None:
    """Check that there are two to ten cards of the same structure."""
    cards = part.get("cards")
    if not isinstance(cards, list) or not CARDS_MIN <= len(cards) <= CARDS_MAX:
        return wrong(f"A carousel has {CARDS_MIN} to {CARDS_MAX} cards.")
    builds = set()
    for card in cards:
        parts = card.get("components") if isinstance(card, dict) else None
        if not isinstance(parts, list):
            return lacking("CAROUSEL", "components")
        bad = check_card(parts, form)
        if bad is not None:
            return bad
        builds.add(build_of(parts))
    return None if len(builds) == 1 else wrong("All cards of a carousel have the same header format and buttons.")


def check_card(parts: list[dict[str, Any]], form: Format) -> Refusal | None:
    """Check one card: a picture, video or product, a short body, one or two buttons."""
    header, body, buttons = (component(parts, kind) for kind in ("HEADER", "BODY", "BUTTONS"))
    if header is None or header.get("format") not in ("IMAGE", "VIDEO", "PRODUCT"):
        return wrong("A card has a header with an image, a video or a product.")
    bad = check_header(header, form) or (check_body(body, form, CARD_BODY_MAX) if body is not None else None)
    if bad is not None or buttons is None:
        return bad or lacking("CAROUSEL", "buttons")
    bad = check_buttons(buttons)
    if bad is None and len(buttons["buttons"]) > 2:
        return wrong("A card has at most two buttons.")
    return bad


def build_of(parts: list[dict[str, Any]]) -> tuple[Any, ...]:
    """Return the properties that must be the same on all cards."""
    header, buttons = component(parts, "HEADER"), component(parts, "BUTTONS")
    kinds = (button.get("type") for button in (buttons or {}).get("buttons", ()))
    return (header or {}).get("format"), *kinds


def check_offer(part: dict[str, Any], components: list[dict[str, Any]]) -> Refusal | None:
    """Check an offer that ends: a short text, no footer, no other header than a picture or video."""
    offer = part.get("limited_time_offer")
    text = offer.get("text") if isinstance(offer, dict) else None
    if not isinstance(text, str) or not text.strip():
        return lacking("LIMITED_TIME_OFFER", "text")
    if len(text) > OFFER_TEXT_MAX:
        return too_long("The text of an offer", OFFER_TEXT_MAX)
    header = component(components, "HEADER")
    if component(components, "FOOTER") is not None:
        return wrong("A template with an offer that ends has no footer.")
    if header is not None and header.get("format") not in ("IMAGE", "VIDEO"):
        return wrong("A template with an offer that ends has an image or a video as header.")
    return None
