"""Sending: text, templates and files. The policy of the key decides whether a message is sent or becomes a draft."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from gatepost.mcp.answers import Answer, Arguments, ConversationId, MessageId
from gatepost.mcp.registry import SENDING, tool
from gatepost.mcp.tool_call import Call
from gatepost.mcp.tools.templates import TemplateId, TextHeader, Variables
from gatepost.model import ids
from gatepost.model.errors import invalid_field
from gatepost.model.send_request import SendRequest
from gatepost.outbound.assistant_send import send_for_assistant
from gatepost.services.conversations import access_conversation
from gatepost.services.templates import access_template

_TEXT_MAX = 4096
_ID = "cv_0199…"


class SendArguments(Arguments, frozen=True, kw_only=True):
    """To whom a message is sent, and how: the arguments of all tools that send."""

    conversation: ConversationId | None = None
    phone: Annotated[str, Meta(description="Digits, if there is no conversation.", max_length=32)] | None = None
    reply_to: MessageId | None = None
    draft: Annotated[bool, Meta(description="Let a person approve it.")] = False
    again: Annotated[bool, Meta(description="Send, although the same was just sent.")] = False


class SentMessage(Answer, frozen=True):
    """What became of a message."""

    outcome: str
    message: str | None = None
    draft: str | None = None
    status: str | None = None
    rule: str | None = None
    reason: str | None = None
    would: str | None = None
    repeated: bool = False


class SendText(SendArguments, frozen=True, kw_only=True):
    """A text."""

    text: Annotated[str, Meta(min_length=1, max_length=_TEXT_MAX)]


@tool("Send a text", SENDING, example={"conversation": _ID, "text": "It is ready."})
async def send_text(given: SendText, call: Call) -> SentMessage:
    """Send a text to a conversation. `outcome` is `sent`, `draft` (a person has to approve it) or `dry_run`. The same
    call within ten minutes sends nothing more and returns `repeated`. If the window is closed, use send_template."""
    return await _send(given, call, body=given.text)


class SendTemplate(SendArguments, frozen=True, kw_only=True):
    """A template with its values."""

    template: TemplateId
    variables: Variables | None = None
    header: TextHeader | None = None


@tool(
    "Send a template",
    SENDING,
    example={"conversation": _ID, "template": "tpl_0199…", "variables": ["Ana"]},
)
async def send_template(given: SendTemplate, call: Call) -> SentMessage:
    """Send an approved template, also when the window is closed. Answers as send_text does."""
    row = await access_template(call.db, call.channel_id, given.template)
    values = {"variables": given.variables, "header": given.header}
    content = {name: value for name, value in values.items() if value is not None}
    return await _send(given, call, type="template", template={"name": row.name, "language": row.language, **content})


class SendMedia(SendArguments, frozen=True, kw_only=True):
    """A file."""

    type: Literal["image", "video", "audio", "document", "sticker"]
    media: Annotated[str, Meta(description="med_… of a file here.", max_length=64)] | None = None
    link: Annotated[str, Meta(description="Or an https address.", max_length=2048)] | None = None
    caption: Annotated[str, Meta(max_length=1024)] | None = None
    filename: Annotated[str, Meta(max_length=240)] | None = None


@tool("Send a file", SENDING, example={"conversation": _ID, "type": "image", "link": "https://example.com/a.jpg"})
async def send_media(given: SendMedia, call: Call) -> SentMessage:
    """Send a picture, video, audio file, document or sticker by its id or link. Answers as send_text does."""
    if (given.media is None) == (given.link is None):
        raise invalid_field("media", "give either media or link")
    file = {"id": given.media} if given.media is not None else {"link": given.link}
    return await _send(given, call, type=given.type, media=file, caption=given.caption, filename=given.filename)


async def _send(given: SendArguments, call: Call, **content: Any) -> SentMessage:
    request = SendRequest(**await _recipient(given, call), reply_to=given.reply_to, **content)
    assert call.record is not None
    call.recorded = True  # from here on, whatever becomes of it
    done = await send_for_assistant(call.context.acceptor, call.caller, request, call.record, draft=given.draft)
    call.outcome = "repeated" if done.repeated else done.outcome
    return SentMessage(
        done.outcome, done.message, done.draft, done.status, done.rule, done.reason, done.would, done.repeated
    )


async def _recipient(given: SendArguments, call: Call) -> dict[str, Any]:
    """Return the field of the request that names the recipient."""
    if (given.conversation is None) == (given.phone is None):
        raise invalid_field("conversation", "give either conversation or phone")
    if given.conversation is None:
        assert given.phone is not None
        return {"phone": given.phone}
    found = await access_conversation(call.db, call.channel_id, given.conversation)
    return {"contact": ids.format_id("ct", found.conversation.contact_id)}
