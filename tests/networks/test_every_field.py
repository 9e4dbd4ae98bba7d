"""Every text of every type has its limit: taken by us and by the sandbox at it, refused by each on its own beyond it.

The sandbox is asked what it thinks of a text that we would refuse: so a limit that we forgot on one type shows here.
"""

import copy
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.model.errors import Invalid
from gatepost.model.limits import limit, maximum
from gatepost.networks.base import Outgoing, QuotedRef
from gatepost.networks.cloud.compose import request_body
from gatepost.networks.kinds import CLOUD
from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.messages import Send
from gatepost_sandbox.messages.envelope import read_payload
from tests.for_each import for_each
from tests.model.sends import FULLEST, MEDIA, PHONE, check
from tests.model.test_content import Path, get, leaves, put, shown

# Which limit each place has; a place ends with one of these names, the longest that fits.
LIMIT_OF = {
    "text": {"body": "text.body"},
    "image": {"caption": "media.caption", "link": "media.link"},
    "video": {"caption": "media.caption"},
    "document": {"caption": "media.caption", "filename": "media.filename"},
    "sticker": {"link": "media.link"},
    "location": {"name": "location.name", "address": "location.address"},
    "contacts": {
        **dict.fromkeys(
            ("formatted_name", "first_name", "last_name", "middle_name", "prefix", "suffix"), "contacts.name"
        ),
        **dict.fromkeys(("phone", "type", "wa_id", "email", "url", "street", "city", "state", "zip"), "contacts.text"),
        **dict.fromkeys(("country", "country_code", "company", "department", "title"), "contacts.text"),
    },
    "buttons": {"body": "interactive.body", "id": "buttons.id", "title": "buttons.title", "filename": "media.filename"},
    "list": {
        "body": "list.body",
        "button": "list.button",
        "title": "list.section_title",
        "rows[0].title": "list.row_title",
        "id": "list.row_id",
        "description": "list.row_description",
        "text": "interactive.header",
    },
    "cta_url": {"body": "interactive.body", "cta.text": "cta_url.text", "url": "cta_url.url", "link": "media.link"},
    "product": {
        "body": "interactive.body",
        "catalog_id": "product.catalog_id",
        "retailer_id": "product.retailer_id",
    },
    "product_list": {
        "body": "interactive.body",
        "text": "interactive.header",
        "catalog_id": "product.catalog_id",
        "title": "product_list.section_title",
        "]": "product.retailer_id",
    },
    "catalog": {"body": "interactive.body", "thumbnail": "product.retailer_id"},
    "template": {
        "name": "template.name",
        "first_name": "template.variable",
        "filename": "media.filename",
        "payload": "template.payload",
        "text": "template.url",
        "code": "template.copy_code",
        "flow_token": "template.flow_token",
    },
    "poll": {"question": "poll.question", "]": "poll.option"},
}
FOOTER = {"footer": "interactive.footer"}
# Texts with a form of their own, which are tried where that form is.
OF_A_FORM = ("media.id", "header.type", "language", "message_id", "emoji", "birthday")


def limit_of(type_: str, path: Path) -> str:
    place = shown(path)
    known = {**LIMIT_OF[type_], **FOOTER}
    return known[max((end for end in known if place.endswith(end)), key=len)]


PLACES = [
    (type_, path)
    for type_, fields in FULLEST.items()
    for path in leaves(fields)
    if isinstance(get(fields, path), str) and not shown(path).endswith(OF_A_FORM)
]
SENT = [(type_, path) for type_, path in PLACES if type_ in CLOUD.capabilities.types]


def sized(type_: str, path: Path, length: int) -> dict[str, Any]:
    """The fullest message of a type with a text of this length at this place."""
    is_address = shown(path).endswith(("link", "url"))
    return put(FULLEST[type_], path, "https://example.com/".ljust(length, "x") if is_address else "x" * length)


def at_the_sandbox(type_: str, content: dict[str, Any]) -> Send | Refusal:
    """What the network says of a content, however it came to be."""
    message = Outgoing(
        UUID(int=1), 1, PHONE, type_, msgspec.json.encode(content).decode(), target=QuotedRef("wamid.1", from_me=False)
    )
    answer = read_payload(msgspec.json.encode(request_body(msgspec.structs.replace(message, media={MEDIA["id"]: "1"}))))
    assert isinstance(answer, Send | Refusal)
    return answer


def names(places: list[tuple[str, Path]]) -> list[str]:
    return [f"{type_}:{shown(path)}" for type_, path in places]


@for_each(("type_", "path"), PLACES)
def test_we_take_it_under_and_at_its_limit_and_no_further(type_: str, path: Path) -> None:
    longest = maximum(limit_of(type_, path))
    for length in (longest - 1, longest):
        check(type_, sized(type_, path, length))
    with pytest.raises(Invalid) as refused:
        check(type_, sized(type_, path, longest + 1))
    assert refused.value.fields[0].field == shown(path)


@for_each(("type_", "path"), SENT)
def test_the_network_accepts_the_longest_value_that_we_accept(type_: str, path: Path) -> None:
    name = limit_of(type_, path)
    longest = check(type_, sized(type_, path, maximum(name)))
    taken = at_the_sandbox(type_, msgspec.json.decode(longest.content))
    assert isinstance(taken, Send), taken
    if not limit(name).ours and type_ != "template":  # what a template holds is told once it is looked up
        beyond = sized(type_, path, maximum(name) + 1)
        assert isinstance(at_the_sandbox(type_, copy.deepcopy(beyond)), Refusal)


def test_every_type_with_a_text_is_here() -> None:
    assert {type_ for type_, _ in PLACES} | {"audio", "reaction"} == set(FULLEST)
