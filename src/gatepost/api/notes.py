"""Notes about conversations."""

from uuid import UUID

from gatepost.api.context import Context, CurrentCaller
from gatepost.api.contract.notes import Note
from gatepost.api.idempotency import CreateOnce
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import Paged
from gatepost.api.responses import Created, Page
from gatepost.api.route import delete, get, post
from gatepost.services import notes as service
from gatepost.services.notes import NewNote

_PATH = "/api/v1/conversations/{conversation_id}/notes"


@get(_PATH, scope="read", summary="List a conversation's notes")
async def list_notes(conversation_id: str, query: Paged, gateway: Context, caller: CurrentCaller) -> Page[Note]:
    """The notes of a conversation, the newest first."""
    before = read_cursor(query.cursor, UUID)
    rows = await service.list_notes(gateway.db, caller.channel_id, conversation_id, before, query.limit)
    return Page([Note.of(row) for row in rows], show_cursor(rows[-1].id) if len(rows) == query.limit else None)


@post(
    _PATH,
    scope="send",
    summary="Add a note",
    message="Note added",
    errors=("wrong_state",),
    example={"text": "Wants it on Friday"},
    keeps={"note_id": "data.id"},
)
async def add_note(
    conversation_id: str, body: NewNote, once: CreateOnce, gateway: Context, caller: CurrentCaller
) -> Created[Note]:
    """Adds a note to a conversation, with the user or key that wrote it. The contact never sees it."""
    now = gateway.clock.now()
    return await once.create(
        lambda request: service.add_note(gateway.db, caller, conversation_id, body, now, request), Note.of
    )


@delete(_PATH + "/{note_id}", scope="send", summary="Delete a note", message="Note deleted", turn=1)
async def delete_note(conversation_id: str, note_id: str, gateway: Context, caller: CurrentCaller) -> None:
    """Deletes a note. The note of another user or key needs the scope `manage`."""
    await service.delete_note(gateway.db, caller, conversation_id, note_id)
