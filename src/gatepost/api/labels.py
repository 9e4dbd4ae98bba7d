"""Labels: list, create, get, change, delete; put on conversations and contacts, and taken off."""

from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.labels import Label
from gatepost.api.idempotency import CreateOnce
from gatepost.api.responses import Created, Page
from gatepost.api.route import delete, get, patch, post, put
from gatepost.model.account import Caller
from gatepost.services import labels as service
from gatepost.services.labels import LabelChange, LabelService, NewLabel
from gatepost.store.labels import CONTACT, CONVERSATION
from gatepost.store.labels import list_labels as read_labels

_PATH = "/api/v1/labels"
_ONE = _PATH + "/{label_id}"
_ON_CONVERSATION = "/api/v1/conversations/{conversation_id}/labels/{label_id}"
_ON_CONTACT = "/api/v1/contacts/{contact_id}/labels/{label_id}"


@get(_PATH, scope="read", summary="List labels")
async def list_labels(gateway: Context, caller: CurrentCaller) -> Page[Label]:
    """All labels of the channel, by name."""
    return Page([Label.of(row) for row in await read_labels(gateway.db, caller.channel_id)])


@post(
    _PATH,
    scope="manage",
    summary="Create a label",
    message="Label created",
    errors=("wrong_state",),
    example={"name": "VIP {{$timestamp}}", "color": "#1d56a8"},
    keeps={"label_id": "data.id"},
    turn=-1,
)
async def create_label(body: NewLabel, once: CreateOnce, gateway: Context, caller: CurrentCaller) -> Created[Label]:
    """Creates a label. If no color is given, one is chosen from the palette."""
    labels = _labels(gateway, caller)
    return await once.create(lambda request: service.create_label(labels, body, request), Label.of)


@get(_ONE, scope="read", summary="Get a label")
async def get_label(label_id: str, gateway: Context, caller: CurrentCaller) -> Label:
    """One label."""
    return Label.of(await service.access_label(gateway.db, caller.channel_id, label_id))


@patch(
    _ONE,
    scope="manage",
    summary="Change a label",
    message="Label changed",
    errors=("wrong_state",),
    example={"color": "#0b6e4f"},
)
async def change_label(label_id: str, body: LabelChange, gateway: Context, caller: CurrentCaller) -> Label:
    """Changes the name or the color of a label."""
    return Label.of(await service.change_label(_labels(gateway, caller), label_id, body))


@delete(_ONE, scope="manage", summary="Delete a label", message="Label deleted", turn=1)
async def delete_label(label_id: str, gateway: Context, caller: CurrentCaller) -> None:
    """Deletes a label, and removes it from all contacts and conversations."""
    await service.delete_label(_labels(gateway, caller), label_id)


@put(
    _ON_CONVERSATION,
    scope="manage",
    agents=True,
    summary="Label a conversation",
    message="The label is on the conversation",
    folder="labels",
)
async def label_conversation(conversation_id: str, label_id: str, gateway: Context, caller: CurrentCaller) -> None:
    """Adds a label to a conversation. It is no error if the conversation has it already."""
    await service.put_label(_labels(gateway, caller), CONVERSATION, conversation_id, label_id)


@delete(
    _ON_CONVERSATION,
    scope="manage",
    agents=True,
    summary="Remove a label from a conversation",
    message="The label is off the conversation",
    folder="labels",
)
async def unlabel_conversation(conversation_id: str, label_id: str, gateway: Context, caller: CurrentCaller) -> None:
    """Removes a label from a conversation. It is no error if the conversation does not have it."""
    await service.take_label(_labels(gateway, caller), CONVERSATION, conversation_id, label_id)


@put(
    _ON_CONTACT,
    scope="manage",
    agents=True,
    summary="Label a contact",
    message="The label is on the contact",
    folder="labels",
)
async def label_contact(contact_id: str, label_id: str, gateway: Context, caller: CurrentCaller) -> None:
    """Adds a label to a contact. It is no error if the contact has it already."""
    await service.put_label(_labels(gateway, caller), CONTACT, contact_id, label_id)


@delete(
    _ON_CONTACT,
    scope="manage",
    agents=True,
    summary="Remove a label from a contact",
    message="The label is off the contact",
    folder="labels",
)
async def unlabel_contact(contact_id: str, label_id: str, gateway: Context, caller: CurrentCaller) -> None:
    """Removes a label from a contact. It is no error if the contact does not have it."""
    await service.take_label(_labels(gateway, caller), CONTACT, contact_id, label_id)


def _labels(gateway: ApiContext, caller: Caller) -> LabelService:
    return LabelService(gateway.db, caller.ref, caller.channel_id, gateway.clock.now())
