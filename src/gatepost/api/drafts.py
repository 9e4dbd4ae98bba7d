"""Drafts: messages that a person has to approve."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.api.context import Context, CurrentCaller
from gatepost.api.contract.drafts import Draft, DraftCounts
from gatepost.api.idempotency import CreateOnce
from gatepost.api.openapi.error_codes import SENDING
from gatepost.api.openapi.route_docs import Sample
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import Paged
from gatepost.api.responses import Created, Page
from gatepost.api.route import get, patch, post
from gatepost.model.draft import COMMENT_MAX, DraftState
from gatepost.model.send_request import SendRequest, example_send
from gatepost.services import drafts as service
from gatepost.services.history_query import read_conversation
from gatepost.store.drafts import DraftFilter, count_waiting, is_full
from gatepost.store.drafts import list_drafts as read_drafts

_PATH = "/api/v1/drafts"
_ONE = _PATH + "/{draft_id}"
_EXAMPLE = {"message": example_send("text"), "comment": "The customer asked for a date."}
_SHAPE = ("invalid_phone", "unsupported_on_channel")  # what can be wrong with a message at any time
Comment = Annotated[
    str, Meta(description=f"At most {COMMENT_MAX:,} characters.", extra_json_schema={"maxLength": COMMENT_MAX})
]
Revision = Annotated[
    int, Meta(description="`revision` of the draft that was read. Without it, any: a later edit is not noticed.")
]


class DraftQuery(Paged, frozen=True, kw_only=True):
    """Which drafts; all filters have to fit."""

    state: Annotated[DraftState, Meta(description="Only drafts in this state.")] | None = None
    conversation: Annotated[str, Meta(description="Only drafts to this conversation.")] | None = None


class DraftRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message, as in `POST /message/send`, and why it needs a person."""

    message: SendRequest
    comment: Comment | None = None


class DraftChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The message that replaces that of a draft. Its recipient stays."""

    message: SendRequest
    revision: Revision | None = None


class DraftConfirmation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to approve a draft."""

    anyway: Annotated[bool, Meta(description="Whether to send it although the person has written since.")] = False
    revision: Revision | None = None


class DraftRefusal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a draft is refused."""

    comment: Comment | None = None


@get(_PATH, scope="read", summary="List drafts")
async def list_drafts(query: DraftQuery, gateway: Context, caller: CurrentCaller) -> Page[Draft]:
    """Drafts of assistants and of programs, the newest first, with what became of each."""
    query.given()
    before, now = read_cursor(query.cursor, UUID), gateway.clock.now()
    contact_id = None if query.conversation is None else read_conversation(query.conversation)
    filter_ = DraftFilter(query.state, contact_id)
    rows = await read_drafts(gateway.db, caller.channel_id, before=before, limit=query.limit, now=now, filter_=filter_)
    return Page([Draft.of(row) for row in rows], show_cursor(rows[-1].id) if is_full(rows, query.limit) else None)


@get(_PATH + "/counts", scope="read", summary="Count drafts")
async def count_drafts(gateway: Context, caller: CurrentCaller) -> DraftCounts:
    """How many drafts wait for a decision."""
    return DraftCounts(await count_waiting(gateway.db, caller.channel_id, gateway.clock.now()))


@post(
    _PATH,
    scope="send",
    summary="Create a draft",
    message="Draft created",
    errors=(*_SHAPE, "wrong_state"),
    example=_EXAMPLE,
    keeps={"draft_id": "data.id"},
    more=(Sample("Create a draft to refuse", _EXAMPLE, {"refused_draft_id": "data.id"}),),
    turn=-1,
)
async def create_draft(body: DraftRequest, once: CreateOnce, gateway: Context, caller: CurrentCaller) -> Created[Draft]:
    """Creates a draft that a person approves or refuses. What depends on the moment of sending is checked then."""
    now, life = gateway.clock.now(), gateway.acceptor.draft_life
    return await once.create(
        lambda request: service.create_draft(
            gateway.db, caller, body.message, now, life=life, reason=body.comment, once=request
        ),
        Draft.of,
    )


@get(_ONE, scope="read", summary="Get a draft")
async def get_draft(draft_id: str, gateway: Context, caller: CurrentCaller) -> Draft:
    """One draft."""
    return Draft.of(await service.access_draft(gateway.db, caller.channel_id, draft_id, gateway.clock.now()))


@patch(
    _ONE,
    scope="send",
    summary="Edit a draft",
    message="Draft edited",
    errors=(*_SHAPE, "wrong_state"),
    example={"message": example_send("text") | {"body": "It will be there on Friday."}},
)
async def edit_draft(draft_id: str, body: DraftChange, gateway: Context, caller: CurrentCaller) -> Draft:
    """Replaces the message of a draft that waits. The recipient cannot be changed."""
    now, revision = gateway.clock.now(), body.revision
    return Draft.of(await service.edit_draft(gateway.db, caller, draft_id, body.message, now, revision=revision))


@post(
    _ONE + "/approve",
    scope="send",
    summary="Approve a draft",
    message="Draft approved",
    errors=(*SENDING, "conversation_changed", "wrong_state"),
    body_required=False,
    example={"anyway": True},
)
async def approve_draft(draft_id: str, body: DraftConfirmation, gateway: Context, caller: CurrentCaller) -> Draft:
    """Sends the message of a draft in the name of the caller.

    Everything that a send checks is checked now. If it cannot be sent, or the person has written since, the draft
    still waits.
    """
    now, approve = gateway.clock.now(), gateway.acceptor.approve
    sent = await service.approve_draft(
        gateway.db, approve, caller, draft_id, now, anyway=body.anyway, revision=body.revision
    )
    return Draft.of(sent)


@post(
    _ONE + "/refuse",
    scope="send",
    summary="Refuse a draft",
    message="Draft refused",
    errors=("wrong_state",),
    body_required=False,
    example={"comment": "We do not promise a date."},
    uses={"draft_id": "refused_draft_id"},
)
async def refuse_draft(draft_id: str, body: DraftRefusal, gateway: Context, caller: CurrentCaller) -> Draft:
    """Refuses a draft. Its author can read the comment."""
    now = gateway.clock.now()
    return Draft.of(await service.refuse_draft(gateway.db, caller, draft_id, body.comment, now))
