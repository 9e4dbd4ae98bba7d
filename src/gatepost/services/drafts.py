"""Drafts: create, read, edit, approve and refuse them."""

from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.draft import (
    COMMENT_MAX,
    DRAFT_LIFE,
    DRAFT_STATES,
    WAITING_MAX,
    DraftApproval,
    check_revision,
    check_waiting,
    too_many_drafts,
)
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_storable, read_choice
from gatepost.model.message import CheckedMessage, check_send
from gatepost.model.person import is_phone
from gatepost.model.send_request import SendRequest
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.services.lookup import existing, missing, read_id
from gatepost.store import drafts as store
from gatepost.store.channel_head import channel_transaction
from gatepost.store.contacts.rows import find_contacts
from gatepost.store.drafts import DraftDecision, DraftEdit, DraftFilter, DraftRow, NewDraft
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.messages.history import has_conversation
from gatepost.store.messages.recipients import find_recipients, recipient_problem
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import json_text


class Approve(Protocol):
    """Accepts the message of a draft, which is sent in the same commit: `Acceptor.approve`."""

    async def __call__(self, caller: Caller, request: SendRequest, approval: DraftApproval) -> object: ...


async def create_draft(
    db: Database,
    caller: Caller,
    request: SendRequest,
    now: datetime,
    *,
    life: timedelta = DRAFT_LIFE,
    reason: str | None = None,
    once: IdempotentRequest[DraftRow] = NEVER,
) -> DraftRow:
    """Create a draft. What depends on the moment, such as the window, is checked when it is approved."""
    message = check_send(request, now, NETWORK_KINDS[caller.kind].capabilities)
    _check_words("comment", reason)
    async with channel_transaction(db, caller.ref, caller.channel_id, now, sending=False) as change:
        conn, channel_id = change.conn, caller.channel_id
        await once.check(conn, now)
        if await store.count_waiting(conn, channel_id, now) >= WAITING_MAX:
            raise too_many_drafts()
        phone, contact_id = await _recipient(conn, caller, message)
        new = NewDraft(
            id=ids.new_id(now),
            contact_id=contact_id,
            phone=phone,
            body=json_text(request),
            created_by=caller.principal.sender_text,
            key_id=None if caller.principal.user_id or caller.principal.kind == "operator" else caller.principal.id,
            rule=None,
            reason=reason,
            created_at=now,
            expires_at=now + life,
            seen_event_id=change.head.last_event_id,
        )
        await store.insert_drafts(conn, channel_id, [new])
        made = existing("drf", await store.get_draft(conn, channel_id, new.id, now))
        await once.keep(conn, made, now)
    return made


async def _recipient(conn: "Connection[Any]", caller: Caller, message: CheckedMessage) -> tuple[str, UUID | None]:
    """Return the address of a draft's recipient, and the contact, if there is one."""
    channel_id = caller.channel_id
    if message.contact is None:
        person = (await find_contacts(conn, channel_id, {message.phone})).get(message.phone)
        return message.phone, person.id if person else None
    found = (await find_recipients(conn, [(channel_id, message.contact)])).get((channel_id, message.contact))
    address = found.contact.phone if found else ""
    if problem := recipient_problem(address, NETWORK_KINDS[caller.kind].capabilities.hidden_people):
        raise problem
    return address, message.contact


async def access_draft(db: Database, channel_id: UUID, text: str, now: datetime) -> DraftRow:
    """Return the draft with this id, if it belongs to the channel."""
    return existing("drf", await store.get_draft(db, channel_id, read_id("drf", text), now))


async def list_drafts(
    db: Database,
    channel_id: UUID,
    *,
    state: str | None = None,
    conversation: str | None = None,
    before: UUID | None,
    limit: int,
    now: datetime,
) -> list[DraftRow]:
    """Return a page of drafts, the newest first."""
    wanted = None if state is None else read_choice("state", state, DRAFT_STATES)
    contact_id = None if conversation is None else read_id("cv", conversation)
    if contact_id is not None and not await has_conversation(db, channel_id, contact_id):
        raise missing("cv")
    filter_ = DraftFilter(wanted, contact_id)  # type: ignore[arg-type]
    return await store.list_drafts(db, channel_id, before=before, limit=limit, now=now, filter_=filter_)


async def edit_draft(
    db: Database, caller: Caller, text: str, request: SendRequest, now: datetime, *, revision: int | None = None
) -> DraftRow:
    """Replace the message of a draft. Its recipient stays."""
    draft_id = read_id("drf", text)
    message = check_send(request, now, NETWORK_KINDS[caller.kind].capabilities)
    async with channel_transaction(db, caller.ref, caller.channel_id, now, sending=False) as change:
        draft = existing("drf", await store.get_draft(change.conn, caller.channel_id, draft_id, now))
        check_waiting(draft.state)
        check_revision(draft.revision, revision)
        _check_same_recipient(draft, message)
        edit = DraftEdit(json_text(request), caller.principal.sender_text, now, change.head.last_event_id)
        await store.edit_draft(change.conn, caller.channel_id, draft_id, edit)
        return existing("drf", await store.get_draft(change.conn, caller.channel_id, draft_id, now))


def _check_same_recipient(draft: DraftRow, message: CheckedMessage) -> None:
    if message.contact is not None:
        if message.contact != draft.contact_id:
            raise invalid_field("message.contact", "must stay the same: the recipient of a draft cannot be changed")
    elif message.phone != draft.phone:
        must = f"must be {draft.phone}" if is_phone(draft.phone) else "must not be set"
        raise invalid_field("message.phone", f"{must}: the recipient of a draft cannot be changed")


async def approve_draft(
    db: Database,
    approve: Approve,
    caller: Caller,
    text: str,
    now: datetime,
    *,
    anyway: bool = False,
    revision: int | None = None,
) -> DraftRow:
    """Send the message of a draft in the name of the caller. If it cannot be sent, the draft still waits."""
    draft = await access_draft(db, caller.channel_id, text, now)
    check_waiting(draft.state)
    check_revision(draft.revision, revision)
    request = msgspec.json.decode(draft.body, type=SendRequest)
    if request.contact is not None and draft.contact is not None:  # which may have been merged meanwhile
        request = msgspec.structs.replace(request, contact=ids.format_id("ct", draft.contact.id))
    await approve(caller, request, DraftApproval(draft.id, draft.revision, anyway))
    return await access_draft(db, caller.channel_id, text, now)


async def refuse_draft(db: Database, caller: Caller, text: str, comment: str | None, now: datetime) -> DraftRow:
    """Refuse a draft, with a comment for its author."""
    draft_id = read_id("drf", text)
    _check_words("comment", comment)
    async with channel_transaction(db, caller.ref, caller.channel_id, now, sending=False) as change:
        draft = existing("drf", await store.get_draft(change.conn, caller.channel_id, draft_id, now))
        check_waiting(draft.state)
        decision = DraftDecision(draft_id, "refused", caller.principal.sender_text, comment=comment)
        await store.decide_drafts(change.conn, caller.channel_id, [decision], now)
        return existing("drf", await store.get_draft(change.conn, caller.channel_id, draft_id, now))


def _check_words(field: str, text: str | None) -> None:
    if text is None:
        return
    check_storable(field, text)
    if len(text) > COMMENT_MAX:
        raise invalid_field(field, f"may have at most {COMMENT_MAX:,} characters, but has {len(text):,}")
