"""What is sent with a template against the template as it is kept: counts, formats, lengths and states."""

from typing import Any

import pytest

from gatepost_sandbox.messages.limits import LIMITS
from gatepost_sandbox.messages.template import check_fit, check_template, fill_in
from gatepost_sandbox.templates import Template

HEADER_TEXT = {"type": "HEADER", "format": "TEXT", "text": "Order {{1}}"}
IMAGE = {"type": "HEADER", "format": "IMAGE"}
BODY = {"type": "BODY", "text": "Hello {{1}}, your order {{2}} is on its way."}
NAMED = {"type": "BODY", "text": "Hello {{first_name}}, your order {{order_id}} is on its way."}
LINKED = {"type": "URL", "text": "Track", "url": "https://127.0.0.1/{{1}}"}
FIXED = {"type": "URL", "text": "Home", "url": "https://127.0.0.1/"}
QUICK = {"type": "QUICK_REPLY", "text": "Stop"}
CODE = {"type": "COPY_CODE", "example": "A1"}


def kept(*components: dict[str, Any], status: Any = "APPROVED", form: Any = "POSITIONAL") -> Template:
    return Template(
        id="1",
        serial=1,
        waba_id="2",
        name="t",
        language="en_US",
        category="UTILITY",
        status=status,
        parameter_format=form,
        components=list(components),
    )


def buttons(*kinds: dict[str, Any]) -> dict[str, Any]:
    return {"type": "BUTTONS", "buttons": list(kinds)}


def words(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts]


def part(kind: str, *parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": kind, "parameters": list(parameters), **more}


def button(sub_type: str, index: int | str, *parameters: dict[str, Any]) -> dict[str, Any]:
    return part("button", *parameters, sub_type=sub_type, index=index)


def content(*components: dict[str, Any]) -> dict[str, Any]:
    return {"name": "t", "language": {"code": "en_US"}, "components": list(components)}


def code(template: Template | None, *components: dict[str, Any]) -> int:
    sent = content(*components)
    check_template(sent)
    refusal = check_fit(sent, template)
    return refusal.code if refusal is not None else 0


@pytest.mark.parametrize(
    ("status", "expected"),
    [("APPROVED", 0), ("PENDING", 132001), ("REJECTED", 132001), ("PAUSED", 132015), ("DISABLED", 132016)],
)
def test_only_an_approved_template_goes_out(status: str, expected: int) -> None:
    assert code(kept({"type": "BODY", "text": "Hi"}, status=status)) == expected


def test_a_template_that_is_not_there() -> None:
    refusal = check_fit(content(), None)
    assert refusal is not None
    assert (refusal.code, refusal.details) == (132001, "template name (t) does not exist in en_US")


@pytest.mark.parametrize(("count", "expected"), [(0, 132000), (1, 132000), (2, 0), (3, 132000)])
def test_the_body_has_as_many_parameters_as_variables(count: int, expected: int) -> None:
    assert code(kept(BODY), part("body", *words(*["x"] * count))) == expected


def test_a_variable_twice_is_one_parameter() -> None:
    assert code(kept({"type": "BODY", "text": "{{1}} and {{1}} again"}), part("body", *words("x"))) == 0


def test_named_parameters_in_any_order() -> None:
    first = {"type": "text", "parameter_name": "first_name", "text": "Ana"}
    second = {"type": "text", "parameter_name": "order_id", "text": "7"}
    template = kept(NAMED, form="NAMED")
    assert code(template, part("body", second, first)) == 0
    assert code(template, part("body", first)) == 132000
    assert code(template, part("body", *words("Ana", "7"))) == 132012
    assert code(template, part("body", first, {**second, "parameter_name": "other"})) == 132012
    assert fill_in(content(part("body", second, first)), template) == "Hello Ana, your order 7 is on its way."


def test_positional_parameters_fill_in_order() -> None:
    sent = content(part("body", *words("Ana", "7")))
    assert fill_in(sent, kept(BODY)) == "Hello Ana, your order 7 is on its way."


def test_money_and_dates_are_words_too() -> None:
    money = {"type": "currency", "currency": {"fallback_value": "$5", "code": "USD", "amount_1000": 5000}}
    date = {"type": "date_time", "date_time": {"fallback_value": "May 1"}}
    assert code(kept(BODY), part("body", money, date)) == 0
    assert code(kept(BODY), part("body", {"type": "payload", "payload": "x"}, date)) == 132012


@pytest.mark.parametrize("text", ["two\nlines", "a\ttab", "five     spaces"])
def test_what_a_parameter_may_not_have(text: str) -> None:
    assert code(kept(BODY), part("body", *words("Ana", text))) == 132018
    assert code(kept(BODY), part("body", *words("Ana", "four    spaces"))) == 0


def test_headers_are_of_the_templates_format() -> None:
    picture = {"type": "image", "image": {"link": "https://127.0.0.1/a.png"}}
    assert code(kept(IMAGE), part("header", picture)) == 0
    assert code(kept(IMAGE)) == 132012
    assert code(kept(IMAGE), part("header", *words("x"))) == 132012
    assert code(kept(IMAGE), part("header", picture, picture)) == 132000
    assert code(kept(HEADER_TEXT), part("header", *words("7"))) == 0
    assert code(kept(HEADER_TEXT)) == 132000
    assert code(kept(HEADER_TEXT), part("header", picture)) == 132012
    place = {"type": "location", "location": {"latitude": 1, "longitude": 2, "name": "x", "address": "y"}}
    assert code(kept({"type": "HEADER", "format": "LOCATION"}), part("header", place)) == 0


def filled(limit: str, text: str) -> list[int]:
    """Words that make a text one under, at, and one over a limit."""
    room = LIMITS[limit] - len(text.replace("{{1}}", ""))
    return [room - 1, room, room + 1]


def test_a_text_may_be_too_long_once_filled_in() -> None:
    def at(template: Template, kind: str, limit: str, text: str) -> list[int]:
        return [code(template, part(kind, *words("x" * size))) for size in filled(limit, text)]

    body = {"type": "BODY", "text": "Hello {{1}}"}
    assert at(kept(body), "body", "template.body", "Hello {{1}}") == [0, 0, 132005]
    assert at(kept(HEADER_TEXT), "header", "template.header.text", "Order {{1}}") == [0, 0, 132005]
    offer = {"type": "LIMITED_TIME_OFFER", "limited_time_offer": {"text": "Now"}}
    limit = "template.body.limited_time_offer"
    assert at(kept(body, offer), "body", limit, "Hello {{1}}") == [0, 0, 132005]


def test_a_link_with_a_variable_needs_its_end() -> None:
    template = kept(buttons(QUICK, LINKED, FIXED))
    assert code(template) == 131008
    assert code(template, button("url", "1", *words("abc"))) == 0
    assert code(template, button("url", 1)) == 132000
    assert code(template, button("url", 1, *words("a", "b"))) == 132000
    assert code(template, button("quick_reply", 1, {"type": "payload", "payload": "x"})) == 132012
    assert code(template, button("url", 1, {"type": "payload", "payload": "x"})) == 132012
    assert code(template, button("url", 1, *words("a")), button("url", 2, *words("b"))) == 132000
    assert code(template, button("url", 1, *words("a")), button("url", 3, *words("b"))) == 131009
    codes = [
        code(template, button("url", 1, *words("x" * size))) for size in filled("template.button.url", LINKED["url"])
    ]
    assert codes == [0, 0, 132005]


def test_quick_replies_may_have_a_payload_and_codes_must_be_given() -> None:
    template = kept(buttons(QUICK, CODE))
    coupon = button("copy_code", 1, {"type": "coupon_code", "coupon_code": "25OFF"})
    assert code(template, coupon) == 0
    assert code(template, coupon, button("quick_reply", 0, {"type": "payload", "payload": "stop"})) == 0
    assert code(template, button("copy_code", 1, *words("25OFF"))) == 132012
    assert code(template) == 131008


def test_one_time_codes_have_the_code_twice() -> None:
    template = kept({"type": "BODY", "text": "{{1}} is your code"}, buttons({"type": "OTP", "otp_type": "COPY_CODE"}))
    assert code(template, part("body", *words("1234"))) == 131008
    assert code(template, part("body", *words("1234")), button("url", "0", *words("1234"))) == 0
    codes = [code(template, part("body", *words("1")), button("url", "0", *words("1" * size))) for size in (15, 16)]
    assert codes == [0, 132005]


def test_flows_and_catalogs_may_be_left_alone() -> None:
    template = kept(buttons({"type": "FLOW", "text": "Book"}, {"type": "CATALOG", "text": "See"}))
    assert code(template) == 0
    action = {"type": "action", "action": {"flow_token": "x"}}
    assert code(template, button("flow", 0, action)) == 0
    assert (
        code(template, button("catalog", 1, {"type": "action", "action": {"thumbnail_product_retailer_id": "1"}})) == 0
    )


def sections(products: int, count: int = 1, title: str = "One") -> dict[str, Any]:
    items = [{"product_retailer_id": str(place)} for place in range(products)]
    first = {"title": title, "product_items": items[: products - count + 1]}
    rest = [{"title": "x", "product_items": [item]} for item in items[products - count + 1 :]]
    return {"type": "action", "action": {"sections": [first, *rest]}}


def test_many_products_in_a_template() -> None:
    template = kept(buttons({"type": "MPM", "text": "See"}))
    assert code(template) == 131008
    products, most = LIMITS["template.mpm.products"], LIMITS["template.mpm.sections"]
    title = LIMITS["template.mpm.section.title"]
    assert [code(template, button("mpm", 0, sections(count))) for count in (products, products + 1)] == [0, 131009]
    assert [code(template, button("mpm", 0, sections(20, count))) for count in (most, most + 1)] == [0, 131009]
    assert [code(template, button("mpm", 0, sections(1, 1, "x" * size))) for size in (title, title + 1)] == [0, 131009]


def test_an_offer_that_ends_says_when() -> None:
    offer = {"type": "LIMITED_TIME_OFFER", "limited_time_offer": {"text": "Now", "has_expiration": True}}
    moment = {"type": "limited_time_offer", "limited_time_offer": {"expiration_time_ms": 1_700_000_000_000}}
    late = {"type": "limited_time_offer", "limited_time_offer": {"expiration_time_ms": "soon"}}
    assert code(kept(offer), part("limited_time_offer", moment)) == 0
    assert code(kept(offer)) == 132000
    assert code(kept(offer), part("limited_time_offer", late)) == 132012


def cards(*components: list[dict[str, Any]]) -> dict[str, Any]:
    made = [{"card_index": place, "components": parts} for place, parts in enumerate(components)]
    return {"type": "carousel", "cards": made}


def test_every_card_of_a_carousel_is_looked_at() -> None:
    text = "A {{1}}"
    one = {"components": [{"type": "BODY", "text": text}]}
    template = kept({"type": "BODY", "text": "See"}, {"type": "CAROUSEL", "cards": [one, one]})
    good = [part("body", *words("thing"))]
    assert code(template, cards(good, good)) == 0
    assert code(template, cards(good)) == 132000
    assert code(template) == 132000
    assert code(template, cards(good, [])) == 132000
    assert code(template, {"type": "carousel", "cards": [{"card_index": 0, "components": good}] * 2}) == 132012
    sizes = filled("template.body.card", text)
    assert [code(template, cards(good, [part("body", *words("x" * size))])) for size in sizes] == [0, 0, 132005]
