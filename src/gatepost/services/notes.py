"""Notes about conversations: list, add, delete."""

from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.account_log import OPERATOR, Actor
from gatepost.model.errors import Conflict, MissingScope, invalid_field
from gatepost.model.field_readers import check_storable
from gatepost.services.lookup import existing, missing, read_id
from gatepost.store.channel_head import channel_transaction
from gatepost.store.conversations import notes as store
from gatepost.store.conversations.notes import NoteRow
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.keys import get_key
from gatepost.store.messages.history import has_conversation
from gatepost.store.pool import Database
from gatepost.store.users import get_user

TEXT_MAX = 4096
NOTES_MAX = 1_000  # per conversation


class NewNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new note."""

    text: str


async def list_notes(
    db: Database, channel_id: UUID, conversation: str, before: UUID | None, limit: int
) -> list[NoteRow]:
    """Return a page of the notes of a conversation, the newest first."""
    contact_id = read_id("cv", conversation)
    if not await has_conversation(db, channel_id, contact_id):
        raise missing("cv")
    return await store.list_notes(db, channel_id, contact_id, before, limit)


async def add_note(
    db: Database,
    caller: Caller,
    conversation: str,
    new: NewNote,
    now: datetime,
    once: IdempotentRequest[NoteRow] = NEVER,
) -> NoteRow:
    """Add a note to a conversation."""
    text, contact_id = _check_text(new.text), read_id("cv", conversation)
    author = await author_of(db, caller)
    async with channel_transaction(db, caller.ref, caller.channel_id, now) as change:
        await once.check(change.conn, now)
        if not await has_conversation(change.conn, caller.channel_id, contact_id):
            raise missing("cv")
        made = NoteRow(ids.new_id(now), author, text, now)
        if not await store.insert_note(change.conn, caller.channel_id, contact_id, made, NOTES_MAX):
            raise Conflict(f"This conversation has {NOTES_MAX:,} notes, and that is the most. Delete one first.")
        await once.keep(change.conn, made, now)
    return made


async def delete_note(db: Database, caller: Caller, conversation: str, note: str) -> None:
    """Delete a note: one's own, or with the scope `manage` any."""
    contact_id, note_id = read_id("cv", conversation), read_id("nt", note)
    found = existing("nt", await store.get_note(db, caller.channel_id, contact_id, note_id))
    principal = caller.principal
    own = found.author.id is not None and found.author.id in (principal.user_id, principal.id)
    if not own and "manage" not in principal.scopes:
        raise MissingScope("This note was written by another. Deleting it needs the scope 'manage'.")
    if not await store.delete_note(db, caller.channel_id, contact_id, note_id):
        raise missing("nt")


async def author_of(db: Database, caller: Caller) -> Actor:
    """Return the user or key of a request, with the name that is shown."""
    principal = caller.principal
    if principal.user_id is not None:
        user = await get_user(db, principal.user_id)
        return Actor("user", principal.user_id, (user.name or user.email) if user else "")
    if principal.kind == "operator":
        return OPERATOR
    key = await get_key(db, caller.channel_id, principal.id)
    return Actor("key", principal.id, key.name if key else "")


def _check_text(text: str) -> str:
    check_storable("text", text)
    if not text.strip():
        raise invalid_field("text", "is empty")
    if len(text) > TEXT_MAX:
        raise invalid_field("text", f"may have 1 to {TEXT_MAX:,} characters, but has {len(text):,}")
    return text
