"""Sending one message: intent, network, result, and what follows from the network's answer.

intent committed ─► files attached ─► network ─► decision ─► FinalResult  committed, off the queue
                                                          ─► RetrySend    committed, back in the queue, back-off
                                                          ─► AwaitStatus  nothing written: wait for a status
"""

import random
import time
from datetime import datetime, timedelta

import msgspec
import structlog

from gatepost.background import retry_until_available
from gatepost.model import ids
from gatepost.model.errors import Unavailable
from gatepost.model.message import State
from gatepost.networks.base import (
    ErrorReaction,
    Network,
    NetworkError,
    Outgoing,
    QuotedRef,
    Receipt,
    SendAccepted,
    SendNotMade,
    SendRefused,
    SendUnknown,
)
from gatepost.outbound.send_decision import UNKNOWN_OUTCOME, AwaitStatus, BackoffScope, FinalResult, RetrySend, decide
from gatepost.outbound.send_trace import trace_attempt, trace_call
from gatepost.outbound.sender_state import TICK, SenderState
from gatepost.store.channel_head import StaleOwner
from gatepost.store.messages.intents import Intent
from gatepost.store.messages.send import QueuedMessage, QuotedMessage, SendResult, find_unsent

log = structlog.get_logger("gatepost.send")


class SendAttempt:
    """Sends single messages for a channel's sender."""

    def __init__(self, state: SenderState) -> None:
        self._state = state
        self._clock = state.context.clock
        self._lease = state.context.lease
        self._channel = state.context.channel
        self._alive = state.context.alive
        self._tracer = state.tracer
        self._queue = state.queue
        self._recorder = state.recorder
        self._backoff = state.backoff

    async def send(
        self, network: Network | None, message: QueuedMessage, opens: bool, wall: datetime, waits: str | None = None
    ) -> None:
        """One attempt, from the intent to the result. The recipient is looked up each time: it may have been merged."""
        counted = opens
        try:
            if message.state is State.SENDING and self._gives_up(message, wall):
                await self.finish(message, FinalResult(State.FAILED, error=UNKNOWN_OUTCOME))
                return
            if message.unsent:
                await find_unsent(self._state.context.db, self._lease.channel_id, message)
            intent = Intent(message.id, message.attempt + 1, opens, waits)
            intended = await self._recorder.intend(self._lease, intent)
            counted = opens and not intended.opened
            if not intended.go:
                self._queue.forget(message, self._clock.monotonic())
                return
            message.attempt += 1
            message.state, message.waits_since, message.unknown_noted = State.SENDING, wall, False
            if intended.opened:
                self._queue.recipient_of(message).note_opened(wall)
            receipt = await self._call(network, message)
            counted = counted or (intended.opened and _opened_none(receipt))
            await self._apply(message, receipt, opened=intended.opened)
        except Unavailable:
            message.not_before = self._clock.monotonic() + TICK
        finally:
            self._state.opening -= opens
            if counted:
                self._state.opened.remove(wall)
            self._queue.attempt_done(message, self._clock.monotonic())

    def _gives_up(self, message: QueuedMessage, wall: datetime) -> bool:
        """Whether a message with an unknown outcome is not tried again: each attempt may have reached the person."""
        return message.fail_unknown or message.expires_at <= wall or message.tries >= self._state.rules.attempts

    async def _call(self, network: Network | None, message: QueuedMessage) -> Receipt:
        """The call to the network, and only while the lease holds."""
        if not self._alive():
            raise StaleOwner
        if network is None:
            return SendNotMade("The channel is not connected")
        try:
            media = await self._state.attach(network, message.content, message.type)
            if not isinstance(media, dict):
                return media
            left = await self._state.calls.acquire()
            if not self._alive():  # the files, or the throttle, may have taken long
                raise StaleOwner
            began, wall = time.perf_counter(), self._clock.now() if self._tracer is not None else None
            receipt = await network.send(_outgoing(message, media))
            self._state.recorder.metrics.network_call(time.perf_counter() - began)
            if self._tracer is not None and wall is not None:
                trace_call(self._tracer, message, receipt, wall, self._clock.now())
            self._state.calls.note_answer(left, self._clock.monotonic())
            return await self._with_lost_media(receipt, media)
        except StaleOwner:
            raise
        except Exception as error:  # a message that breaks the adapter must not stop its channel
            log.exception("send failed", channel=self._channel.id, message=message.id.hex)
            title = "The message could not be put into the network's form"
            return SendRefused(NetworkError(0, title, str(error)), ErrorReaction.FINAL)

    async def _with_lost_media(self, receipt: Receipt, media: dict[str, str]) -> Receipt:
        """Retries with a new upload if the network refused the message for a file that it no longer has."""
        if isinstance(receipt, SendRefused) and receipt.files and media and await self._state.forget_media(media):
            return msgspec.structs.replace(receipt, reaction=ErrorReaction.RETRY)
        return receipt

    async def _apply(self, message: QueuedMessage, receipt: Receipt, *, opened: bool) -> None:
        """Applies the decision that follows from the network's answer."""
        recipient = self._queue.recipient_of(message)
        failing = self._failing(message, receipt)
        message.tries += _uses_a_try(receipt)
        verdict = decide(receipt, message.tries, recipient.refusals, self._state.rules, random.random(), failing)
        unopened = opened and _opened_none(receipt)
        if unopened:
            recipient.forget_opened()
        if isinstance(verdict, FinalResult):
            recipient.refusals = 0
            accepted = isinstance(receipt, SendAccepted)
            ends_trouble = accepted and self._backoff.note_accepted(self._clock.monotonic(), opened=opened)
            await self.finish(message, verdict, unopened=unopened)
            if ends_trouble:
                await self._report("connected", "The network accepted a message again.")
        elif isinstance(verdict, RetrySend):
            await self._retry(message, verdict, unopened=unopened)
        else:
            self._await_status(message, verdict)

    def _failing(self, message: QueuedMessage, receipt: Receipt) -> float:
        """Seconds since the first refusal of a kind that is retried for a limited time only."""
        if not isinstance(receipt, SendRefused) or receipt.within is None:
            return 0.0
        now = self._clock.monotonic()
        if message.limited_since is None:
            message.limited_since = now
        return now - message.limited_since

    def _await_status(self, message: QueuedMessage, verdict: AwaitStatus) -> None:
        log.warning("answer lost", channel=self._channel.id, message=message.id.hex, reason=verdict.reason)
        if self._tracer is not None:
            trace_attempt(self._tracer, message, None, self._channel.id, self._clock.now())
        message.not_before = self._clock.monotonic() + verdict.grace

    async def _retry(self, message: QueuedMessage, verdict: RetrySend, *, unopened: bool) -> None:
        """Puts the message back into the queue, to be sent after its wait."""
        wait = verdict.wait
        if verdict.scope is not BackoffScope.NOTHING:
            await self._back_off(verdict)
            if verdict.scope is BackoffScope.NEW and not unopened:  # to us it opens none: nothing else holds it
                wait = self._backoff.new_wait(self._clock.monotonic())
        elif wait:
            self._queue.recipient_of(message).refusals += 1
        next_at = self._clock.now() + timedelta(seconds=wait)
        message.not_before = self._clock.monotonic() + wait
        result = SendResult(
            message.id,
            message.attempt,
            State.QUEUED,
            error=verdict.error,
            next_at=next_at,
            unopened=unopened,
            tries=message.tries,
        )
        if await self._commit(message, result) is State.QUEUED:
            message.state = State.QUEUED
        else:
            self._queue.forget(message, self._clock.monotonic())

    async def _back_off(self, verdict: RetrySend) -> None:
        """Starts a back-off; trouble with the number itself becomes a visible state of the channel."""
        because = str(verdict.error.get("advice") or verdict.error["title"])
        is_new = self._backoff.start(verdict.scope, because, self._clock.monotonic(), verdict.at_least)
        if is_new and verdict.scope is not BackoffScope.CHANNEL:
            await self._report("limited", because, token_rejected=verdict.token_rejected)

    async def _report(self, state: str, because: str, *, token_rejected: bool = False) -> None:
        """Saves the state of the channel. An outage of the database must not end an attempt before its result."""
        await retry_until_available(
            lambda: self._state.report_connection(state, because, token_rejected), self._alive, ended=StaleOwner
        )

    async def finish(
        self, message: QueuedMessage, end: FinalResult, *, unopened: bool = False, waits: str | None = None
    ) -> None:
        """Commits the final result, and removes the message from the queue."""
        alias = end.wa_id if end.wa_id != message.phone else None
        details = {"held": True} if end.held else None
        result = SendResult(
            message.id,
            message.attempt,
            end.state,
            end.network_id,
            end.error,
            send_at=message.send_at,
            alias=alias,
            details=details,
            unopened=unopened,
            waits=waits,
            tries=message.tries,
        )
        state = await self._commit(message, result)
        if state is State.SENDING and end.state is State.EXPIRED:
            await self._take_back(message)
            await self._commit(message, result)
        self._queue.forget(message, self._clock.monotonic())

    async def _take_back(self, message: QueuedMessage) -> None:
        """Undoes an intent that was saved although we did not learn of it, of a message that expired before it left."""
        title = "The database did not answer, and so the message was not sent"
        error = {"code": "not_sent", "title": title, "details": None}
        await self._commit(message, SendResult(message.id, message.attempt + 1, State.QUEUED, error=error))

    async def _commit(self, message: QueuedMessage, result: SendResult) -> State:
        try:
            state = await retry_until_available(
                lambda: self._recorder.finish(self._lease, self._channel, result), self._alive, ended=StaleOwner
            )
        except StaleOwner:
            if result.state is State.SENT:
                self._recorder.finish_late(self._lease, self._channel, result)
            raise
        _log_outcome(self._channel.id, result)
        if self._tracer is not None:
            trace_attempt(self._tracer, message, result, self._channel.id, self._clock.now())
        return state


def _log_outcome(channel_id: str, result: SendResult) -> None:
    """Log how an attempt ended. Of an error only its code: the network's words may contain a number or a text."""
    fields = {"channel": channel_id, "message": ids.message_id(result.message_id), "attempt": result.attempt}
    code = result.error.get("code") if result.error else None
    if result.state is State.SENT:
        log.debug("message sent", **fields)
    elif result.state is State.QUEUED:
        log.info("message is tried again", **fields, code=code, at=result.next_at and result.next_at.isoformat())
    else:
        log.info("message expired" if result.state is State.EXPIRED else "message failed", **fields, code=code)


def _uses_a_try(receipt: Receipt) -> bool:
    """Whether an attempt counts. While the channel or the recipient is held, messages are tried without limit."""
    retried = isinstance(receipt, SendRefused) and receipt.reaction is ErrorReaction.RETRY
    return retried or isinstance(receipt, SendUnknown)


def _opened_none(receipt: Receipt) -> bool:
    """Whether the network certainly has not accepted the message, and so counts no conversation for it."""
    return isinstance(receipt, SendRefused | SendNotMade)


def _outgoing(message: QueuedMessage, media: dict[str, str]) -> Outgoing:
    return Outgoing(
        message.id,
        message.attempt,
        message.phone,
        message.type,
        message.content,
        _quote(message.reply_to),
        _quote(message.target),
        media,
    )


def _quote(quoted: QuotedMessage | None) -> QuotedRef | None:
    return QuotedRef(quoted.network_id, from_me=not quoted.incoming, text=quoted.text) if quoted else None
