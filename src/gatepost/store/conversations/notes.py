"""The notes of a conversation."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.account_log import Actor
from gatepost.model.dates import LAST_ID
from gatepost.store.pool import Connection, Database


class NoteRow(msgspec.Struct, frozen=True):
    """A note about a conversation, and who wrote it."""

    id: UUID
    author: Actor
    body: str
    created_at: datetime


_COLUMNS = "id, author_kind, author_id, author, body, created_at"


async def list_notes(
    db: Database, channel_id: UUID, contact_id: UUID, before: UUID | None, limit: int
) -> list[NoteRow]:
    """Return the notes of a conversation before one, the newest first."""
    rows = await db.fetch(
        f"""SELECT {_COLUMNS} FROM conversation_notes WHERE channel_id = $1 AND contact_id = $2 AND id < $3
            ORDER BY id DESC LIMIT $4""",
        channel_id,
        contact_id,
        before or LAST_ID,
        limit,
    )
    return [_note(row) for row in rows]


async def get_note(db: Database, channel_id: UUID, contact_id: UUID, note_id: UUID) -> NoteRow | None:
    """Return a note of a conversation."""
    row = await db.fetchrow(
        f"SELECT {_COLUMNS} FROM conversation_notes WHERE channel_id = $1 AND contact_id = $2 AND id = $3",
        channel_id,
        contact_id,
        note_id,
    )
    return _note(row) if row else None


async def insert_note(conn: "Connection[Any]", channel_id: UUID, contact_id: UUID, note: NoteRow, limit: int) -> bool:
    """Insert a note, under the channel's lock. Return False if the conversation has `limit` notes."""
    made = await conn.fetchval(
        """INSERT INTO conversation_notes (channel_id, contact_id, id, author_kind, author_id, author, body, created_at)
           SELECT $1, $2, $3, $4, $5, $6, $7, $8
           WHERE (SELECT count(*) FROM conversation_notes WHERE channel_id = $1 AND contact_id = $2) < $9
           RETURNING 1""",
        channel_id,
        contact_id,
        note.id,
        note.author.kind,
        note.author.id,
        note.author.label,
        note.body,
        note.created_at,
        limit,
    )
    return made is not None


async def delete_note(db: Database, channel_id: UUID, contact_id: UUID, note_id: UUID) -> bool:
    """Delete a note. Return False if there is none."""
    return await db.changes(
        "DELETE FROM conversation_notes WHERE channel_id = $1 AND contact_id = $2 AND id = $3 RETURNING 1",
        channel_id,
        contact_id,
        note_id,
    )


def _note(row: Any) -> NoteRow:
    author = Actor(row["author_kind"], row["author_id"], row["author"])
    return NoteRow(row["id"], author, row["body"], row["created_at"])
