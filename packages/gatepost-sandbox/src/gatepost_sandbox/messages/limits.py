"""Maximum lengths and counts, by the dotted name of the field.

A name ending in a plural is a count of things, one ending in `bytes` a size, any other a number of characters.
"""

from collections.abc import Mapping
from types import MappingProxyType

_KB, _MB = 1024, 1024 * 1024

LIMITS: Mapping[str, int] = MappingProxyType(
    {
        "biz_opaque_callback_data": 512,
        "text.body": 4096,
        "image.caption": 1024,
        "video.caption": 1024,
        "document.caption": 1024,
        "contacts": 257,
        "user_id": 256,
        # interactive
        "interactive.header.text": 60,
        "interactive.footer": 60,
        "interactive.button.body": 1024,
        "interactive.button.title": 20,
        "interactive.button.id": 256,
        "interactive.buttons": 3,
        "interactive.list.body": 4096,
        "interactive.list.button": 20,
        "interactive.list.sections": 10,
        "interactive.list.rows": 10,  # over all sections together
        "interactive.list.section.title": 24,
        "interactive.list.row.id": 200,
        "interactive.list.row.title": 24,
        "interactive.list.row.description": 72,
        "interactive.cta_url.body": 1024,
        "interactive.cta_url.display_text": 20,
        "interactive.product.body": 1024,
        "interactive.product_list.body": 1024,
        "interactive.product_list.products": 30,  # over all sections together
        "interactive.product_list.sections": 10,
        "interactive.product_list.section.title": 24,
        "interactive.catalog_message.body": 1024,
        "interactive.flow.body": 1024,
        "interactive.flow.cta": 20,
        "interactive.location_request_message.body": 1024,
        "interactive.address_message.body": 1024,
        "interactive.carousel.body": 1024,
        "interactive.carousel.cards": 10,
        "interactive.carousel.card.body": 160,
        "interactive.carousel.card.line_breaks": 2,
        "interactive.carousel.card.display_text": 20,
        "interactive.carousel.card.title": 20,
        "interactive.carousel.card.id": 256,
        "interactive.voice_call.body": 1024,
        "interactive.call_permission_request.body": 1024,
        "interactive.request_contact_info.body": 1024,
        # template
        "template.name": 512,
        "template.header.text": 60,
        "template.body": 1024,
        "template.body.limited_time_offer": 600,
        "template.body.card": 160,
        "template.footer": 60,
        "template.button.text": 25,
        "template.button.url": 2000,
        "template.button.payload": 256,
        "template.button.copy_code": 15,
        "template.button.phone_number": 20,
        "template.buttons": 10,
        "template.limited_time_offer.text": 16,
        "template.mpm.products": 30,
        "template.mpm.sections": 10,
        "template.mpm.section.title": 24,
        # media, by the type of message
        "media.audio.bytes": 16 * _MB,
        "media.image.bytes": 5 * _MB,
        "media.video.bytes": 16 * _MB,
        "media.document.bytes": 100 * _MB,
        "media.sticker.bytes": 500 * _KB,
    }
)

CARDS_MIN = 2  # of an interactive carousel
