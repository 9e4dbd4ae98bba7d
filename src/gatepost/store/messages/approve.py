"""Approves a draft in the commit that accepts its message: of two people who approve it at once, one sends it."""

from datetime import datetime
from typing import Any

import msgspec

from gatepost.model import ids
from gatepost.model.draft import DraftApproval, check_revision, check_waiting, conversation_changed, number_changed
from gatepost.model.errors import GatepostError, NotFound
from gatepost.store.drafts import DraftDecision, DraftRow, decide_drafts, get_draft
from gatepost.store.messages.accept import AcceptResult, ChannelGroup
from gatepost.store.pool import Connection


class ApprovedDraft:
    """The approval of one draft. Nothing is written if the message is not accepted: the draft still waits."""

    def __init__(self, approval: DraftApproval, by: str) -> None:
        self._approval = approval
        self._by = by

    async def decide(self, conn: "Connection[Any]", group: ChannelGroup, now: datetime) -> None:
        draft = await get_draft(conn, group.channel_id, self._approval.draft_id, now)
        try:
            _check(draft, self._approval, group)
        except GatepostError as error:
            group.outcomes, group.fresh = [error], []

    async def record(self, conn: "Connection[Any]", group: ChannelGroup, now: datetime) -> None:
        (outcome,) = group.outcomes
        if isinstance(outcome, AcceptResult):
            answer = msgspec.json.decode(outcome.answer)
            message_id = ids.parse_id("", answer["data"]["key"]["id"])
            decision = DraftDecision(self._approval.draft_id, "sent", self._by, message_id)
            await decide_drafts(conn, group.channel_id, [decision], now)


def _check(draft: DraftRow | None, approval: DraftApproval, group: ChannelGroup) -> None:
    if draft is None:
        raise NotFound("There is no such draft on this channel.")
    check_waiting(draft.state)
    check_revision(draft.revision, approval.revision)
    recipient = group.opened.people.get(group.submissions[0].message.phone)
    if draft.contact is not None and (recipient is None or recipient.id != draft.contact.id):
        raise number_changed(draft.phone)
    if draft.written_since and not approval.anyway:
        raise conversation_changed()
