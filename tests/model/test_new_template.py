"""What the network would refuse in a new template is refused before it is asked, by the very place."""

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model.errors import Invalid
from gatepost.model.template import NewTemplate, Template, check_new_template
from gatepost.model.template.variables import fill, variables_of
from tests.for_each import for_each

from .templates import (
    BODY,
    CARD,
    CODE,
    COPY,
    FILLED,
    NAMED,
    OFFER,
    OTP,
    PHONE,
    PICTURE,
    REPLY,
    URL,
    buttons,
    carousel,
    new,
    refused,
)

FULL = [
    {"type": "HEADER", "format": "TEXT", "text": "Order {{1}} news", "example": {"header_text": ["1001"]}},
    FILLED,
    {"type": "FOOTER", "text": "Thanks"},
    buttons(REPLY, REPLY | {"text": "No"}, URL, PHONE, COPY),
]
GOOD: list[tuple[Any, str, dict[str, Any]]] = [
    ([BODY], "UTILITY", {}),
    ([BODY, {"type": "FOOTER", "text": BODY["text"]}], "UTILITY", {}),
    (FULL, "MARKETING", {}),
    ([NAMED], "UTILITY", {"parameter_format": "named"}),
    ([PICTURE, FILLED], "MARKETING", {"message_send_ttl_seconds": -1}),
    ([{"type": "HEADER", "format": "LOCATION"}, BODY], "UTILITY", {}),
    (CODE, "AUTHENTICATION", {}),
    (
        [
            {"type": "BODY", "add_security_recommendation": True},
            {"type": "FOOTER", "code_expiration_minutes": 5},
            buttons(
                {"type": "OTP", "otp_type": "one_tap", "supported_apps": [{"package_name": "a", "signature_hash": "b"}]}
            ),
        ],
        "AUTHENTICATION",
        {},
    ),
    ([PICTURE, OFFER, FILLED, buttons(COPY, URL)], "MARKETING", {}),
    (carousel(CARD, CARD), "MARKETING", {}),
    ([BODY, buttons({"type": "FLOW", "text": "Book", "flow_id": "1"})], "UTILITY", {}),
    ([BODY, buttons(URL, REPLY)], "MARKETING", {}),
]


@for_each(("components", "category", "more"), GOOD)
def test_what_keeps_to_the_rules_passes_unchanged(components: Any, category: str, more: dict[str, Any]) -> None:
    template = new(components, category, **more)
    assert template.components == components
    assert (template.status, template.category) == ("PENDING", category)
    assert template.named == (more.get("parameter_format") == "named")


def lower(value: Any) -> Any:
    """The same with the network's own words in small letters."""
    if isinstance(value, list):
        return [lower(item) for item in value]
    if isinstance(value, dict):
        return {k: v.lower() if k in ("type", "format") else lower(v) for k, v in value.items()}
    return value


@for_each(("components", "category", "more"), GOOD)
def test_small_letters_are_the_same(components: Any, category: str, more: dict[str, Any]) -> None:
    assert new(lower(components), category.lower(), **more) == new(components, category, **more)


def header(**fields: Any) -> list[dict[str, Any]]:
    return [{"type": "HEADER", "format": "TEXT"} | fields, BODY]


def body(text: str, *examples: str, **more: Any) -> list[dict[str, Any]]:
    return [{"type": "BODY", "text": text} | ({"example": {"body_text": [list(examples)]}} if examples else {}) | more]


BAD: list[tuple[Any, str, str]] = [
    ([], "components", "at least one of type BODY"),
    ({}, "components", "must be a list"),
    ([7], "components[0]", "must be an object"),
    ([{"type": "HEAD"}], "components[0].type", "must be one of"),
    ([{"type": "FOOTER", "text": "x"}], "components", "needs a component of type BODY"),
    ([BODY, BODY], "components[1].type", "twice"),
    ([BODY | {"colour": "red"}], "components[0].colour", "is not a field"),
    ([{"type": "BODY"}], "components[0].text", "is required"),
    # variables
    (body("Hello {{2}}, your order is here", "a"), "components[0].text", "without a gap"),
    (body("Hello {{2}}, your order {{1}} is here today", "a", "b"), "components[0].text", "without a gap"),
    (body("Hello {{name}}, your order is here", "a"), "components[0].text", '"parameter_format": "named"'),
    (body("Hello {{ 1 }}, your order is here", "a"), "components[0].text", "spaces inside"),
    (body("Hello {{1}, your order is here", "a"), "components[0].text", "unmatched braces"),
    (body("Hello {{}}, your order is here", "a"), "components[0].text", "without a gap"),
    (body("{{1}} your order is here now", "a"), "components[0].text", "begin or end"),
    (body("Here is the order of {{1}} ", "a"), "components[0].text", "begin or end"),
    (body("Your order of {{1}}{{2}} is here now", "a", "b"), "components[0].text", "two adjacent variables"),
    (body("Your order of {{1}} {{2}} is here now", "a", "b"), "components[0].text", "two adjacent variables"),
    (body("Hello {{1}} there", "a"), "components[0].text", "too many variables"),
    (body("Hello {{1}}, your order is here"), "components[0].example.body_text", "is required"),
    (body("Hello {{1}}, your order is here", "a", "b"), "components[0].example.body_text", "must hold 1 examples"),
    (body("Your order is here", "a"), "components[0].example.body_text", "must hold 0 examples"),
    (body("Hello {{1}}, your order is here", ""), "components[0].example.body_text[0]", "is empty"),
    (
        body("Hello {{1}}, your order is here", example={"body_text": ["a"]}),
        "components[0].example.body_text",
        "one list",
    ),
    # headers
    (header(), "components[0].text", "is required"),
    (header(text="x", format="SOUND"), "components[0].format", "must be one of"),
    (header(text="Sale {{1}}"), "components[0].example.header_text", "is required"),
    (
        header(text="Sale {{1}}", example={"header_text": ["a", "b"]}),
        "components[0].example.header_text",
        "must hold 1",
    ),
    ([{"type": "HEADER", "format": "IMAGE"}, BODY], "components[0].example", "is required"),
    (
        [PICTURE | {"example": {"header_handle": []}}, BODY],
        "components[0].example.header_handle",
        "one uploaded sample",
    ),
    ([PICTURE | {"text": "x"}, BODY], "components[0].text", "is not a field"),
    ([{"type": "HEADER", "format": "LOCATION", "text": "x"}, BODY], "components[0].text", "is not a field"),
    # footers
    ([BODY, {"type": "FOOTER", "text": "Bye {{1}}"}], "components[1].text", "must not have variables"),
    # buttons
    ([BODY, buttons()], "components[1].buttons", "1 to 10 buttons"),
    ([BODY, buttons(REPLY, URL, REPLY)], "components[1].buttons", "quick replies"),
    ([BODY, buttons(URL, REPLY, PHONE)], "components[1].buttons", "quick replies"),
    ([BODY, buttons(REPLY | {"text": "Hi {{1}}"})], "components[1].buttons[0].text", "plain text"),
    ([BODY, buttons(REPLY | {"text": "a\nb"})], "components[1].buttons[0].text", "plain text"),
    ([BODY, buttons(REPLY | {"url": "x"})], "components[1].buttons[0].url", "is not a field"),
    ([BODY, buttons({"type": "JUMP"})], "components[1].buttons[0].type", "must be one of"),
    ([BODY, buttons(URL | {"url": "example.com"})], "components[1].buttons[0].url", "https://"),
    ([BODY, buttons(URL | {"url": "https://{{1}}.example.com/"})], "components[1].buttons[0].url", "at its end"),
    ([BODY, buttons(URL | {"url": "https://e.co/{{1}}/{{2}}"})], "components[1].buttons[0].url", "one variable"),
    ([BODY, buttons(URL | {"example": None})], "components[1].buttons[0].example", "is required"),
    ([BODY, buttons(URL | {"example": ["a", "b"]})], "components[1].buttons[0].example", "one example"),
    ([BODY, buttons({"type": "COPY_CODE"})], "components[1].buttons[0].example", "is required"),
    ([BODY, buttons(OTP)], "components[1].buttons", "only in the category AUTHENTICATION"),
    # offers and carousels
    ([OFFER, BODY, {"type": "FOOTER", "text": "x"}], "components[2].type", "is not allowed in a template"),
    ([header(text="x")[0], OFFER, BODY], "components[0].format", "must be one of IMAGE, VIDEO"),
    ([*carousel(CARD, CARD), buttons(REPLY)], "components[2].type", "is not allowed in a template"),
    (
        carousel(CARD, {"components": [PICTURE]}),
        "components[1].cards[1].components",
        "needs a component of type BUTTONS",
    ),
    (
        carousel(CARD, {"components": [PICTURE, buttons(URL)]}),
        "components[1].cards[1]",
        "same header format and buttons",
    ),
    (
        carousel(CARD, {"components": [BODY, {"type": "FOOTER"}]}),
        "components[1].cards[1].components[1].type",
        "must be",
    ),
    (carousel(CARD, {"components": 7}), "components[1].cards[1].components", "must be a list"),
    (carousel(CARD, {"components": [7]}), "components[1].cards[1].components[0].type", "must be one of"),
]


@for_each(("components", "path", "hint"), BAD)
def test_each_rule_bites(components: Any, path: str, hint: str) -> None:
    error = refused(components)
    assert error.fields[0].field == path
    assert hint in error.message


@for_each(
    ("components", "path"),
    [
        ([*CODE, PICTURE], "components[2].type"),
        ([BODY, buttons(OTP)], "components[0].text"),
        ([{"type": "BODY"}], "components"),
        ([{"type": "BODY"}, buttons(REPLY)], "components[1].buttons"),
        ([{"type": "BODY"}, buttons(OTP, OTP)], "components[1].buttons"),
        ([{"type": "BODY"}, buttons(OTP | {"otp_type": "LETTER"})], "components[1].buttons[0].otp_type"),
        ([{"type": "BODY"}, buttons(OTP | {"otp_type": "ONE_TAP"})], "components[1].buttons[0].supported_apps"),
        (
            [{"type": "BODY"}, buttons(OTP | {"otp_type": "ZERO_TAP", "package_name": "a"})],
            "components[1].buttons[0].zero_tap_terms_accepted",
        ),
        ([*CODE, {"type": "FOOTER", "text": "x"}], "components[2].text"),
        ([{"type": "BODY", "add_security_recommendation": 1}, CODE[1]], "components[0].add_security_recommendation"),
    ],
)
def test_codes_have_rules_of_their_own(components: Any, path: str) -> None:
    assert refused(components, "AUTHENTICATION").fields[0].field == path


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"category": "NEWS"}, "category"),
        ({"parameter_format": "both"}, "parameter_format"),
        ({"message_send_ttl_seconds": 0}, "message_send_ttl_seconds"),
        ({"name": "Order"}, "name"),
        ({"language": "english"}, "language"),
    ],
)
def test_the_head_of_a_template(fields: dict[str, Any], path: str) -> None:
    assert refused([BODY], **fields).fields[0].field == path


@pytest.mark.parametrize("kind", ["CAROUSEL", "LIMITED_TIME_OFFER"])
def test_special_makes_are_for_marketing(kind: str) -> None:
    components = carousel(CARD, CARD) if kind == "CAROUSEL" else [OFFER, BODY]
    assert refused(components, "UTILITY").message == f"category: must be MARKETING for a template with {kind}"


def test_named_variables_want_named_examples() -> None:
    def named(*names: str, text: str = str(NAMED["text"])) -> Any:
        rows = [{"param_name": name, "example": "x"} for name in names]
        return [{"type": "BODY", "text": text, "example": {"body_text_named_params": rows}}]

    new(named("order", "first_name"), parameter_format="NAMED")
    where = "components[0].example.body_text_named_params"
    for names in (("order",), ("order", "first_name", "more"), ("first_name", "other")):
        assert refused(named(*names), parameter_format="NAMED").fields[0].field == where
    twice = refused(named("order", "order", "first_name"), parameter_format="NAMED")
    assert twice.fields[0].field == f"{where}[1].param_name"
    for bad in ("First", "first-name", "1", "a#", "a$", "a%"):
        text = f"Hello {{{{{bad}}}}}, your order is here"
        assert refused(named("x", text=text), parameter_format="NAMED").fields[0].field == "components[0].text"


def test_a_variable_may_come_twice() -> None:
    new(body("Hello {{1}}, dear {{1}}, your order has come today", "Anna"))


@for_each(
    "text",
    [
        "亲爱的{{1}}，您的订单{{2}}已经发货，请注意查收。",
        "お客様のご注文{{1}}は発送されました。",
        "ขอบคณ{{1}}มาก",
        "고객님의 주문 {{1}}이 발송되었습니다.",
    ],
)
def test_words_of_languages_without_spaces(text: str) -> None:
    assert isinstance(new(body(text, *["A"] * text.count("{{"))), Template)


@given(st.integers(0, 12), st.integers(0, 40))
def test_as_many_variables_as_words_allow(variables: int, words: int) -> None:
    text = " ".join(["go", *(f"{{{{{i + 1}}}}} on" for i in range(variables)), *["on"] * words])
    examples = [str(i) for i in range(variables)]
    if variables and 1 + variables + words < 2 * variables + 1:
        assert "too many variables" in refused(body(text, *examples)).message
    else:
        assert isinstance(new(body(text, *examples)), Template)


names = st.text("abc_", min_size=1, max_size=3)


@given(st.lists(st.tuples(st.text("xyz {}", max_size=4), names)), st.dictionaries(names, st.text(max_size=5)))
def test_filling_puts_each_value_in_its_place(pieces_: list[tuple[str, str]], values: dict[str, str]) -> None:
    plain = [(text.replace("{", "").replace("}", ""), name) for text, name in pieces_]
    text = "".join(f"{before}{{{{{name}}}}}" for before, name in plain)
    assert variables_of(text) == tuple(dict.fromkeys(name for _, name in plain))
    assert fill(text, values) == "".join(before + values.get(name, f"{{{{{name}}}}}") for before, name in plain)


@given(st.text("{} 1a"), st.dictionaries(st.text(max_size=3), st.text(max_size=5)))
def test_no_text_breaks_the_filling(text: str, values: dict[str, str]) -> None:
    assert isinstance(fill(text, values), str)


pieces = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 100)
    | st.text(max_size=6)
    | st.sampled_from(["BODY", "x {{1}} y", "\x00"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "buttons", "x"]), inner)
    ),
    max_leaves=6,
)


@given(st.sampled_from(GOOD), st.data(), pieces)
def test_nothing_breaks_the_check(good: tuple[Any, str, dict[str, Any]], data: st.DataObject, piece: Any) -> None:
    components, category, more = copy.deepcopy(good)
    aim: Any = components
    while True:
        key = data.draw(st.sampled_from(sorted(aim) if isinstance(aim, dict) else range(len(aim))))
        if not isinstance(aim[key], dict | list) or not aim[key] or data.draw(st.booleans()):
            aim[key] = piece
            break
        aim = aim[key]
    try:
        template = check_new_template(NewTemplate("order_ok", "en", category, components, **more))
    except Invalid as error:
        msgspec.json.encode(error.message)
        return
    assert "\\u0000" not in msgspec.json.encode(template).decode()


def test_all_broken_rules_are_named_at_once() -> None:
    body, footer = {"type": "BODY", "text": ""}, {"type": "FOOTER", "text": "x" * 61}
    error = refused([body, footer], "SALE", name="Order Sent", language="")
    named = {problem.field for problem in error.fields}
    assert named == {"name", "language", "category", "components[0].text", "components[1].text"}
