"""Reactions, edits and deletions that arrive before the message that they change, which the network repeats later.

a change of an unknown message ─► a message of its own, and parked here ─► the message arrives ─► changed after all
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.store.channel_head import ChannelTransaction
from gatepost.store.messages.amend import (
    Amendment,
    apply_amendment,
    contact_of,
    get_change,
    get_target,
    json_object,
    may_amend,
)
from gatepost.store.statement import json_text

LONGEST_ID = 512  # characters: the sender of a change chooses the id that it names, and an index takes 2,704 bytes
APPLIED = 20  # changes of one message, the newest: anybody can park many, and all are applied in one commit
_KEY = "change:"  # before the network's id, so that nobody takes it for a status of that message


class ParkedChange(msgspec.Struct, frozen=True):
    """The message that is the change."""

    change: UUID


async def park_changes(transaction: ChannelTransaction, changes: Sequence[tuple[str, UUID]]) -> None:
    """Note changes, each by the network's id of the message that it changes, until that message is known."""
    if changes:
        await transaction.conn.execute(
            """INSERT INTO parked_statuses (channel_id, network_id, id, status)
               SELECT $1, * FROM unnest($2::text[], $3::uuid[], $4::text[])""",
            transaction.channel_id,
            [_KEY + network_id for network_id, _ in changes],
            ids.next_ids(ids.ZERO, transaction.now, len(changes)),
            [json_text(ParkedChange(message_id)) for _, message_id in changes],
        )


async def apply_parked_changes(transaction: ChannelTransaction, arrived: dict[str, UUID]) -> None:
    """Change messages that arrived now, by the network's ids, as was reported before."""
    rows = await transaction.conn.fetch(
        """DELETE FROM parked_statuses WHERE channel_id = $1 AND network_id = ANY ($2::text[])
           RETURNING network_id, id, status""",
        transaction.channel_id,
        [_KEY + network_id for network_id in arrived],
    )
    found: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: row["id"]):
        found.setdefault(row["network_id"].removeprefix(_KEY), []).append(row["status"])
    for network_id, parked in found.items():
        for text in parked[-APPLIED:]:
            await _apply(transaction, arrived[network_id], msgspec.json.decode(text, type=ParkedChange).change)


async def _apply(transaction: ChannelTransaction, message_id: UUID, change_id: UUID) -> None:
    conn, channel_id = transaction.conn, transaction.channel_id
    target = await get_target(conn, channel_id, message_id)
    row = await get_change(conn, channel_id, change_id)
    if target is None or row is None:
        return
    content: dict[str, Any] = msgspec.json.decode(row["content"])
    author = json_object(msgspec.json.decode(row["context"] or "{}"), "author")
    amendment = Amendment(row["type"], content, contact_of(row), not row["incoming"], row["sent_at"], author)
    if not may_amend(amendment, target):
        return
    await apply_amendment(transaction, amendment, target)
    if row["type"] == "edit":
        content["previous"] = msgspec.json.decode(target.content)
    elif row["type"] == "reaction":
        json_object(content, "reaction")["message_id"] = ids.message_id(message_id)
    await conn.execute(
        "UPDATE messages SET target_id = $3, content = $4 WHERE channel_id = $1 AND id = $2",
        channel_id,
        change_id,
        message_id,
        json_text(content),
    )
