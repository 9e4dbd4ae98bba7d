"""An assistant of a stage: a key with a policy, and what it may call."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.admin import keys
from gatepost.model import ids
from gatepost.model.account import Caller, Principal
from gatepost.model.account_log import OPERATOR, new_entry
from gatepost.model.errors import GatepostError
from gatepost.model.mcp_call import CallResult, McpCall
from gatepost.model.mcp_policy import Policy, Recipients
from gatepost.model.mcp_verdict import PolicyRefused
from gatepost.model.send_request import SendRequest
from gatepost.outbound.accept import Acceptor
from gatepost.outbound.assistant_send import AssistantSend, send_for_assistant
from gatepost.services.assistant_calls import McpRecorder
from gatepost.store.mcp.policies import save_policy
from tests.movable_clock import MovableClock
from tests.outbound.stage import Stage

ANYONE = Recipients(anyone=True)
SEND = Policy(
    mode="send", recipients=ANYONE, unanswered=100, sends_per_hour=1000, sends_per_conversation=1000, no_crossing=False
)


class Assistant:
    """A key of the stage's channel."""

    def __init__(self, stage: Stage, caller: Caller) -> None:
        self.stage = stage
        self.caller = caller
        self.key_id = caller.principal.id
        self.recorder = McpRecorder(stage.db)
        self._last = ids.ZERO

    @property
    def clock(self) -> MovableClock:
        return self.stage.clock

    def call(self, tool: str = "send_text", fingerprint: bytes | None = None) -> McpCall:
        now = self.clock.now()
        self._last = ids.next_ids(self._last, now, 1)[0]
        return McpCall(self._last, self.key_id, now, "Test 1.0", "http", tool, "{}", fingerprint)

    async def rotated(self) -> "Assistant":
        """Return an assistant with the key that replaces this one; both are valid."""
        new = await keys.rotate_key(self.stage.db, self.stage.channel_id, self.key_id, now=self.clock.now())
        principal = msgspec.structs.replace(self.caller.principal, id=new.key.id)
        return Assistant(self.stage, msgspec.structs.replace(self.caller, principal=principal))

    async def allow(self, policy: Policy) -> None:
        """Save a policy."""
        now = self.clock.now()
        entry = new_entry(self.caller.account_id, OPERATOR, "mcp_policy_saved", now)
        assert await save_policy(self.stage.db, self.stage.channel_id, self.key_id, policy, now, "operator", entry)

    async def send(
        self,
        phone: str,
        body: str | None = "Hello",
        *,
        draft: bool = False,
        fingerprint: bytes | None = None,
        acceptor: Acceptor | None = None,
        **fields: Any,
    ) -> AssistantSend:
        request = SendRequest(phone=phone, body=body, **fields)
        call = self.call(fingerprint=fingerprint)
        return await send_for_assistant(acceptor or self.stage.acceptor, self.caller, request, call, draft=draft)

    async def result(self, phone: str, body: str | None = "Hello", **options: Any) -> str:
        """Send, and return the outcome, the rule of a refusal, or the code of an error."""
        try:
            answer = await self.send(phone, body, **options)
        except PolicyRefused as refused:
            return f"refused {refused.rule}"
        except GatepostError as error:
            return f"failed {error.code}"
        return "repeated" if answer.repeated else answer.outcome

    async def read(self, *contacts: UUID, tool: str = "read_conversation") -> None:
        """Record that conversations were read."""
        revealed: Collection[UUID] = contacts
        await self.recorder.read(self.caller, self.call(tool), CallResult("done"), revealed)

    async def calls(self) -> list[tuple[str, str | None, str | None]]:
        """Return outcome, rule and code of each call, the oldest first."""
        rows = [row for row in await self.stage.rows("mcp_calls", "ORDER BY id") if row["key_id"] == self.key_id]
        return [(row["outcome"], row["rule"], row["code"]) for row in rows]

    async def contact(self, phone: str) -> UUID:
        """Return the contact of a number, who has written."""
        if not (found := [row["id"] for row in await self.stage.rows("contacts") if row["phone"] == phone]):
            await self.stage.receive_text(phone)
            return await self.contact(phone)
        return UUID(str(found[0]))

    def later(self, **time: float) -> None:
        self.clock.advance(timedelta(**time).total_seconds())


async def make_assistant(stage: Stage, policy: Policy | None = SEND, name: str = "Assistant") -> Assistant:
    """Create a key with the scope `mcp`. Without a policy, the defaults apply."""
    made = await keys.create_key(stage.db, stage.channel_id, name, scopes=["mcp"], now=stage.clock.now())
    principal = Principal("key", made.key.id, frozenset({"mcp"}), label=name)
    assistant = Assistant(stage, msgspec.structs.replace(stage.caller, principal=principal))
    if policy is not None:
        await assistant.allow(policy)
    return assistant
