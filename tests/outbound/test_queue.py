"""The queue against a model of it: order per recipient, one place at a time, chat before bulk, and nothing lost."""

from collections import Counter
from datetime import UTC, datetime
from uuid import UUID

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gatepost.model.message import State
from gatepost.outbound.queue import BULK, BUSY, CHAT, PARKED, TIER, QueuedRecipient, SendQueue
from gatepost.store.messages.send import QueuedMessage

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
PHONES = [f"551199999000{i}" for i in range(4)]


def queued(number: int, phone: str, *, bulk: bool = False, not_before: float = 0.0) -> QueuedMessage:
    return QueuedMessage(
        id=UUID(int=number),
        contact_id=UUID(int=int(phone)),
        phone=phone,
        type="text",
        content="{}",
        bulk=bulk,
        fail_unknown=False,
        attempt=0,
        state=State.QUEUED,
        created_at=NOW,
        expires_at=NOW,
        send_at=None,
        next_at=None,
        reply_to=None,
        last_in_at=None,
        opened_at=None,
        not_before=not_before,
    )


class Story(msgspec.Struct):
    """What the model remembers of one recipient: all that was added, and what is still to come."""

    waiting: list[QueuedMessage] = []
    in_flight: QueuedMessage | None = None

    def first(self) -> QueuedMessage | None:
        return next(iter(sorted(self.waiting, key=lambda m: (m.bulk, m.id))), None)


class Traffic(RuleBasedStateMachine):
    """Acts as a sender: adds, starts, finishes, retries, backs off, expires."""

    @initialize()
    def begin(self) -> None:
        self.queue = SendQueue()
        self.now = 100.0
        self.count = 0
        self.story = {phone: Story() for phone in PHONES}

    @rule(phone=st.sampled_from(PHONES), bulk=st.booleans(), delay=st.sampled_from([0.0, 0.0, 0.0, 5.0]))
    def add(self, phone: str, bulk: bool, delay: float) -> None:
        self.count += 1
        message = queued(self.count, phone, bulk=bulk, not_before=self.now + delay if delay else 0.0)
        self.story[phone].waiting.append(message)
        self.queue.add(message, self.now)

    @rule(to=st.sampled_from([BUSY, BUSY, BUSY, PARKED, TIER]))
    def start(self, to: str) -> None:
        found = self.queue.peek()
        if found is None:
            return
        recipient, message = self.check(found)
        self.queue.take(recipient, to)
        if to == PARKED:
            self.queue.park(recipient, self.now + 3)
        elif to == BUSY:
            self.story[message.phone].in_flight = message

    def check(self, found: tuple[QueuedRecipient, QueuedMessage]) -> tuple[QueuedRecipient, QueuedMessage]:
        _, message = found
        story = self.story[message.phone]
        assert story.in_flight is None, "one message in flight per recipient"
        assert message is story.first(), "in order, chat before bulk"
        assert message.not_before <= self.now, "not before its time"
        if message.bulk:
            assert CHAT not in {self.queue.recipient_of(m).place for m in self.queue.messages()}, "chat goes ahead"
        return found

    @precondition(lambda self: any(s.in_flight for s in self.story.values()))
    @rule(data=st.data(), outcome=st.sampled_from(["done", "done", "again", "lost"]))
    def come_back(self, data: st.DataObject, outcome: str) -> None:
        story = data.draw(st.sampled_from([s for s in self.story.values() if s.in_flight]))
        message, story.in_flight = story.in_flight, None
        assert message is not None
        if outcome == "done":
            story.waiting.remove(message)
            self.queue.forget(message, self.now)
        else:
            message.not_before = self.now + (4 if outcome == "again" else 30)
        self.queue.attempt_done(message, self.now)

    @precondition(lambda self: len(self.queue) > 0)
    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        resting = [m for s in self.story.values() for m in s.waiting if m is not s.in_flight]
        if resting:
            message = data.draw(st.sampled_from(resting))
            self.story[message.phone].waiting.remove(message)
            self.queue.withdraw(message, self.now)
            self.queue.forget(message, self.now)

    @rule(seconds=st.sampled_from([0.5, 3.0, 10.0, 40.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.queue.wake_parked(self.now)

    @rule()
    def forget_idle(self) -> None:
        self.queue.forget_idle(self.now)

    @rule()
    def free_the_tier(self) -> None:
        for recipient, message in self.queue.waiting_for_tier():
            assert message is self.story[message.phone].first()
            self.queue.enqueue(recipient, self.now)

    @invariant()
    def what_waits_is_counted_by_its_rule(self) -> None:
        recipients = {id(one): one for one in self.queue._recipients.values()}.values()
        rules = [one.causes.now.rule for one in recipients if one.causes.now]
        assert {rule: count for rule, count in self.queue.waiting.items() if count} == dict(Counter(rules))

    @invariant()
    def counts_agree(self) -> None:
        waiting = [m for s in self.story.values() for m in s.waiting]
        assert len(self.queue) == len(waiting)
        assert self.queue.weights == {bulk: sum(m.bulk is bulk for m in waiting) for bulk in (False, True)}
        assert all(m.id in self.queue for m in waiting)

    @invariant()
    def whoever_waits_has_a_place(self) -> None:
        for story in self.story.values():
            if story.waiting:
                place = self.queue.recipient_of(story.waiting[0]).place
                assert place in ((BUSY,) if story.in_flight else (CHAT, BULK, PARKED, TIER))
                assert place != PARKED or self.queue.next_wake() is not None

    def teardown(self) -> None:
        """Nothing is lost: with time and patience everything comes out, in order."""
        for story in self.story.values():
            if story.in_flight:
                message, story.in_flight = story.in_flight, None
                self.queue.attempt_done(message, self.now)
        for _ in range(self.count * 3 + 1):
            self.wait(100)
            self.free_the_tier()
            if self.queue.peek() is None:
                break
            self.start(BUSY)
            for story in self.story.values():
                if (landed := story.in_flight) is not None:
                    story.in_flight = None
                    story.waiting.remove(landed)
                    self.queue.forget(landed, self.now)
                    self.queue.attempt_done(landed, self.now)
        assert len(self.queue) == 0


Traffic.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestTraffic = Traffic.TestCase


def test_many_recipients_are_served_in_turn() -> None:
    queue = SendQueue()
    for number in range(9):
        queue.add(queued(number + 1, PHONES[number % 3]), 0.0)
    served = []
    while (found := queue.peek()) is not None:
        recipient, message = found
        queue.take(recipient, BUSY)
        served.append(message.id.int)
        queue.forget(message, 0.0)
        queue.attempt_done(message, 0.0)
    assert served == list(range(1, 10))


def test_a_reply_overtakes_the_campaign_it_was_queued_behind() -> None:
    queue = SendQueue()
    for number in range(100):
        queue.add(queued(number + 1, f"55119{number:08d}", bulk=True), 0.0)
    queue.add(queued(101, "5511900000050"), 0.0)
    found = queue.peek()
    assert found is not None
    assert found[1].id.int == 101


def test_idle_recipients_are_forgotten_but_not_while_their_pair_limit_counts() -> None:
    queue = SendQueue()
    for number in range(100):
        message = queued(number + 1, f"55119{number:08d}")
        queue.add(message, 0.0)
        found = queue.peek()
        assert found is not None
        found[0].pair_due = 50.0 if number < 10 else 1.0
        queue.take(found[0], BUSY)
        queue.forget(message, 0.0)
        queue.attempt_done(message, 0.0)
    queue.forget_idle(0.0)
    assert len(queue._recipients) == 200, "each by number and contact"
    queue.forget_idle(9.9)
    assert len(queue._recipients) == 200, "not looked at so soon"
    queue.forget_idle(10.0)
    assert len(queue._recipients) == 20
    remembered = queue.recipient_of(queued(0, "5511900000003"))
    assert remembered.pair_due == 50.0
    queue.forget_idle(50.0)
    assert not queue._recipients
