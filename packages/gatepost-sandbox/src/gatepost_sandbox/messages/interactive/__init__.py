"""Interactive messages: header, body and footer by the rules of each type, then its action."""

from collections.abc import Callable
from typing import Any

import msgspec

from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.messages.fields import Refused, as_object, may_text, need_object, need_text, refuse
from gatepost_sandbox.messages.interactive.carousel import check_carousel
from gatepost_sandbox.messages.interactive.choices import check_buttons, check_cta_url, check_list
from gatepost_sandbox.messages.interactive.products import check_catalog, check_product, check_product_list
from gatepost_sandbox.messages.interactive.requests import (
    check_address,
    check_any_action,
    check_flow,
    check_location_request,
)
from gatepost_sandbox.messages.media import MediaRef, read_ref

RICH = ("text", "image", "video", "document")
TEXT_ONLY = ("text",)


class Form(msgspec.Struct, frozen=True):
    """The rules of one type of interactive message."""

    action: Callable[[dict[str, Any]], tuple[MediaRef, ...]]
    headers: tuple[str, ...] = ()
    header_required: bool = False
    body_required: bool = True
    footer: bool = True


FORMS: dict[str, Form] = {
    "button": Form(check_buttons, headers=RICH),
    "list": Form(check_list, headers=TEXT_ONLY),
    "cta_url": Form(check_cta_url, headers=RICH),
    "product": Form(check_product, body_required=False),
    "product_list": Form(check_product_list, headers=TEXT_ONLY, header_required=True),
    "catalog_message": Form(check_catalog),
    "flow": Form(check_flow, headers=RICH),
    "location_request_message": Form(check_location_request, footer=False),
    "address_message": Form(check_address, headers=RICH),
    "carousel": Form(check_carousel, footer=False),
    "voice_call": Form(check_any_action, headers=RICH),
    "call_permission_request": Form(check_any_action, headers=RICH, body_required=False),
    "request_contact_info": Form(check_any_action, headers=RICH, body_required=False),
}


def check_interactive(content: Any) -> tuple[MediaRef, ...]:
    """Check the fields of an interactive message."""
    holder = as_object(content, "interactive")
    sort = need_text(holder, "type", "interactive")
    form = FORMS.get(sort)
    if form is None:
        raise Refused(Refusal(131009, details=f"Interactive type {sort[:64]!r} is not supported."))
    refs = check_header(holder, form)
    check_body(holder, sort, form)
    if holder.get("footer") is not None:
        if not form.footer:
            refuse("interactive.footer", f"is not allowed with type {sort}")
        footer = as_object(holder["footer"], "interactive.footer")
        need_text(footer, "text", "interactive.footer", "interactive.footer")
    return refs + form.action(need_object(holder, "action", "interactive"))


def check_header(holder: dict[str, Any], form: Form) -> tuple[MediaRef, ...]:
    """Check a line of text or a file above the body."""
    if holder.get("header") is None and not form.header_required:
        return ()
    header = need_object(holder, "header", "interactive")
    kind = need_text(header, "type", "interactive.header")
    if kind not in form.headers:
        refuse("interactive.header.type", f"must be one of {', '.join(form.headers) or 'none: leave the header out'}")
    if kind == "text":
        need_text(header, "text", "interactive.header", "interactive.header.text")
        return ()
    media = need_object(header, kind, "interactive.header")
    may_text(media, "filename", f"interactive.header.{kind}")
    return (read_ref(kind, media, f"interactive.header.{kind}"),)


def check_body(holder: dict[str, Any], sort: str, form: Form) -> None:
    """Check the body text."""
    if holder.get("body") is None and not form.body_required:
        return
    body = need_object(holder, "body", "interactive")
    need_text(body, "text", "interactive.body", f"interactive.{sort}.body")
