"""Conversations that assistants gave to a person."""

from uuid import UUID

from gatepost.api.context import Context, CurrentCaller
from gatepost.api.contract.mcp import HandOver
from gatepost.api.route import delete, get
from gatepost.services.lookup import missing, read_id
from gatepost.store.mcp.conversations import delete_handovers, list_handovers
from gatepost.store.messages.history import has_conversation
from gatepost.store.pool import Database

_PATH = "/api/v1/conversations/{conversation_id}/hand-over"


@get(_PATH, scope="read", summary="Get the hand-over of a conversation", folder="conversations")
async def get_hand_over(conversation_id: str, gateway: Context, caller: CurrentCaller) -> HandOver:
    """The assistants that gave the conversation to a person, and why. Their keys write nothing to it."""
    return await _read(gateway.db, caller.channel_id, conversation_id)


@delete(
    _PATH,
    scope="manage",
    agents=True,
    summary="Give a conversation back to assistants",
    message="The conversation is given back",
    folder="conversations",
)
async def end_hand_over(conversation_id: str, gateway: Context, caller: CurrentCaller) -> HandOver:
    """Lets all assistants write to the conversation again. It is no error if none had given it to a person."""
    before = await _read(gateway.db, caller.channel_id, conversation_id)
    if before.handed_over:
        await delete_handovers(gateway.db, caller.channel_id, read_id("cv", conversation_id))
    return HandOver([])


async def _read(db: Database, channel_id: UUID, conversation: str) -> HandOver:
    contact_id = read_id("cv", conversation)
    if not await has_conversation(db, channel_id, contact_id):
        raise missing("cv")
    return HandOver.of(await list_handovers(db, channel_id, contact_id))
