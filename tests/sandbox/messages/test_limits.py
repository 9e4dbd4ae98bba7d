"""Every limit of a message's form: one under and at it is taken, one over is refused."""

from collections.abc import Callable
from typing import Any

from gatepost_sandbox import media
from gatepost_sandbox.messages.limits import CARDS_MIN, LIMITS
from gatepost_sandbox.templates import buttons as template_buttons
from gatepost_sandbox.templates import special_types
from tests.for_each import for_each

from .payloads import button, card, code_of, envelope, form, plain, product, row

Build = Callable[[int], dict[str, Any]]


def captioned(kind: str) -> Build:
    return lambda size: envelope(kind, plain(kind) | {"caption": "x" * size})


def body_of(sort: str) -> Build:
    return lambda size: envelope("interactive", form(sort) | {"body": {"text": "x" * size}})


def acting(sort: str, change: Callable[[dict[str, Any], int], None]) -> Build:
    def build(size: int) -> dict[str, Any]:
        content = form(sort)
        change(content["action"], size)
        return envelope("interactive", content)

    return build


def first_button(name: str) -> Build:
    return acting("button", lambda action, size: action["buttons"][0]["reply"].update({name: "x" * size}))


def first_row(name: str) -> Build:
    return acting("list", lambda action, size: action["sections"][0]["rows"][0].update({name: "x" * size}))


def rows_over_sections(action: dict[str, Any], size: int) -> None:
    half = size // 2
    rows = [row(place) for place in range(size)]
    action["sections"] = [{"title": "One", "rows": rows[:half]}, {"title": "Two", "rows": rows[half:]}]


def products_over_sections(action: dict[str, Any], size: int) -> None:
    items = [product(place) for place in range(size)]
    action["sections"] = [{"title": "One", "product_items": items[:1]}, {"title": "Two", "product_items": items[1:]}]


def card_action(name: str) -> Build:
    def change(action: dict[str, Any], size: int) -> None:
        for one in action["cards"]:
            reply = {"id": "i", "title": "t"} | {name: "x" * size}
            one["action"] = {"buttons": [{"type": "quick_reply", "quick_reply": reply}]}

    return acting("carousel", change)


def parameter(kind: str) -> Build:
    def build(size: int) -> dict[str, Any]:
        part = {"type": "button", "sub_type": "quick_reply", "index": "0"}
        parameters = [{"type": kind, kind: "x" * size}]
        return envelope("template", plain("template") | {"components": [{**part, "parameters": parameters}]})

    return build


BUILDS: dict[str, tuple[Build, int]] = {
    "biz_opaque_callback_data": (
        lambda size: envelope("text", plain("text"), biz_opaque_callback_data="x" * size),
        100,
    ),
    "text.body": (lambda size: envelope("text", {"body": "é" * size}), 100),
    "image.caption": (captioned("image"), 100),
    "video.caption": (captioned("video"), 100),
    "document.caption": (captioned("document"), 100),
    "contacts": (lambda size: envelope("contacts", plain("contacts") * size), 131009),
    "user_id": (lambda size: envelope("text", plain("text"), to="US." + "1" * (size - 3)), 131009),
    "interactive.header.text": (
        lambda size: envelope("interactive", form("list") | {"header": {"type": "text", "text": "x" * size}}),
        131009,
    ),
    "interactive.footer": (
        lambda size: envelope("interactive", form("button") | {"footer": {"text": "x" * size}}),
        131009,
    ),
    "interactive.button.title": (first_button("title"), 131009),
    "interactive.button.id": (first_button("id"), 131009),
    "interactive.buttons": (
        acting("button", lambda action, size: action.update(buttons=[button(place) for place in range(size)])),
        131009,
    ),
    "interactive.list.button": (acting("list", lambda action, size: action.update(button="x" * size)), 131009),
    "interactive.list.sections": (
        acting(
            "list",
            lambda action, size: action.update(
                sections=[{"title": f"S{place}", "rows": [row(place)]} for place in range(size)]
            ),
        ),
        131009,
    ),
    "interactive.list.rows": (acting("list", rows_over_sections), 131009),
    "interactive.list.section.title": (
        acting("list", lambda action, size: action["sections"][0].update(title="x" * size)),
        131009,
    ),
    "interactive.list.row.id": (first_row("id"), 131009),
    "interactive.list.row.title": (first_row("title"), 131009),
    "interactive.list.row.description": (first_row("description"), 131009),
    "interactive.cta_url.display_text": (
        acting("cta_url", lambda action, size: action["parameters"].update(display_text="x" * size)),
        131009,
    ),
    "interactive.product_list.products": (acting("product_list", products_over_sections), 131009),
    "interactive.product_list.sections": (
        acting(
            "product_list",
            lambda action, size: action.update(
                sections=[{"title": f"S{place}", "product_items": [product(place)]} for place in range(size)]
            ),
        ),
        131009,
    ),
    "interactive.product_list.section.title": (
        acting("product_list", lambda action, size: action["sections"][0].update(title="x" * size)),
        131009,
    ),
    "interactive.flow.cta": (
        acting("flow", lambda action, size: action["parameters"].update(flow_cta="x" * size)),
        131009,
    ),
    "interactive.carousel.cards": (
        acting("carousel", lambda action, size: action.update(cards=[card(place) for place in range(size)])),
        131009,
    ),
    "interactive.carousel.card.body": (
        acting("carousel", lambda action, size: action["cards"][0].update(body={"text": "x" * size})),
        131009,
    ),
    "interactive.carousel.card.line_breaks": (
        acting("carousel", lambda action, size: action["cards"][0].update(body={"text": "x" + "\n" * size + "x"})),
        131009,
    ),
    "interactive.carousel.card.display_text": (
        acting(
            "carousel", lambda action, size: action["cards"][0]["action"]["parameters"].update(display_text="x" * size)
        ),
        131009,
    ),
    "interactive.carousel.card.title": (card_action("title"), 131009),
    "interactive.carousel.card.id": (card_action("id"), 131009),
    "template.name": (lambda size: envelope("template", plain("template") | {"name": "x" * size}), 131009),
    "template.button.payload": (parameter("payload"), 131009),
    "template.button.copy_code": (parameter("coupon_code"), 131009),
    **{
        name: (body_of(name.split(".")[1]), 131009)
        for name in LIMITS
        if name.startswith("interactive.") and name.count(".") == 2 and name.endswith(".body")
    },
}

# Held against the stored template or file, not the form: test_template.py, test_references.py.
ELSEWHERE = {
    "template.header.text",
    "template.body",
    "template.body.limited_time_offer",
    "template.body.card",
    "template.button.url",
    "template.mpm.products",
    "template.mpm.sections",
    "template.mpm.section.title",
    *(name for name in LIMITS if name.startswith("media.")),
}


@for_each("name", BUILDS)
def test_one_under_at_and_over(name: str) -> None:
    build, code = BUILDS[name]
    most = LIMITS[name]
    assert code_of(build(most - 1)) == 0
    assert code_of(build(most)) == 0
    assert code_of(build(most + 1)) == code


def test_a_carousel_has_two_cards_at_least() -> None:
    build = BUILDS["interactive.carousel.cards"][0]
    assert code_of(build(CARDS_MIN)) == 0
    assert code_of(build(CARDS_MIN - 1)) == 131009


def test_the_templates_own_limits_are_those_of_their_making() -> None:
    assert LIMITS["template.button.text"] == template_buttons.TEXT_MAX
    assert LIMITS["template.button.url"] == template_buttons.URL_MAX
    assert LIMITS["template.button.phone_number"] == template_buttons.PHONE_MAX
    assert LIMITS["template.button.copy_code"] == template_buttons.CODE_MAX
    assert LIMITS["template.buttons"] == template_buttons.IN_ALL
    assert LIMITS["template.body.card"] == special_types.CARD_BODY_MAX
    assert LIMITS["template.body.limited_time_offer"] == special_types.OFFER_BODY_MAX
    assert LIMITS["template.limited_time_offer.text"] == special_types.OFFER_TEXT_MAX
    assert LIMITS["media.image.bytes"] == media.MAX_BY_TYPE["image/png"]
    assert LIMITS["media.sticker.bytes"] == media.ANIMATED_STICKER_MAX


def test_every_limit_is_tried() -> None:
    made_with_the_template = {
        "template.footer",
        "template.button.text",
        "template.button.phone_number",
        "template.buttons",
        "template.limited_time_offer.text",
    }
    assert set(BUILDS) | ELSEWHERE | made_with_the_template == set(LIMITS)
