"""The parts of the process that the tools use, and one call of a tool. Assembled by `app.py`."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.access.costly import CostlyRequests
from gatepost.access.timed_cache import TimedCache
from gatepost.clock import Clock
from gatepost.model.account import Caller
from gatepost.model.mcp_call import CallOutcome, McpCall, Transport
from gatepost.model.mcp_policy import DEFAULT_POLICY, Policy
from gatepost.outbound.accept import Acceptor
from gatepost.services.assistant_calls import McpRecorder, PolicyInForce
from gatepost.services.media import MediaService
from gatepost.services.read_receipts import Speak
from gatepost.store.pool import Database


class McpContext(msgspec.Struct, frozen=True):
    db: Database
    clock: Clock
    acceptor: Acceptor
    media: MediaService
    speak: Speak
    costly: CostlyRequests
    limits: Callable[..., Any]  # of a channel's number
    policies: TimedCache[tuple[UUID, UUID], PolicyInForce]  # of calls that read, by channel and key
    recorder: McpRecorder
    count: Callable[[str, str], None]  # of calls, by tool and outcome


class Picture(msgspec.Struct, frozen=True):
    """A picture in an answer."""

    mime_type: str
    data: str  # base64


class Call(msgspec.Struct):
    """A call of a tool: who calls, and whose conversations its answer reveals."""

    context: McpContext
    caller: Caller
    now: datetime
    client: str = ""  # name and version
    transport: Transport = "http"
    size: int = 0  # bytes of the request
    revealed: set[UUID] = msgspec.field(default_factory=set)  # contacts
    revealed_drafts: set[UUID] = msgspec.field(default_factory=set)  # to numbers that no contact has
    picture: Picture | None = None
    policy: Policy = DEFAULT_POLICY  # of the key
    # Of a tool that changes something: it is recorded with the change, and says then what it did.
    record: McpCall | None = None
    recorded: bool = False
    outcome: CallOutcome = "done"

    @property
    def db(self) -> Database:
        return self.context.db

    @property
    def channel_id(self) -> UUID:
        return self.caller.channel_id
