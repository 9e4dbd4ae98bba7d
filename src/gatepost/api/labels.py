"""Labels: list, make, look, change, delete; and on conversations and contacts."""

from typing import Any

import msgspec
from litestar import Request, Response, delete, get, patch, post, put
from litestar.params import FromPath

from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.idempotency import create_once
from gatepost.api.json_body import answer, envelope, read_body
from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.event import ChannelRef
from gatepost.services import labels as desk
from gatepost.store.idempotency import IdempotentRequest
from gatepost.store.labels import CONTACT, CONVERSATION, LabelRow
from gatepost.store.labels import list_labels as read_labels

_PATH = "/api/v1/labels"
_ONE = _PATH + "/{label_id:str}"
_ON_CONVERSATION = "/api/v1/conversations/{conversation_id:str}/labels/{label_id:str}"
_ON_CONTACT = "/api/v1/contacts/{contact_id:str}/labels/{label_id:str}"
_create = msgspec.json.Decoder(desk.NewLabel)
_change = msgspec.json.Decoder(desk.LabelChange)


@get(_PATH, opt={"scope": "read"}, summary="List labels")
async def list_labels(gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """All labels of the channel, by name."""
    found = await read_labels(gateway.db, caller.channel_id)
    return answer([desk.show_label(label) for label in found], paging=None)


@post(_PATH, opt={"scope": "manage"}, status_code=201, summary="Create a label")
async def create_label(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Makes a label; without a colour, it gets one of the palette."""
    new, body = await read_body(request, _create)

    async def make(once: IdempotentRequest[LabelRow]) -> LabelRow:
        made = await desk.create_label(_desk(gateway, caller), new, once)
        gateway.wake(caller.channel_id)
        return made

    return await create_once(request, gateway, caller, body, make, _made)


@get(_ONE, opt={"scope": "read"}, summary="Get a label")
async def get_label(label_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """One label."""
    return answer(desk.show_label(await desk.access_label(gateway.db, caller.channel_id, label_id)))


@patch(_ONE, opt={"scope": "manage"}, summary="Change a label")
async def change_label(
    label_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Renames or recolours a label."""
    wishes, _ = await read_body(request, _change)
    changed = await desk.change_label(_desk(gateway, caller), label_id, wishes)
    gateway.wake(caller.channel_id)
    return answer(desk.show_label(changed), "Label changed")


@delete(_ONE, opt={"scope": "manage"}, status_code=200, summary="Delete a label")
async def delete_label(label_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Takes a label off everything, and away."""
    await desk.delete_label(_desk(gateway, caller), label_id)
    gateway.wake(caller.channel_id)
    return answer(None, "Label deleted")


@put(_ON_CONVERSATION, opt={"scope": "manage"}, status_code=200, summary="Label a conversation")
async def label_conversation(
    conversation_id: FromPath[str], label_id: FromPath[str], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Puts a label on a conversation. It may be there already."""
    await desk.put_label(_desk(gateway, caller), CONVERSATION, conversation_id, label_id)
    gateway.wake(caller.channel_id)
    return answer(None, "The label is on the conversation")


@delete(_ON_CONVERSATION, opt={"scope": "manage"}, status_code=200, summary="Take a label off a conversation")
async def unlabel_conversation(
    conversation_id: FromPath[str], label_id: FromPath[str], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Takes a label off a conversation. It may be off already."""
    await desk.take_label(_desk(gateway, caller), CONVERSATION, conversation_id, label_id)
    gateway.wake(caller.channel_id)
    return answer(None, "The label is off the conversation")


@put(_ON_CONTACT, opt={"scope": "manage"}, status_code=200, summary="Label a contact")
async def label_contact(
    contact_id: FromPath[str], label_id: FromPath[str], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Puts a label on a contact. It may be there already."""
    await desk.put_label(_desk(gateway, caller), CONTACT, contact_id, label_id)
    gateway.wake(caller.channel_id)
    return answer(None, "The label is on the contact")


@delete(_ON_CONTACT, opt={"scope": "manage"}, status_code=200, summary="Take a label off a contact")
async def unlabel_contact(
    contact_id: FromPath[str], label_id: FromPath[str], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Takes a label off a contact. It may be off already."""
    await desk.take_label(_desk(gateway, caller), CONTACT, contact_id, label_id)
    gateway.wake(caller.channel_id)
    return answer(None, "The label is off the contact")


def _made(label: LabelRow) -> bytes:
    return envelope(desk.show_label(label), "Label created")


def _desk(gateway: ApiContext, caller: Caller) -> desk.LabelService:
    channel = ChannelRef(ids.show("ch", caller.channel_id), caller.kind, caller.phone)
    return desk.LabelService(gateway.db, channel, caller.channel_id, gateway.clock.now())
