"""What a template may look like: each limit at it and one over, each rule kept and broken, with its subcode."""

from typing import Any

import pytest

from tests.for_each import for_each

from .driver import Driver
from .templates import WORDS, body, buttons, create, draft, link, quick

FILE = {"header_handle": ["4::abc:def"]}


def header(text: str = "News", **more: Any) -> dict[str, Any]:
    return {"type": "HEADER", "format": "TEXT", "text": text, **more}


def footer(text: str = "Bye") -> dict[str, Any]:
    return {"type": "FOOTER", "text": text}


def media(kind: str = "IMAGE", **more: Any) -> dict[str, Any]:
    return {"type": "HEADER", "format": kind, "example": FILE, **more}


def card(text: str = "Soft and warm.", **more: Any) -> dict[str, Any]:
    return {"components": [media(**more), body(text), buttons(quick())]}


def cards(*made: dict[str, Any]) -> dict[str, Any]:
    return {"type": "CAROUSEL", "cards": list(made)}


def offer(text: str = "Ends soon", **more: Any) -> dict[str, Any]:
    return {"type": "LIMITED_TIME_OFFER", "limited_time_offer": {"text": text, **more}}


def otp(**changes: Any) -> list[dict[str, Any]]:
    button = {"type": "OTP", "otp_type": "COPY_CODE", "text": "Copy"} | changes
    return [{"type": "BODY", "add_security_recommendation": True}, buttons(button)]


def named(text: str, *names: str) -> dict[str, Any]:
    examples = [{"param_name": name, "example": "x"} for name in names]
    return {"type": "BODY", "text": text, "example": {"body_text_named_params": examples}}


def marketing(*parts: dict[str, Any]) -> dict[str, Any]:
    return draft(*parts, category="MARKETING")


def authentication(*parts: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return draft(*parts, category="AUTHENTICATION", **changes)


TAKEN = {
    "the longest name": draft(name="a" * 512),
    "small types": draft(body() | {"type": "body"}),
    "small category": draft(category="utility", parameter_format="positional"),
    "the longest body": draft(body("x" * 1024)),
    "the longest header": draft(header("x" * 60), body()),
    "a header with a variable": draft(header("About {{1}}", example={"header_text": ["x"]}), body()),
    "the longest footer": draft(body(), footer("x" * 60)),
    "media headers": draft(media("DOCUMENT"), body()),
    "a place": draft({"type": "HEADER", "format": "LOCATION"}, body()),
    "just enough words": draft(body("One {{1}} two three", "x")),
    "words without spaces": draft(body("您的订单{{1}}已经发货", "x")),
    "names": draft(named("Dear {{first_name}}, all is well", "first_name"), parameter_format="NAMED"),
    "ten quick replies": draft(body(), buttons(*(quick(str(place)) for place in range(10)))),
    "two links": draft(body(), buttons(link(), link("https://example.com/{{1}}", example=["x"]))),
    "the longest link": draft(body(), buttons(link("https://example.com/".ljust(2000, "x")))),
    "the longest label": draft(body(), buttons(quick("x" * 25))),
    "the longest phone": draft(body(), buttons({"type": "PHONE_NUMBER", "text": "Call", "phone_number": "1" * 20})),
    "the longest code": draft(body(), buttons({"type": "COPY_CODE", "example": "1" * 15})),
    "quick replies first": draft(body(), buttons(quick(), quick("No"), link())),
    "quick replies last": draft(body(), buttons(link(), quick(), quick("No"))),
    "two cards": marketing(body(), cards(card(), card("Long and wide."))),
    "ten cards": marketing(body(), cards(*(card() for _ in range(10)))),
    "the longest card": marketing(body(), cards(card("x" * 160), card())),
    "an offer": marketing(offer("x" * 16), body("x" * 600), buttons({"type": "COPY_CODE", "example": "A"})),
    "a one-time code": authentication(*otp()),
    "the longest expiry": authentication(*otp(), {"type": "FOOTER", "code_expiration_minutes": 90}),
    "a time to live": authentication(*otp(), message_send_ttl_seconds=900),
    "any time to live": draft(message_send_ttl_seconds=-1),
}


@pytest.mark.parametrize("name", TAKEN)
async def test_templates_that_are_taken(sandbox: Driver, name: str) -> None:
    reply = await create(sandbox, TAKEN[name])
    assert (reply.status, reply.json.get("status")) == (200, "PENDING"), reply.raw


REFUSED: dict[str, tuple[dict[str, Any], int | None]] = {
    "a name too long": (draft(name="a" * 513), 2388040),
    "a name with capitals": (draft(name="Parcel"), None),
    "no name": (draft(name=""), None),
    "a strange language": (draft(language="English"), None),
    "a strange category": (draft(category="NEWS"), None),
    "a strange format": (draft(parameter_format="LOOSE"), None),
    "cards that are no marketing": (draft(body(), cards(card(), card())), None),
    "no components": (draft(components=[]), None),
    "components no list": (draft(components={"type": "BODY"}), None),
    "a strange component": (draft(body(), {"type": "SIDEBAR"}), None),
    "two bodies": (draft(body(), body()), None),
    "no body": (draft(header()), 2388072),
    "an empty body": (draft(body(" ")), 2388043),
    "a body too long": (draft(body("x" * 1025)), 2388040),
    "a header too long": (draft(header("x" * 61), body()), 2388040),
    "a header with a line break": (draft(header("a\nb"), body()), 2388047),
    "a header with two variables": (
        draft(header("A {{1}} b {{2}} c", example={"header_text": ["x"]}), body()),
        2388047,
    ),
    "a header without example": (draft(header("About {{1}}"), body()), 2388043),
    "a strange header": (draft({"type": "HEADER", "format": "SMELL"}, body()), 2388047),
    "a picture without example": (draft(media(example=None), body()), 2388043),
    "a picture by link": (draft(media(example={"header_handle": ["https://x"]}), body()), 2388047),
    "a footer too long": (draft(body(), footer("x" * 61)), 2388040),
    "a footer with a variable": (draft(body(), footer("Bye {{1}}")), 2388073),
    "a variable first": (draft(body("{{1}} is on its way now", "x")), 2388299),
    "a variable last": (draft(body("It is on its way, {{1}}", "x")), 2388299),
    "variables side by side": (draft(body("It is {{1}} {{2}} on its way to you", "x", "y")), 2388072),
    "variables out of order": (draft(body("Hi {{2}} and {{1}} are on their way", "x", "y")), 2388072),
    "a variable left out": (draft(body("Hi {{1}} and {{3}} are on their way", "x", "y")), 2388072),
    "a strange variable": (draft(body("Hi {{#1}} all is well here", "x")), 2388072),
    "an open brace": (draft(body("Hi {{1}} and {{ all is well", "x")), 2388072),
    "too few words": (draft(body("One {{1}} two", "x")), 2388293),
    "no examples": (draft({"type": "BODY", "text": WORDS}), 2388043),
    "too few examples": (draft(body(WORDS, "x")), None),
    "names where places should be": (draft(named("Dear {{name}}, all is well", "name")), 2388072),
    "a name not told": (draft(named("Dear {{a}}, all is {{b}} now well here", "a"), parameter_format="NAMED"), None),
    "a name in capitals": (draft(named("Dear {{Name}}, all is well", "Name"), parameter_format="NAMED"), 2388072),
    "eleven buttons": (draft(body(), buttons(*(quick(str(place)) for place in range(11)))), None),
    "three links": (draft(body(), buttons(link(), link(), link())), None),
    "two phones": (draft(body(), buttons(*[{"type": "PHONE_NUMBER", "text": "Call", "phone_number": "1"}] * 2)), None),
    "two codes": (draft(body(), buttons(*[{"type": "COPY_CODE", "example": "1"}] * 2)), None),
    "a link between quick replies": (draft(body(), buttons(quick(), link(), quick())), None),
    "a link too long": (draft(body(), buttons(link("https://example.com/".ljust(2001, "x")))), 2388040),
    "a link with a variable inside": (draft(body(), buttons(link("https://e.com/{{1}}/a", example=["x"]))), None),
    "a link without example": (draft(body(), buttons(link("https://e.com/{{1}}"))), 2388043),
    "a label too long": (draft(body(), buttons(quick("x" * 26))), 2388040),
    "no label": (draft(body(), buttons({"type": "QUICK_REPLY"})), 2388043),
    "a phone too long": (
        draft(body(), buttons({"type": "PHONE_NUMBER", "text": "x", "phone_number": "1" * 21})),
        2388040,
    ),
    "a code too long": (draft(body(), buttons({"type": "COPY_CODE", "example": "1" * 16})), 2388040),
    "a strange button": (draft(body(), buttons({"type": "SWITCH"})), None),
    "a button whose type is a list": (draft(body(), buttons({"type": ["URL"]})), None),
    "no buttons": (draft(body(), buttons()), 2388043),
    "one card": (marketing(body(), cards(card())), None),
    "eleven cards": (marketing(body(), cards(*(card() for _ in range(11)))), None),
    "a card too long": (marketing(body(), cards(card("x" * 161), card())), 2388040),
    "cards that differ": (marketing(body(), cards(card(), card(kind="VIDEO"))), None),
    "a footer beside cards": (marketing(body(), cards(card(), card()), footer()), None),
    "an offer too long": (marketing(offer("x" * 17), body("x")), 2388040),
    "an offer's body too long": (marketing(offer(), body("x" * 601)), 2388040),
    "an offer with a footer": (marketing(offer(), body("x"), footer()), None),
    "an offer in a utility": (draft(offer(), body("x")), None),
    "a code with a text of its own": (authentication(body(), *otp()[1:]), None),
    "a code without button": (authentication(otp()[0]), 2388043),
    "a code of a strange kind": (authentication(*otp(otp_type="SHOUT")), None),
    "an expiry too long": (authentication(*otp(), {"type": "FOOTER", "code_expiration_minutes": 91}), None),
    "an expiry too short": (authentication(*otp(), {"type": "FOOTER", "code_expiration_minutes": 0}), None),
    "a life too long": (authentication(*otp(), message_send_ttl_seconds=901), None),
    "a life too short": (draft(message_send_ttl_seconds=29), None),
}


@for_each("name", REFUSED)
async def test_templates_that_are_refused(sandbox: Driver, name: str) -> None:
    payload, subcode = REFUSED[name]
    reply = await create(sandbox, payload)
    error = reply.json["error"]
    assert (reply.status, error["code"], error.get("error_subcode")) == (400, 100, subcode), reply.raw


async def test_a_refusal_says_why(sandbox: Driver) -> None:
    error = (await create(sandbox, draft(body("x" * 1025)))).json["error"]
    assert error["error_user_title"] == "Too many characters"
    assert error["error_user_msg"] == "The body must not be longer than 1024 characters."


async def test_the_network_writes_the_text_of_a_one_time_code(sandbox: Driver) -> None:
    template_id = (await create(sandbox, authentication(*otp()))).json["id"]
    [template] = [one for one in await sandbox.control("GET", "templates") if one["id"] == template_id]
    kept, made = template["components"]
    assert "{{1}}" in kept["text"]
    assert kept["add_security_recommendation"] is True
    assert made["buttons"][0]["type"] == "URL"
    assert made["buttons"][0]["url"].endswith("otp{{1}}")
