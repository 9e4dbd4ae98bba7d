"""Resources: a conversation, a contact or a template by its address, with the same objects as the tools."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from gatepost.mcp.answers import Answer, LabelName, PersonView, label_names
from gatepost.mcp.outside_words import Outside, outside
from gatepost.mcp.tool_call import Call
from gatepost.mcp.tools.conversations import ReadConversation, read_conversation
from gatepost.mcp.tools.templates import TemplateItem
from gatepost.model.errors import NotFound
from gatepost.services.contacts import ContactService
from gatepost.services.templates import access_template

SCHEME = "gatepost://"
MIME_TYPE = "text/plain"  # JSON after a sentence about the words from outside
_FIELDS_MAX = 50
_Read = Callable[[str, Call], Awaitable[Any]]


class ContactView(Answer, frozen=True):
    """A contact with its custom fields."""

    person: PersonView
    conversation: str
    labels: tuple[LabelName, ...] = ()
    opted_out: bool = False
    custom: dict[str, Outside | None] = msgspec.field(default_factory=dict)


async def _conversation(id_: str, call: Call) -> Any:
    return await read_conversation(ReadConversation(id_), call)


async def _contact(id_: str, call: Call) -> ContactView:
    service = ContactService(call.db, call.caller.ref, call.channel_id, call.now)
    row = await service.access(id_)
    call.revealed.add(row.id)
    return ContactView(
        PersonView.of(row.id, row.phone, row.name),
        f"cv_{row.id.hex}",
        label_names((await service.labels([row]))[row.id]),
        row.opted_out is not None,
        {name: outside(value) for name, value in list(row.custom.items())[:_FIELDS_MAX]},
    )


async def _template(id_: str, call: Call) -> TemplateItem:
    return TemplateItem.of(await access_template(call.db, call.channel_id, id_))


_KINDS: dict[str, tuple[_Read, str]] = {
    "conversations": (_conversation, "A conversation with its newest messages"),
    "contacts": (_contact, "A contact with its labels and custom fields"),
    "templates": (_template, "A template"),
}
TEMPLATES = [
    {"uriTemplate": f"{SCHEME}{kind}/{{id}}", "name": kind, "description": title, "mimeType": MIME_TYPE}
    for kind, (_, title) in _KINDS.items()
]


async def read_resource(uri: str, call: Call) -> Any:
    """Return the object at an address, or raise NotFound."""
    kind, _, id_ = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or kind not in _KINDS:
        raise NotFound(f"There is no such resource. Addresses are {SCHEME}conversations/cv_… and similar.")
    return await _KINDS[kind][0](id_, call)
