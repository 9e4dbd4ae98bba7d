"""Messages of assistants. Their policy decides whether each is sent, becomes a draft or is refused."""

from gatepost.model.account import Caller
from gatepost.model.errors import GatepostError, Unavailable
from gatepost.model.mcp_call import CallResult, McpCall
from gatepost.model.send_request import SendRequest
from gatepost.outbound.accept import Acceptor
from gatepost.store.mcp.judge import AssistantSend, RecordedError

__all__ = ["AssistantSend", "send_for_assistant"]


async def send_for_assistant(
    acceptor: Acceptor, caller: Caller, request: SendRequest, call: McpCall, *, draft: bool = False
) -> AssistantSend:
    """Send a message, or make a draft of it. Whatever becomes of it, the call is recorded.

    An error is raised after it was recorded, except that the database is unavailable: then nothing has happened.
    """
    try:
        return await acceptor.accept_for_assistant(caller, request, call, draft=draft)
    except RecordedError as recorded:
        raise recorded.error from None
    except Unavailable:
        raise
    except GatepostError as error:
        await acceptor.record_call(caller, call, CallResult("failed", code=error.code))
        raise
