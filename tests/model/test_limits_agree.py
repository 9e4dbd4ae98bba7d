"""Our table of limits and the sandbox's own: written apart, so that each can catch a mistake of the other."""

from typing import Any

from gatepost.model.limits import FILES, limit, table
from gatepost_sandbox import media
from gatepost_sandbox.graph import profile
from gatepost_sandbox.messages.limits import LIMITS
from gatepost_sandbox.templates import buttons, components, draft, special_types
from tests.for_each import for_each

# The sandbox's name of a limit → ours. What is counted with a lower end of its own is compared there as well.
MESSAGES = {
    "text.body": "text.body",
    "image.caption": "media.caption",
    "video.caption": "media.caption",
    "document.caption": "media.caption",
    "contacts": "contacts.count",
    "interactive.header.text": "interactive.header",
    "interactive.footer": "interactive.footer",
    "interactive.button.body": "interactive.body",
    "interactive.button.title": "buttons.title",
    "interactive.button.id": "buttons.id",
    "interactive.buttons": "buttons.count",
    "interactive.list.body": "list.body",
    "interactive.list.button": "list.button",
    "interactive.list.sections": "list.sections",
    "interactive.list.rows": "list.rows",
    "interactive.list.section.title": "list.section_title",
    "interactive.list.row.id": "list.row_id",
    "interactive.list.row.title": "list.row_title",
    "interactive.list.row.description": "list.row_description",
    "interactive.cta_url.body": "interactive.body",
    "interactive.cta_url.display_text": "cta_url.text",
    "interactive.product.body": "interactive.body",
    "interactive.product_list.body": "interactive.body",
    "interactive.product_list.products": "product_list.products",
    "interactive.product_list.sections": "product_list.sections",
    "interactive.product_list.section.title": "product_list.section_title",
    "interactive.catalog_message.body": "interactive.body",
    "template.name": "template.name",
    "template.header.text": "template.header",
    "template.body": "template.body",
    "template.body.limited_time_offer": "template.offer_body",
    "template.body.card": "template.card_body",
    "template.footer": "template.footer",
    "template.button.text": "template.button_text",
    "template.button.url": "template.url",
    "template.button.payload": "template.payload",
    "template.button.copy_code": "template.copy_code",
    "template.button.phone_number": "template.phone",
    "template.buttons": "template.buttons",
    "template.limited_time_offer.text": "template.offer_text",
}
# What the sandbox knows of messages that the gateway does not send, or does not write by hand.
THEIRS_ALONE = {
    "biz_opaque_callback_data",
    "user_id",
    "template.mpm.products",
    "template.mpm.sections",
    "template.mpm.section.title",
}
THEIR_TYPES = (
    "interactive.flow.",
    "interactive.location_request_message.",
    "interactive.address_message.",
    "interactive.carousel.",
    "interactive.voice_call.",
    "interactive.call_permission_request.",
    "interactive.request_contact_info.",
)
# What the sandbox checks when a template is made: the upper end, and the lower one where it has one.
MAKING: dict[str, tuple[int | None, int]] = {
    "template.name": (None, draft.NAME_MAX),
    "template.header": (None, components.HEADER_MAX),
    "template.body": (None, components.BODY_MAX),
    "template.footer": (None, components.FOOTER_MAX),
    "template.offer_body": (None, special_types.OFFER_BODY_MAX),
    "template.card_body": (None, special_types.CARD_BODY_MAX),
    "template.offer_text": (None, special_types.OFFER_TEXT_MAX),
    "template.cards": (special_types.CARDS_MIN, special_types.CARDS_MAX),
    "template.code_expiration": (special_types.EXPIRY_MIN, special_types.EXPIRY_MAX),
    "template.button_text": (None, buttons.TEXT_MAX),
    "template.url": (None, buttons.URL_MAX),
    "template.phone": (None, buttons.PHONE_MAX),
    "template.copy_code": (None, buttons.CODE_MAX),
    "template.buttons": (None, buttons.IN_ALL),
    "template.quick_replies": (None, buttons.MOST["QUICK_REPLY"]),
    "template.urls": (None, buttons.MOST["URL"]),
    "template.phones": (None, buttons.MOST["PHONE_NUMBER"]),
    "template.copy_codes": (None, buttons.MOST["COPY_CODE"]),
    "template.ttl_authentication": draft._TTL["AUTHENTICATION"],
    "template.ttl_utility": draft._TTL["UTILITY"],
    "template.ttl_marketing": draft._TTL["MARKETING"],
}
PROFILE: dict[str, tuple[int | None, int]] = {
    **{f"profile.{name}": ends for name, ends in profile.LENGTHS.items()},
    "profile.websites": (None, profile.WEBSITES),
    "profile.website": (None, profile.WEBSITE_MAX),
}
# Limits of the network that the sandbox writes into its checks, where no test can read them.
WITHIN = {
    "location.latitude",
    "location.longitude",
    "contacts.birthday",
    "template.language",
    "template.header_value",
    "template.header_variables",
}


@for_each("theirs", sorted(MESSAGES))
def test_limits_of_messages_agree(theirs: str) -> None:
    assert limit(MESSAGES[theirs]).max == LIMITS[theirs]


@for_each("ours", sorted(MAKING | PROFILE))
def test_limits_of_new_templates_and_profiles_agree(ours: str) -> None:
    least, most = (MAKING | PROFILE)[ours]
    row = limit(ours)
    assert row.max == most
    assert not least or row.min == least


def test_each_of_theirs_is_compared_or_theirs_alone() -> None:
    alone = {name for name in LIMITS if name.startswith(THEIR_TYPES) or name in THEIRS_ALONE}
    sizes = {name for name in LIMITS if name.startswith("media.")}
    assert set(LIMITS) == set(MESSAGES) | alone | sizes
    assert set(LIMITS) >= THEIRS_ALONE


def test_each_of_ours_is_compared_or_ours_alone() -> None:
    own = {name for name, row in table().items() if row.ours}
    compared = set(MESSAGES.values()) | set(MAKING) | set(PROFILE) | WITHIN
    assert set(table()) == own | compared
    assert own.isdisjoint(compared)


def test_files_agree() -> None:
    assert {f"media.{type_}.bytes": row.animated or row.max for type_, row in FILES.items()} == {
        name: size for name, size in LIMITS.items() if name.startswith("media.")
    }
    ours: dict[str, Any] = {mime: row.animated or row.max for row in FILES.values() for mime in row.types}
    assert ours == media.MAX_BY_TYPE
    assert (FILES["sticker"].max, FILES["sticker"].animated) == (media.STATIC_STICKER_MAX, media.ANIMATED_STICKER_MAX)
