"""Every limit of the table holds at its edge: at it yes, one beyond no, at both ends."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gatepost.model.errors import Invalid
from gatepost.model.limits import FILES, format_size, limit, maximum, table
from gatepost.services.profile import ProfileChange, check_profile
from tests.docs.limits_page import limits_page
from tests.for_each import for_each

from . import templates as t
from .sends import CARD, MEDIA, NOW, SMALLEST, USE, check

DOCS = Path(__file__).parents[2] / "docs" / "reference"
Try = Callable[[int], Any]


def text(type_: str, *path: str | int) -> Try:
    """A request of that type with a text of n characters at that place."""
    return lambda n: check(type_, _put(SMALLEST[type_], path, "x" * n))


def _put(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return [_put(item, rest, new) if i == step else item for i, item in enumerate(value)]
    return (value or {}) | {step: _put((value or {}).get(step), rest, new)}


def header(n: int) -> Any:
    return check("buttons", SMALLEST["buttons"] | {"header": {"type": "text", "text": "x" * n}})


def rows(n: int) -> list[dict[str, str]]:
    return [{"id": f"r{i}", "title": f"Row {i}"} for i in range(n)]


def use(**option: Any) -> Any:
    return check("template", {"template": USE | option})


def url(length: int) -> str:
    return "https://example.com/".ljust(length, "x")[:length]


def words(count: int, variables: int = 1) -> str:
    """A text with that many words and variables."""
    pieces = ["word"] * count
    for i in range(variables):
        pieces.insert(1 + i * 2, f"{{{{{i + 1}}}}}")
    return " ".join(pieces)


def body(text_: str) -> dict[str, Any]:
    count = text_.count("{{")
    return {"type": "BODY", "text": text_} | ({"example": {"body_text": [["x"] * count]}} if count else {})


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def card(n: int, button_count: int = 1, text_: str = "A card") -> dict[str, Any]:
    row = t.buttons(*[t.REPLY | {"text": f"B{i}"} for i in range(button_count)])
    return {"components": [t.PICTURE, {"type": "BODY", "text": text_}, row]}


def emoji(length: int) -> str:
    """One emoji of so many code points: hearts joined into one."""
    hearts = "\u200d".join("❤" * ((length + 1) // 2))
    return hearts if length % 2 or not length else hearts + "\ufe0f"


def profile(**fields: Any) -> Any:
    return check_profile(ProfileChange(**fields))


TRIES: dict[str, Try] = {
    "send.client_ref": lambda n: check("text", {"body": "x", "client_ref": "x" * n}),
    "send.ttl": lambda n: check("text", {"body": "x", "ttl": n}),
    "send.send_at": lambda n: check("text", {"body": "x", "send_at": NOW + timedelta(days=n)}),
    "text.body": text("text", "body"),
    "media.caption": text("image", "caption"),
    "media.filename": text("document", "filename"),
    "media.link": lambda n: check("image", {"media": {"link": url(n)}}),
    "location.latitude": lambda n: check("location", _put(SMALLEST["location"], ("location", "latitude"), n)),
    "location.longitude": lambda n: check("location", _put(SMALLEST["location"], ("location", "longitude"), n)),
    "location.name": text("location", "location", "name"),
    "location.address": text("location", "location", "address"),
    "contacts.count": lambda n: check("contacts", {"contacts": [CARD] * n}),
    "contacts.name": text("contacts", "contacts", 0, "name", "last_name"),
    "contacts.text": text("contacts", "contacts", 0, "org", "company"),
    "contacts.entries": lambda n: check("contacts", {"contacts": [CARD | {"phones": [{"phone": "1"}] * n}]}),
    "interactive.body": text("buttons", "body"),
    "interactive.header": header,
    "interactive.footer": text("list", "footer"),
    "buttons.count": lambda n: check("buttons", {"body": "x", "buttons": rows(n)}),
    "buttons.id": text("buttons", "buttons", 0, "id"),
    "buttons.title": text("buttons", "buttons", 0, "title"),
    "list.body": text("list", "body"),
    "list.button": text("list", "button"),
    "list.sections": lambda n: check(
        "list", SMALLEST["list"] | {"sections": [{"title": "T", "rows": [row]} for row in rows(n)]}
    ),
    "list.rows": lambda n: check(
        "list",
        SMALLEST["list"]
        | {"sections": [{"title": "A", "rows": rows(n)[:1]}, {"title": "B", "rows": rows(n)[1:]}][: 2 if n > 1 else 1]},
    ),
    "list.section_title": text("list", "sections", 0, "title"),
    "list.row_id": text("list", "sections", 0, "rows", 0, "id"),
    "list.row_title": text("list", "sections", 0, "rows", 0, "title"),
    "list.row_description": text("list", "sections", 0, "rows", 0, "description"),
    "cta_url.text": text("cta_url", "cta", "text"),
    "cta_url.url": lambda n: check("cta_url", {"body": "x", "cta": {"text": "x", "url": url(n)}}),
    "product.catalog_id": text("product_list", "catalog_id"),
    "product.retailer_id": text("catalog", "thumbnail"),
    "product_list.products": lambda n: check(
        "product_list",
        SMALLEST["product_list"]
        | {
            "sections": [
                {"title": "A", "products": [f"p{i}" for i in range(n)][:1]},
                {"title": "B", "products": [f"p{i}" for i in range(n)][1:]},
            ][: 2 if n > 1 else 1]
        },
    ),
    "product_list.sections": lambda n: check(
        "product_list",
        SMALLEST["product_list"] | {"sections": [{"title": "A", "products": [f"p{i}"]} for i in range(n)]},
    ),
    "product_list.section_title": text("product_list", "sections", 0, "title"),
    "reaction.emoji": lambda n: check("reaction", {"reaction": {"message_id": "0" * 32, "emoji": emoji(n)}}),
    "poll.question": text("poll", "poll", "question"),
    "poll.options": lambda n: check("poll", {"poll": {"question": "?", "options": [str(i) for i in range(n)]}}),
    "poll.option": text("poll", "poll", "options", 0),
    "template.name": lambda n: (t.new([t.BODY], name="x" * n), use(name="x" * n)),
    "template.header": lambda n: t.new([{"type": "HEADER", "format": "TEXT", "text": "x" * n}, t.BODY]),
    "template.header_variables": lambda n: t.new(
        [
            {"type": "HEADER", "format": "TEXT", "text": words(9, n)}
            | ({"example": {"header_text": ["x"] * n}} if n else {}),
            t.BODY,
        ]
    ),
    "template.body": lambda n: t.new([body("x" * n)]),
    "template.offer_body": lambda n: t.new([t.OFFER, body("x" * n), t.buttons(t.COPY)]),
    "template.card_body": lambda n: t.new(t.carousel(*[card(2, text_="x" * n)] * 2)),
    "template.footer": lambda n: t.new([t.BODY, {"type": "FOOTER", "text": "x" * n}]),
    "template.variable_name": lambda n: use(variables={"x" * n: "Anna"}),
    "template.words_per_variable": lambda n: t.new([body(words(n * 3 + 1, 3))]),
    "template.variable": lambda n: use(variables=["x" * n]),
    "template.header_value": lambda n: use(header="x" * n),
    "template.buttons": lambda n: (
        t.new([t.BODY, t.buttons(*[t.REPLY] * n)]),
        use(buttons=[{"index": i, "payload": "x"} for i in range(n)]),
    ),
    "template.quick_replies": lambda n: t.new([t.BODY, t.buttons(*[t.REPLY] * n)]) if n else None,
    "template.urls": lambda n: t.new([t.BODY, t.buttons(t.REPLY, *[t.URL] * n)]),
    "template.phones": lambda n: t.new([t.BODY, t.buttons(t.REPLY, *[t.PHONE] * n)]),
    "template.copy_codes": lambda n: t.new([t.BODY, t.buttons(t.REPLY, *[t.COPY] * n)]),
    "template.button_text": lambda n: t.new([t.BODY, t.buttons(t.REPLY | {"text": "x" * n})]),
    "template.url": lambda n: t.new([t.BODY, t.buttons({"type": "URL", "text": "x", "url": url(n)})]),
    "template.phone": lambda n: t.new([t.BODY, t.buttons(t.PHONE | {"phone_number": "1" * n})]),
    "template.copy_code": lambda n: (
        t.new([t.BODY, t.buttons(t.COPY | {"example": "x" * n})]),
        use(buttons=[{"index": 0, "code": "x" * n}]),
    ),
    "template.payload": lambda n: use(buttons=[{"index": 0, "payload": "x" * n}]),
    "template.flow_token": lambda n: use(buttons=[{"index": 0, "flow_token": "x" * n}]),
    "template.offer_text": lambda n: t.new(
        [{"type": "LIMITED_TIME_OFFER", "limited_time_offer": {"text": "x" * n}}, t.BODY, t.buttons(t.COPY)]
    ),
    "template.code_expiration": lambda n: t.new(
        [*t.CODE, {"type": "FOOTER", "code_expiration_minutes": n}], "AUTHENTICATION"
    ),
    "template.cards": lambda n: t.new(t.carousel(*[t.CARD] * n)),
    "template.card_buttons": lambda n: t.new(t.carousel(*[card(2, n)] * 2)),
    "template.ttl_authentication": lambda n: t.new(t.CODE, "AUTHENTICATION", message_send_ttl_seconds=n),
    "template.ttl_utility": lambda n: t.new([t.BODY], "UTILITY", message_send_ttl_seconds=n),
    "template.ttl_marketing": lambda n: t.new([t.BODY], message_send_ttl_seconds=n),
    "profile.about": lambda n: profile(about="x" * n),
    "profile.address": lambda n: profile(address="x" * n),
    "profile.description": lambda n: profile(description="x" * n),
    "profile.email": lambda n: profile(email="@example.com".rjust(n, "x")),
    "profile.websites": lambda n: profile(websites=["https://example.com"] * n),
    "profile.website": lambda n: profile(websites=[url(n)]),
    "profile.vertical": lambda n: profile(vertical="X" * n),
    "profile.picture": lambda n: profile(profile_picture_handle="x" * n),
    "template.depth": lambda n: use(components=[{"type": "body", "x": nested(n - 2)}]),
}
PATTERNS: dict[str, tuple[Callable[[str], Any], list[str], list[str]]] = {
    "template.name": (lambda s: t.new([t.BODY], name=s), ["a", "order_2", "_"], ["Order", "a b", "a-b", "é", "a\n"]),
    "template.language": (
        lambda s: (t.new([t.BODY], language=s), use(language=s)),
        ["en", "fil", "pt_BR"],
        ["", "e", "EN", "en-US", "en_us", "english", "en_USA"],
    ),
    "template.variable_name": (
        lambda s: use(variables={s: "x"}),
        ["a", "first_name", "line2"],
        ["A", "2a", "a b", "a-b", "a#", "$", "%", "1"],
    ),
    "template.phone": (
        lambda s: t.new([t.BODY, t.buttons(t.PHONE | {"phone_number": s})]),
        ["+1555", "1555"],
        ["+", "1 555", "1+5", "x"],
    ),
    "profile.vertical": (lambda s: profile(vertical=s), ["RETAIL", "NON_PROFIT"], ["retail", "A B", "A1"]),
    "contacts.birthday": (
        lambda s: check("contacts", {"contacts": [CARD | {"birthday": s}]}),
        ["1990-01-31"],
        ["1990-13-01", "1990-1-1", "31.01.1990", "1990-01-32", "1990-01-31T00:00"],
    ),
}
NUMBERS = {name for name, row in table().items() if row.min is not None or row.max is not None}


def test_every_limit_is_tried() -> None:
    assert set(TRIES) == NUMBERS
    assert set(PATTERNS) == {name for name, row in table().items() if row.pattern}
    assert set(table()) == set(TRIES) | set(PATTERNS)


@for_each("name", sorted(TRIES))
def test_each_limit_holds_at_its_edges(name: str) -> None:
    row, attempt = limit(name), TRIES[name]
    if row.max is not None:
        attempt(row.max)
        attempt(max(row.max - 1, row.min or 0))
        with pytest.raises(Invalid) as refused:
            attempt(row.max + 1)
        assert refused.value.code == "invalid_field"
    if row.min is not None:
        attempt(row.min if name not in URLS else len("https://example.com"))
        if row.min or name.startswith("location"):
            with pytest.raises(Invalid):
                attempt(row.min - 1)


URLS = {
    "media.link",
    "cta_url.url",
    "template.url",
    "profile.website",
}  # the shortest address is longer than one letter


@for_each("name", sorted(PATTERNS))
def test_each_form_is_kept(name: str) -> None:
    attempt, good, bad = PATTERNS[name]
    for value in good:
        attempt(value)
    for value in bad:
        with pytest.raises(Invalid):
            attempt(value)


def test_a_refusal_says_what_is_allowed_and_what_was_given() -> None:
    with pytest.raises(Invalid, match=r"^buttons\[0\]\.title: may have 1 to 20 characters, but has 21$"):
        check("buttons", {"body": "x", "buttons": [{"id": "a", "title": "x" * 21}]})
    with pytest.raises(Invalid, match=r"^sections: may have 1 to 10 rows in all sections in total, but has 11$"):
        TRIES["list.rows"](11)
    with pytest.raises(Invalid, match=r"^caption: is empty; it must have 1 to 1,024 characters$"):
        check("image", {"media": MEDIA, "caption": "  "})


def test_characters_are_counted_not_bytes() -> None:
    check("image", {"media": MEDIA, "caption": "😀" * maximum("media.caption")})


def test_a_limit_without_an_upper_end_has_none_to_give() -> None:
    with pytest.raises(LookupError):
        maximum("template.words_per_variable")


def test_the_page_is_up_to_date() -> None:
    assert (DOCS / "limits.md").read_text() == limits_page()


def test_the_page_names_every_limit() -> None:
    page = limits_page()
    for name, row in table().items():
        assert f"| `{name}` |" in page
        assert row.note in page
    for type_, files in FILES.items():
        assert f"| `{type_}` | {', '.join(files.types)} | {format_size(files.max)}" in page


def test_rows_of_the_table_make_sense() -> None:
    for name, row in table().items():
        assert row.note.endswith("."), name
        assert row.min is None or row.max is None or row.min <= row.max, name
