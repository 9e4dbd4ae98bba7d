"""A template is used only when it is approved, and gets just what it needs."""

import contextlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model.errors import Invalid
from gatepost.model.limits import maximum
from gatepost.model.template import PreviewHeader, Template, TemplateUse, check_use, preview
from tests.for_each import for_each

from .sends import USE, check
from .templates import (
    BODY,
    CARD,
    CODE,
    COPY,
    FILLED,
    NAMED,
    OFFER,
    PHONE,
    PICTURE,
    REPLY,
    URL,
    approved,
    buttons,
    carousel,
)

POSITIONAL = approved([FILLED])
BY_NAME = approved([NAMED], parameter_format="NAMED")
SALE = {"type": "HEADER", "format": "TEXT", "text": "Our {{1}} sale", "example": {"header_text": ["Summer"]}}
NAMED_SALE = SALE | {
    "text": "Our {{sale}} sale",
    "example": {"header_text_named_params": [{"param_name": "sale", "example": "Summer"}]},
}
AUTH = Template(  # as the network keeps it
    "code",
    "en",
    "AUTHENTICATION",
    [
        {"type": "BODY", "text": "*{{1}}* is your verification code."},
        {
            "type": "BUTTONS",
            "buttons": [{"type": "URL", "text": "Copy code", "url": "https://example.com/?code=otp{{1}}"}],
        },
    ],
    status="APPROVED",
)


def use(**option: Any) -> TemplateUse:
    """A use as a request would give it."""
    read = check("template", {"template": USE | option}).template
    assert read is not None
    return read


def raw(*components: dict[str, Any]) -> TemplateUse:
    return use(components=list(components))


def mismatch(template: Template, option: TemplateUse) -> Invalid:
    with pytest.raises(Invalid) as refused:
        check_use(template, option)
    assert refused.value.code == "template_variables_mismatch"
    return refused.value


def texts(*values: str, names: tuple[str, ...] = ()) -> list[dict[str, str]]:
    if names:
        return [{"type": "text", "parameter_name": n, "text": v} for n, v in zip(names, values, strict=True)]
    return [{"type": "text", "text": value} for value in values]


def part(type_: str, parameters: list[Any], **more: Any) -> dict[str, Any]:
    return {"type": type_, "parameters": parameters} | more


# -- may it be used at all? -------------------------------------------------------------------------------------------


@for_each("status", ["PENDING", "REJECTED", "PAUSED", "DISABLED", "IN_APPEAL", "ARCHIVED", "LOCKED"])
def test_only_what_is_approved_is_sent(status: str) -> None:
    template = msgspec.structs.replace(POSITIONAL, status=status, reason="PROMOTIONAL")
    with pytest.raises(Invalid) as refused:
        check_use(template, use(variables=["a", "b"]))
    assert refused.value.code == "template_not_approved"
    assert f"'order_ok' is {status} (PROMOTIONAL). " in refused.value.message


def test_an_unknown_template_is_not_approved_either() -> None:
    with pytest.raises(Invalid, match="There is no template 'order_ok' in the language 'en_US'") as refused:
        check_use(None, use())
    assert refused.value.code == "template_not_approved"


# -- variables --------------------------------------------------------------------------------------------------------


def test_variables_by_position_and_by_name() -> None:
    check_use(POSITIONAL, use(variables=["Anna", "1001"]))
    check_use(BY_NAME, use(variables={"order": "1001", "first_name": "Anna"}))
    check_use(approved([BODY]), use())
    check_use(approved([BODY], parameter_format="named"), use())


@for_each(
    ("template", "variables", "hint"),
    [
        (POSITIONAL, None, "has 2 variables, but 0 are given"),
        (POSITIONAL, ["a"], "has 2 variables, but 1 are given"),
        (POSITIONAL, ["a", "b", "c"], "has 2 variables, but 3 are given"),
        (POSITIONAL, {"first_name": "a", "order": "b"}, "by position: a list of 2"),
        (BY_NAME, ["a", "b"], "by name: first_name, order"),
        (BY_NAME, None, "lacks first_name, order"),
        (BY_NAME, {"order": "b"}, "lacks first_name"),
        (BY_NAME, {"order": "b", "first_name": "a", "x": "c"}, "has x, which the template does not have"),
        (approved([BODY]), ["a"], "has 0 variables, but 1 are given"),
        (approved([BODY], parameter_format="named"), {"a": "b"}, "has a, which the template does not have"),
    ],
)
def test_too_few_too_many_or_the_wrong_way(template: Template, variables: Any, hint: str) -> None:
    refused = mismatch(template, use(variables=variables))
    assert refused.fields[0].field == "template.variables"
    assert hint in refused.message


def test_filled_in_the_text_must_fit() -> None:
    bare = len(FILLED["text"]) - len("{{1}}{{2}}") + 1
    check_use(POSITIONAL, use(variables=["x" * (maximum("template.body") - bare), "1"]))
    refused = mismatch(POSITIONAL, use(variables=["x" * (maximum("template.body") - bare + 1), "1"]))
    assert "filled in, the text may have 1 to 1,024 characters, but has 1,025" in refused.message
    longer = raw(part("body", texts("x" * 1000, "y" * 100)))
    assert "filled in" in mismatch(POSITIONAL, longer).message


def test_filled_in_each_part_must_fit() -> None:
    sale = len(SALE["text"]) - len("{{1}}")
    for template, name in (
        (approved([SALE, BODY]), None),
        (approved([NAMED_SALE, BODY], parameter_format="NAMED"), "sale"),
    ):
        for longest, fits in ((60 - sale, True), (61 - sale, False)):
            value = "x" * longest
            header: Any = {name: value} if name else value
            if fits:
                check_use(template, use(header=header))
            else:
                refused = mismatch(template, use(header=header))
                assert refused.fields[0].field == "template.header"
                assert "filled in, the header may have 1 to 60 characters, but has 61" in refused.message
    end = {"type": "limited_time_offer", "limited_time_offer": {"expiration_time_ms": 1}}
    offer = [part("body", texts("x" * 600, "1")), part("limited_time_offer", [end])]
    assert "1 to 600 characters" in mismatch(approved([FILLED, OFFER]), raw(*offer)).message
    body = {"type": "BODY", "text": "Buy the {{1}} today", "example": {"body_text": [["tea"]]}}
    card = {"components": [PICTURE, body, buttons(REPLY)]}
    picture = part("header", [{"type": "image", "image": {"link": "https://example.com/a.png"}}])
    cards = [
        {"card_index": i, "components": [picture, part("body", texts("x" * length))]}
        for i, length in ((0, 146), (1, 147))
    ]
    template = approved(carousel(card, card))
    check_use(template, raw({"type": "carousel", "cards": [cards[0]] * 2}))
    refused = mismatch(template, raw({"type": "carousel", "cards": cards}))
    assert refused.fields[0].field == "template.cards[1].components"
    assert "filled in, the text may have 1 to 160 characters, but has 161" in refused.message


@given(st.integers(0, 6), st.integers(0, 6))
def test_the_number_of_variables_decides(has: int, given_: int) -> None:
    words = " ".join(["go", *(f"{{{{{i + 1}}}}} on and" for i in range(has)), "end here"])
    component = {"type": "BODY", "text": words, "example": {"body_text": [["x"] * has]}} if has else BODY
    template = approved([component])
    networks = [use(variables=["x"] * given_), raw(*([part("body", texts(*["x"] * given_))] if given_ else []))]
    for way in networks:
        if has == given_:
            check_use(template, way)
        else:
            mismatch(template, way)


# -- headers ----------------------------------------------------------------------------------------------------------

FILE = {"media": {"id": "med_" + "0" * 32}}


def test_headers_that_fit() -> None:
    check_use(approved([SALE, BODY]), use(header="Summer"))
    check_use(approved([SALE, BODY]), use(header={"type": "text", "text": "Summer"}))
    check_use(approved([NAMED_SALE, BODY], parameter_format="named"), use(header={"sale": "Summer"}))
    check_use(approved([PICTURE, BODY]), use(header={"type": "image"} | FILE))
    place = {"type": "location", "location": {"latitude": 1, "longitude": 2}}
    check_use(approved([{"type": "HEADER", "format": "LOCATION"}, BODY]), use(header=place))
    check_use(approved([{"type": "HEADER", "format": "TEXT", "text": "Fixed"}, BODY]), use())


@for_each(
    ("header", "named", "given_", "hint"),
    [
        (None, False, "x", "has no variables"),
        ({"type": "HEADER", "format": "TEXT", "text": "Fixed"}, False, "x", "has no variables"),
        (SALE, False, None, "needs a header of type text"),
        (SALE, False, {"sale": "x"}, "by position"),
        (NAMED_SALE, True, "x", "by name: sale"),
        (NAMED_SALE, True, {"other": "x"}, "lacks sale"),
        (PICTURE, False, None, "needs a header of type image"),
        (PICTURE, False, {"type": "video"} | FILE, "is of type video, but the template's header is of type image"),
        (PICTURE, False, "x", "is of type text"),
    ],
)
def test_headers_that_do_not(header: Any, named: bool, given_: Any, hint: str) -> None:
    template = approved([*([header] if header else []), BODY], parameter_format="named" if named else "positional")
    refused = mismatch(template, use(header=given_))
    assert refused.fields[0].field == "template.header"
    assert hint in refused.message


# -- buttons ----------------------------------------------------------------------------------------------------------

BUTTONS = approved([BODY, buttons(REPLY, URL, PHONE, COPY, {"type": "FLOW", "text": "Book", "flow_id": "1"})])
NEEDED = [{"index": 1, "text": "1001"}, {"index": 3, "code": "25OFF"}]


def test_buttons_that_fit() -> None:
    check_use(BUTTONS, use(buttons=NEEDED))
    check_use(BUTTONS, use(buttons=[*NEEDED, {"index": 0, "payload": "yes"}, {"index": 4, "flow_token": "t"}]))


@for_each(
    ("given_", "hint"),
    [
        (None, "button 1 needs the end of its address"),
        (NEEDED[:1], "button 3 needs the code"),
        (NEEDED[1:], 'button 1 needs the end of its address, as {"index": 1, "text": "…"}'),
        ([*NEEDED, {"index": 2, "text": "x"}], "button 2 has no variables"),
        ([*NEEDED, {"index": 0, "text": "x"}], "button 0 is of type quick_reply; it needs a payload"),
        ([*NEEDED, {"index": 5, "text": "x"}], "there is no button 5 in the template; it has 5"),
    ],
)
def test_buttons_that_do_not(given_: Any, hint: str) -> None:
    refused = mismatch(BUTTONS, use(buttons=given_))
    assert refused.fields[0].field == "template.buttons"
    assert hint in refused.message


def test_a_code_stands_in_text_and_button() -> None:
    check_use(AUTH, use(variables=["123456"], buttons=[{"index": 0, "text": "123456"}]))
    check_use(AUTH, use(variables=["x" * 15], buttons=[{"index": 0, "text": "x" * 15}]))
    assert "button 0 needs" in mismatch(AUTH, use(variables=["123456"])).message
    assert "1 to 15" in mismatch(AUTH, use(variables=["x" * 16], buttons=[{"index": 0, "text": "x" * 16}])).message
    assert "the same" in mismatch(AUTH, use(variables=["1"], buttons=[{"index": 0, "text": "2"}])).message
    ours = approved(CODE, "AUTHENTICATION")
    check_use(ours, use(variables=["1"], buttons=[{"index": 0, "text": "1"}]))  # before it was read back
    assert "has 1 variables, but 0" in mismatch(ours, use(buttons=[{"index": 0, "text": "1"}])).message


# -- raw components ---------------------------------------------------------------------------------------------------


def test_raw_components_are_counted_too() -> None:
    body = part("body", texts("a", "b"))
    check_use(POSITIONAL, raw(body))
    check_use(POSITIONAL, raw(part("BODY", [*texts("a"), {"type": "currency", "currency": {"fallback_value": "$1"}}])))
    check_use(BY_NAME, raw(part("body", texts("b", "a", names=("order", "first_name")))))
    button = part("button", texts("1001"), sub_type="url", index="1")
    code = part("button", [{"type": "coupon_code", "coupon_code": "25OFF"}], sub_type="copy_code", index=3)
    check_use(BUTTONS, raw(button, code))
    picture = part("header", [{"type": "image", "image": {"link": "https://example.com/a.png"}}])
    check_use(approved([PICTURE, BODY]), raw(picture))
    check_use(approved([SALE, BODY]), raw(part("header", texts("Summer"))))
    for template, wrong in (
        (POSITIONAL, raw()),
        (POSITIONAL, raw(part("body", texts("a")))),
        (POSITIONAL, raw(body, picture)),
        (POSITIONAL, raw(part("body", texts("a", "b", names=("x", "y"))))),
        (BY_NAME, raw(body)),
        (BY_NAME, raw(part("body", texts("a", "b", "c", names=("first_name", "order", "order"))))),
        (BUTTONS, raw(button)),
        (BUTTONS, raw(button, code | {"index": 9})),
        (BUTTONS, raw(button | {"sub_type": "quick_reply"}, code)),
        (approved([PICTURE, BODY]), raw()),
    ):
        assert mismatch(template, wrong).fields[0].field.startswith("template.")


def test_offers_need_their_end() -> None:
    template = approved([OFFER, BODY, buttons(COPY)])
    code = part("button", [{"type": "coupon_code", "coupon_code": "25OFF"}], sub_type="copy_code", index=0)
    offer = {"type": "limited_time_offer", "limited_time_offer": {"expiration_time_ms": 1}}
    end = part("limited_time_offer", [offer])
    check_use(template, raw(code, end))
    assert "needs the end of its offer" in mismatch(template, raw(code)).message
    assert "has no offer that ends" in mismatch(approved([BODY]), raw(end)).message


def test_cards_are_compared_one_by_one() -> None:
    template = approved(carousel(CARD, CARD, CARD))
    picture = part("header", [{"type": "image", "image": {"id": "1"}}])
    full = {"card_index": 0, "components": [picture]}
    check_use(template, raw({"type": "carousel", "cards": [full] * 3}))
    assert "has 3 cards, but 2" in mismatch(template, raw({"type": "carousel", "cards": [full] * 2})).message
    assert "has 3 cards, but 0" in mismatch(template, use()).message
    empty = {"card_index": 2, "components": []}
    refused = mismatch(template, raw({"type": "carousel", "cards": [full, full, empty]}))
    assert refused.fields[0].field == "template.cards[2].components"


@for_each(
    "components",
    [
        [],
        [{}],
        [{"type": "BUTTONS"}],
        [{"type": "BODY", "text": None}],
        [{"type": "HEADER"}],
        [{"type": "CAROUSEL", "cards": [{}]}],
        [{"type": "LIMITED_TIME_OFFER"}],
        [{"type": "BODY", "text": "a {{1}} b", "example": {"body_text": ["x"]}}],
        [{"type": "NOVELTY", "x": 1}],
    ],
)
def test_templates_of_a_strange_make_break_nothing(components: Any) -> None:
    template = Template("order_ok", "en_US", "UTILITY", components, status="APPROVED")
    assert preview(template).body is not None
    with contextlib.suppress(Invalid):
        check_use(template, use())


# -- preview ----------------------------------------------------------------------------------------------------------


def test_a_preview_shows_what_people_see() -> None:
    template = approved([SALE, FILLED, {"type": "FOOTER", "text": "Thanks"}, buttons(REPLY, URL, PHONE)])
    assert msgspec.to_builtins(preview(template, ["Bob", "7"], "Winter")) == {
        "header": {"type": "text", "text": "Our Winter sale"},
        "body": "Hello Bob, your order 7 is on its way",
        "footer": "Thanks",
        "buttons": [
            {"type": "QUICK_REPLY", "text": "Yes"},
            {"type": "URL", "text": "Track", "url": "https://example.com/{{1}}"},
            {"type": "PHONE_NUMBER", "text": "Call", "phone_number": "+15550001111"},
        ],
    }


def test_examples_stand_in_for_variables() -> None:
    assert preview(POSITIONAL).body == "Hello Anna, your order 1001 is on its way"
    named = approved([NAMED_SALE, NAMED], parameter_format="named")
    assert preview(named).body == "Hello Anna, your order 1001 is on its way"
    assert preview(named).header == PreviewHeader("text", "Our Summer sale")
    assert preview(named, {"first_name": "Bob", "order": "7"}, "Winter").header == PreviewHeader(
        "text", "Our Winter sale"
    )
    assert preview(approved([PICTURE, BODY])).header == PreviewHeader("image")


@pytest.mark.parametrize("variables", [[], ["a"], ["a", "b", "c"], {"first_name": "a"}])
def test_a_preview_wants_all_variables_or_none(variables: Any) -> None:
    for template in (POSITIONAL, BY_NAME):
        with pytest.raises(Invalid) as refused:
            preview(template, variables)
        assert refused.value.code == "template_variables_mismatch"


@for_each(
    ("template", "given_", "field"),
    [
        (POSITIONAL, (["a", "b\tc"],), "variables[1]"),
        (BY_NAME, ({"first_name": "a\nb", "order": "7"},), "variables.first_name"),
        (approved([SALE, FILLED]), (["a", "b"], "c     d"), "header"),
    ],
)
def test_a_preview_refuses_values_that_the_network_refuses(template: Template, given_: Any, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        preview(template, *given_)
    assert [one.field for one in refused.value.fields] == [field]


def test_a_value_that_looks_like_a_variable_is_left_alone() -> None:
    assert preview(POSITIONAL, ["{{2}}", "{{1}}"]).body == "Hello {{2}}, your order {{1}} is on its way"
