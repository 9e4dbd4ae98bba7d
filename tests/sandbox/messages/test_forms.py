"""The form of every kind of message: what is taken, and the code of what is not."""

from collections.abc import Callable
from typing import Any

from gatepost_sandbox.messages import Send
from gatepost_sandbox.messages.interactive import FORMS
from gatepost_sandbox.messages.kinds import KINDS
from tests.for_each import for_each

from .payloads import INTERACTIVE, LINK, PLAIN, bent, button, card, code_of, envelope, form, plain, read, row


@for_each("kind", PLAIN)
def test_every_kind_is_taken(kind: str) -> None:
    sent = read(envelope(kind, plain(kind)))
    assert isinstance(sent, Send)
    assert (sent.type, sent.content) == (kind, PLAIN[kind])


@for_each("sort", INTERACTIVE)
def test_every_sort_of_interactive_is_taken(sort: str) -> None:
    assert code_of(envelope("interactive", form(sort))) == 0


def test_every_kind_is_tried() -> None:
    assert {*PLAIN, "interactive"} == set(KINDS)
    assert set(INTERACTIVE) == set(FORMS)


def sets(**fields: Any) -> Callable[[Any], Any]:
    return lambda content: content.update(fields)


def lacks(*path: str | int) -> Callable[[Any], Any]:
    def bend(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        del content[path[-1]]

    return bend


def puts(*path: Any) -> Callable[[Any], Any]:
    def bend(content: Any) -> None:
        *steps, name, value = path
        for step in steps:
            content = content[step]
        content[name] = value

    return bend


WRONG_PLAIN: dict[str, tuple[str, Callable[[Any], Any], int]] = {
    "image without file": ("image", lacks("link"), 131008),
    "image with id and link": ("image", sets(id="1"), 131009),
    "image id not a string": ("image", lambda content: (content.pop("link"), content.update(id=5)), 100),
    "link to a file here": ("image", sets(link="file:///etc/passwd"), 131009),
    "link without host": ("video", sets(link="https://"), 131009),
    "link with a space": ("video", sets(link="https://127.0.0.1/a b"), 131009),
    "caption of a sticker": ("sticker", sets(caption="hi"), 100),
    "caption of audio": ("audio", sets(caption="hi"), 100),
    "caption not a string": ("image", sets(caption=1), 100),
    "voice not a boolean": ("audio", sets(voice="yes"), 131009),
    "filename of an image": ("image", sets(filename="a.png"), 100),
    "filename not a string": ("document", sets(filename=1), 100),
    "no latitude": ("location", lacks("latitude"), 131008),
    "latitude too far north": ("location", sets(latitude=90.01), 131009),
    "longitude too far east": ("location", sets(longitude="180.5"), 131009),
    "latitude not a number": ("location", sets(latitude="north"), 131009),
    "latitude not finite": ("location", sets(latitude="nan"), 131009),
    "location with more": ("location", sets(height=3), 100),
    "no contacts": ("contacts", lambda content: content.clear(), 131009),
    "contact without name": ("contacts", lacks(0, "name"), 131008),
    "contact without formatted name": ("contacts", lacks(0, "name", "formatted_name"), 131008),
    "contact with more": ("contacts", puts(0, "age", 5), 100),
    "phones not an array": ("contacts", puts(0, "phones", {}), 100),
    "email missing": ("contacts", lacks(0, "emails", 0, "email"), 131008),
    "birthday written otherwise": ("contacts", puts(0, "birthday", "31.12.1990"), 131009),
    "reaction without message": ("reaction", lacks("message_id"), 131008),
    "reaction without emoji": ("reaction", lacks("emoji"), 131008),
    "reaction with a word": ("reaction", sets(emoji="ok"), 131009),
    "reaction with a number": ("reaction", sets(emoji=1), 100),
    "template without name": ("template", lacks("name"), 131008),
    "template without language": ("template", lacks("language"), 131008),
    "template without language code": ("template", lacks("language", "code"), 131008),
    "template with strange part": ("template", sets(components=[{"type": "belly"}]), 131009),
    "template components not an array": ("template", sets(components={}), 100),
    "template button without index": ("template", sets(components=[{"type": "button", "sub_type": "url"}]), 131009),
    "template button far away": (
        "template",
        sets(components=[{"type": "button", "sub_type": "url", "index": "9" * 5000}]),
        131009,
    ),
    "template button of no sort": ("template", sets(components=[{"type": "button", "index": 0}]), 131008),
    "template parameter of no type": ("template", sets(components=[{"type": "body", "parameters": [{}]}]), 131008),
    "template parameter without text": (
        "template",
        sets(components=[{"type": "body", "parameters": [{"type": "text"}]}]),
        131008,
    ),
    "template parameter of strange type": (
        "template",
        sets(components=[{"type": "body", "parameters": [{"type": "smell"}]}]),
        132012,
    ),
    "template header without file": (
        "template",
        sets(components=[{"type": "header", "parameters": [{"type": "image", "image": {}}]}]),
        131008,
    ),
}


@for_each(("kind", "bend", "code"), WRONG_PLAIN.values())
def test_what_is_wrong_with_plain_kinds(kind: str, bend: Callable[[Any], Any], code: int) -> None:
    assert code_of(envelope(kind, bent(PLAIN[kind], bend))) == code


WRONG_INTERACTIVE: dict[str, tuple[str, Callable[[Any], Any], int]] = {
    "no type": ("button", lacks("type"), 131008),
    "a strange type": ("button", sets(type="hologram"), 131009),
    "no body": ("button", lacks("body"), 131008),
    "an empty body": ("button", sets(body={"text": " "}), 131009),
    "no action": ("button", lacks("action"), 131008),
    "no buttons": ("button", puts("action", "buttons", []), 131009),
    "a button of another type": ("button", puts("action", "buttons", 0, "type", "url"), 131009),
    "a button without title": ("button", lacks("action", "buttons", 0, "reply", "title"), 131008),
    "two buttons with one title": (
        "button",
        puts("action", "buttons", [button(0), {"type": "reply", "reply": {"id": "other", "title": "Button 0"}}]),
        131009,
    ),
    "two buttons with one id": (
        "button",
        puts("action", "buttons", [button(0), {"type": "reply", "reply": {"id": "b0", "title": "Other"}}]),
        131009,
    ),
    "a list with a picture above": ("list", sets(header={"type": "image", "image": {"link": LINK}}), 131009),
    "two sections, one without title": (
        "list",
        puts("action", "sections", [{"title": "One", "rows": [row(0)]}, {"rows": [row(1)]}]),
        131008,
    ),
    "two rows with one id": ("list", puts("action", "sections", 0, "rows", [row(0), row(0)]), 131009),
    "a section without rows": ("list", puts("action", "sections", 0, "rows", []), 131009),
    "a link to nowhere": ("cta_url", puts("action", "parameters", "url", "nowhere"), 131009),
    "a link of another name": ("cta_url", puts("action", "name", "open"), 131009),
    "a product with a header": ("product", sets(header={"type": "text", "text": "x"}), 131009),
    "a product of no catalog": ("product", lacks("action", "catalog_id"), 131008),
    "products without header": ("product_list", lacks("header"), 131008),
    "a section of products without title": ("product_list", lacks("action", "sections", 0, "title"), 131008),
    "a flow by id and by name": ("flow", puts("action", "parameters", "flow_name", "booking"), 131009),
    "a flow with empty data": (
        "flow",
        puts("action", "parameters", "flow_action_payload", {"screen": "A", "data": {}}),
        131009,
    ),
    "a flow in a strange mode": ("flow", puts("action", "parameters", "mode", "secret"), 131009),
    "an address in another country": ("address_message", puts("action", "parameters", "country", "DE"), 131009),
    "a place asked for otherwise": ("location_request_message", puts("action", "name", "where"), 131009),
    "a place asked for with a footer": ("location_request_message", sets(footer={"text": "x"}), 131009),
    "cards that skip a number": ("carousel", puts("action", "cards", 1, "card_index", 5), 131009),
    "a card without header": ("carousel", lacks("action", "cards", 0, "header"), 131008),
    "cards with unlike headers": (
        "carousel",
        puts("action", "cards", [card(0), card(1) | {"header": {"type": "video", "video": {"link": LINK}}}]),
        131009,
    ),
    "cards with unlike buttons": (
        "carousel",
        puts("action", "cards", 0, "action", {"buttons": [{"quick_reply": {"id": "1", "title": "One"}}]}),
        131009,
    ),
}


@for_each(("sort", "bend", "code"), WRONG_INTERACTIVE.values())
def test_what_is_wrong_with_interactive(sort: str, bend: Callable[[Any], Any], code: int) -> None:
    assert code_of(envelope("interactive", bent(INTERACTIVE[sort], bend))) == code


GOOD: dict[str, dict[str, Any]] = {
    "reaction taken away": envelope("reaction", {"message_id": "wamid.x", "emoji": ""}),
    "reaction with a keycap": envelope("reaction", {"message_id": "wamid.x", "emoji": "1️⃣"}),
    "latitude at the pole": envelope("location", {"latitude": -90, "longitude": 180}),
    "list of one section without title": envelope(
        "interactive", bent(INTERACTIVE["list"], lacks("action", "sections", 0, "title"))
    ),
    "document header with a name": envelope(
        "interactive", form("button") | {"header": {"type": "document", "document": {"link": LINK, "filename": "a"}}}
    ),
    "product without body": envelope("interactive", bent(INTERACTIVE["product"], lacks("body"))),
    "template with the policy of old": envelope(
        "template", plain("template") | {"language": {"code": "en_US", "policy": "deterministic"}}
    ),
    "template with an empty list": envelope("template", plain("template") | {"components": []}),
    "user id": envelope("text", plain("text"), to="US.13491208655302741918"),
}


@for_each("payload", GOOD.values())
def test_what_is_good(payload: dict[str, Any]) -> None:
    assert code_of(payload) == 0


def test_a_reaction_answers_to_nothing() -> None:
    assert code_of(envelope("reaction", plain("reaction"), context={"message_id": "wamid.y"})) == 131009


def test_files_are_found_wherever_a_message_points_at_them() -> None:
    sent = read(envelope("interactive", form("carousel")))
    assert isinstance(sent, Send)
    assert [(ref.kind, ref.link) for ref in sent.media] == [("image", LINK)] * 2
    header = {"type": "header", "parameters": [{"type": "video", "video": {"id": "77"}}]}
    sent = read(envelope("template", plain("template") | {"components": [header]}))
    assert isinstance(sent, Send)
    assert [(ref.kind, ref.id) for ref in sent.media] == [("video", "77")]
