from typing import Any

import pytest

from gatepost.networks.base import CannotCompose
from gatepost.networks.qr.compose import as_text, link_content

BUTTONS = {"body": "Ready?", "buttons": [{"id": "y", "title": "Yes"}, {"id": "n", "title": "No"}]}
LIST = {
    "body": "Which size?",
    "button": "Sizes",
    "header": {"type": "text", "text": "Pizza"},
    "footer": "Answer with a number",
    "sections": [
        {"title": "Small", "rows": [{"id": "s", "title": "Child", "description": "20 cm"}]},
        {"rows": [{"id": "l", "title": "Family"}]},
    ],
}
CTA = {"body": "Your order is on its way.", "cta": {"text": "Track it", "url": "https://example.com/1"}}


def test_buttons_are_numbered() -> None:
    assert as_text("buttons", BUTTONS) == "Ready?\n\n1. Yes\n2. No"


def test_a_list_is_counted_through_its_sections() -> None:
    assert as_text("list", LIST) == (
        "*Pizza*\n\nWhich size?\n\n*Small*\n1. Child — 20 cm\n\n2. Family\n\n_Answer with a number_"
    )


def test_a_link_button_is_its_text_and_address() -> None:
    assert as_text("cta_url", CTA) == "Your order is on its way.\n\nTrack it: https://example.com/1"


@pytest.mark.parametrize(("type_", "content"), [("buttons", BUTTONS), ("list", LIST), ("cta_url", CTA)])
def test_choices_go_as_text_only_where_that_was_asked_for(type_: str, content: dict[str, Any]) -> None:
    assert link_content(type_, {**content, "fallback": "text"}, {}) == ("text", {"body": as_text(type_, content)})
    with pytest.raises(CannotCompose, match="fallback"):
        link_content(type_, content, {})


def test_a_picture_above_choices_carries_them_as_its_caption() -> None:
    header = {"type": "document", "media": {"id": "med_1"}, "filename": "menu.pdf"}
    assert link_content("buttons", {**BUTTONS, "header": header, "fallback": "text"}, {"med_1": "h1"}) == (
        "document",
        {"media": {"handle": "h1"}, "caption": "Ready?\n\n1. Yes\n2. No", "filename": "menu.pdf"},
    )


@pytest.mark.parametrize("media", [{"id": "med_1"}, {"link": "https://example.com/a.jpg"}])
def test_files_are_named_by_their_handles(media: dict[str, str]) -> None:
    names = {"med_1": "h1", "https://example.com/a.jpg": "h1"}
    content = {"media": media, "caption": "Look"}
    assert link_content("image", content, names) == ("image", {"media": {"handle": "h1"}, "caption": "Look"})


@pytest.mark.parametrize("content", [{"media": {"id": "med_2"}}, {"media": {}}, {}])
def test_a_file_without_a_handle_cannot_go(content: dict[str, Any]) -> None:
    with pytest.raises(CannotCompose, match="not been uploaded"):
        link_content("image", content, {"med_1": "h1"})


def test_anything_else_goes_as_it_is() -> None:
    assert link_content("text", {"body": "Hi"}, {}) == ("text", {"body": "Hi"})


def test_a_reaction_leaves_our_own_id_behind() -> None:
    content = {"reaction": {"message_id": "01999C", "emoji": "👍"}}
    assert link_content("reaction", content, {}) == ("reaction", {"reaction": {"emoji": "👍"}})
