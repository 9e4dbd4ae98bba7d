"""Conversations: what is shown to the person while an answer is being written."""

from litestar import Response, post
from litestar.params import FromPath

from gatepost.admin.channels import get_channel
from gatepost.api.body import answer
from gatepost.api.gateway import Door, Who
from gatepost.desk.reading import show_typing


@post(
    "/api/v1/conversations/{conversation_id:str}/typing", opt={"scope": "send"}, status_code=200, summary="Show typing"
)
async def post_typing(conversation_id: FromPath[str], gateway: Door, caller: Who) -> Response[bytes]:
    """Shows the person that an answer is being written."""
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    await show_typing(gateway.db, gateway.speak, channel, conversation_id, gateway.clock.now())
    return answer(None, "Typing is shown")
