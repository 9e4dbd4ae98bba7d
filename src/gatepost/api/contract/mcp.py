"""Assistants in answers: the policy of a key, the log of calls, hand-overs, and the switch of the account."""

from collections.abc import Mapping, Sequence
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.api.contract.account import KeyId
from gatepost.api.contract.fields import HEX, ApiObject, ConversationId, JsonObject, Never, Nothing, Text, Time
from gatepost.model import ids, times
from gatepost.model.account import scope_warning
from gatepost.model.mcp_call import CallOutcome, Transport
from gatepost.model.mcp_policy import PolicyMode, QuietHours, Recipients, sentences
from gatepost.store.keys import ApiKey
from gatepost.store.mcp.calls import CallRow
from gatepost.store.mcp.conversations import HandoverRow
from gatepost.store.mcp.policies import McpStop, StoredPolicy

_SENTENCES = ["A person approves each message.", "It may write to people who wrote in the last 30 days."]


class McpRecipients(ApiObject, frozen=True):
    """To whom the assistant may write: to each person whom at least one of these allows."""

    anyone: Annotated[bool, Meta(examples=[False])]
    wrote_within_days: Annotated[int | None, Meta(description="Who wrote in the last days.", examples=[30])]
    labels: Annotated[list[str], Meta(description="Who has one of these labels.", examples=[[]])]
    phones: Annotated[list[str], Meta(examples=[[]])]

    @classmethod
    def of(cls, recipients: Recipients) -> "McpRecipients":
        """Return the recipients of a policy."""
        return cls(recipients.anyone, recipients.wrote_within_days, list(recipients.labels), list(recipients.phones))


class McpQuietHours(ApiObject, frozen=True):
    """The hours of each day in which the assistant sends nothing."""

    start: Annotated[str, Meta(examples=["22:00"])]
    end: Annotated[str, Meta(examples=["07:00"])]
    tz: Annotated[str, Meta(examples=["America/Sao_Paulo"])]

    @classmethod
    def of(cls, hours: QuietHours | None) -> "McpQuietHours | None":
        """Return the quiet hours of a policy."""
        return cls(hours.start, hours.end, hours.tz) if hours else None


class McpPolicy(ApiObject, frozen=True):
    """The policy of a key, and the same in sentences."""

    mode: Annotated[PolicyMode, Meta(examples=["draft"])]
    dry_run: Annotated[bool, Meta(examples=[False])]
    recipients: McpRecipients
    no_crossing: Annotated[bool, Meta(examples=[True])]
    sends_per_hour: Annotated[int, Meta(examples=[30])]
    sends_per_conversation: Annotated[int, Meta(examples=[10])]
    unanswered: Annotated[int, Meta(examples=[3])]
    quiet_hours: Annotated[McpQuietHours | None, Meta(examples=[None])]
    types: Annotated[list[str] | None, Meta(description="Null: all.", examples=[None])]
    templates: Annotated[list[str] | None, Meta(description="Null: all.", examples=[None])]
    link_hosts: Annotated[list[str] | None, Meta(description="Null: all. Empty: no links.", examples=[None])]
    files: Annotated[bool, Meta(examples=[False])]
    ends_at: Never
    sentences: Annotated[list[str], Meta(description="The policy in plain English.", examples=[_SENTENCES])]
    warning: Annotated[Nothing, Meta(description="What is unsafe about the scopes of the key.")]
    updated_at: Annotated[Never, Meta(description="Null: nobody has saved a policy; the defaults apply.")]
    updated_by: Annotated[Nothing, Meta(description="E-mail address, or `operator`.")]

    @classmethod
    def of(cls, stored: StoredPolicy, key: ApiKey, labels: Mapping[UUID, str]) -> "McpPolicy":
        """Return the policy of a key. `labels` are the names of the channel's labels."""
        policy = stored.policy
        return cls(
            mode=policy.mode,
            dry_run=policy.dry_run,
            recipients=McpRecipients.of(policy.recipients),
            no_crossing=policy.no_crossing,
            sends_per_hour=policy.sends_per_hour,
            sends_per_conversation=policy.sends_per_conversation,
            unanswered=policy.unanswered,
            quiet_hours=McpQuietHours.of(policy.quiet_hours),
            types=_listed(policy.types),
            templates=_listed(policy.templates),
            link_hosts=_listed(policy.link_hosts),
            files=policy.files,
            ends_at=times.format_optional_time(policy.ends_at),
            sentences=sentences(policy, labels),
            warning=scope_warning(key.scopes),
            updated_at=times.format_optional_time(stored.updated_at),
            updated_by=stored.updated_by,
        )


def _listed(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)


class McpAccess(ApiObject, frozen=True):
    """Where assistants connect, and whether those of the account are stopped."""

    stopped_at: Annotated[Never, Meta(description="Null: they are not stopped.")]
    stopped_by: Annotated[Nothing, Meta(description="E-mail address, or `operator`.")]
    url: Annotated[
        str, Meta(description="The address of the MCP server.", examples=["https://gateway.example.com/mcp"])
    ]

    @classmethod
    def of(cls, stop: McpStop, base: str) -> "McpAccess":
        """Return the access of an account; `base` is the address of the gateway."""
        return cls(times.format_optional_time(stop.stopped_at), stop.stopped_by, f"{base.rstrip('/')}/mcp")


class KeyRef(ApiObject, frozen=True):
    """A key in short. One that was deleted has no name."""

    id: KeyId
    name: Annotated[Text, Meta(examples=["Assistant"])]


class McpCall(ApiObject, frozen=True):
    """One call of a tool by an assistant."""

    id: Annotated[str, Meta(examples=[f"call_{HEX}"])]
    at: Time
    key: KeyRef
    client: Annotated[str, Meta(description="Name and version, as the client states them.", examples=["claude-ai/1.0"])]
    transport: Annotated[Transport, Meta(examples=["http"])]
    tool: Annotated[str, Meta(examples=["send_text"])]
    arguments: Annotated[
        JsonObject,
        Meta(description="Shortened.", examples=[{"conversation": f"cv_{HEX}", "body": "It is on its way."}]),
    ]
    outcome: Annotated[CallOutcome, Meta(examples=["draft"])]
    rule: Annotated[Text, Meta(description="The rule of the policy that decided.", examples=["mode"])]
    code: Annotated[Nothing, Meta(description="The code of the error.")]
    conversation: ConversationId | None
    ids: Annotated[list[str], Meta(description="What the call made.", examples=[[f"drf_{HEX}"]])]

    @classmethod
    def of(cls, row: CallRow, names: Mapping[UUID, str]) -> "McpCall":
        """Return a call; `names` are those of the channel's keys."""
        return cls(
            id=ids.format_id("call", row.id),
            at=times.format_time(row.at),
            key=KeyRef(ids.format_id("key", row.key_id), names.get(row.key_id)),
            client=row.client,
            transport=row.transport,
            tool=row.tool,
            arguments=msgspec.json.decode(row.arguments),
            outcome=row.outcome,
            rule=row.rule,
            code=row.code,
            conversation=ids.format_id("cv", row.contact_id) if row.contact_id else None,
            ids=list(row.ids),
        )


class HandedOver(ApiObject, frozen=True):
    """A key that writes nothing to a conversation, because its assistant gave it to a person."""

    key: KeyRef
    reason: Annotated[str, Meta(examples=["The customer asks for a refund."])]
    at: Time


class HandOver(ApiObject, frozen=True):
    """The assistants that gave a conversation to a person."""

    handed_over: list[HandedOver]

    @classmethod
    def of(cls, rows: Sequence[HandoverRow]) -> "HandOver":
        """Return the hand-overs of a conversation."""
        return cls(
            [
                HandedOver(
                    KeyRef(ids.format_id("key", row.key_id), row.key_name), row.reason, times.format_time(row.at)
                )
                for row in rows
            ]
        )
