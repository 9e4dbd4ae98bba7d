"""The queue while contacts are joined, in any order and at any time: one line per person, in order, nothing lost."""

from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gatepost.model.message import State
from gatepost.outbound.queue import BULK, BUSY, CHAT, IDLE, PARKED, TIER, SendQueue
from gatepost.store.messages.queue import QueuedState
from gatepost.store.messages.send import QueuedMessage
from tests.outbound.test_queue import queued

PHONES = [f"551199999000{i}" for i in range(3)]  # few, so that they meet often


class Joins(RuleBasedStateMachine):
    """Acts as a sender and a database in which contacts are merged; the queue learns of it at once, or later."""

    @initialize()
    def begin(self) -> None:
        self.queue = SendQueue()
        self.now, self.count = 100.0, 0
        self.contacts = {phone: UUID(int=int(phone)) for phone in PHONES}
        self.rows: dict[UUID, UUID] = {}  # for whom each message is, as the database says
        self.waiting: list[QueuedMessage] = []
        self.in_flight: list[QueuedMessage] = []

    @rule(phone=st.sampled_from(PHONES), bulk=st.booleans(), delay=st.sampled_from([0.0, 0.0, 5.0]))
    def add(self, phone: str, bulk: bool, delay: float) -> None:
        self.count += 1
        message = queued(self.count, phone, bulk=bulk, not_before=self.now + delay if delay else 0.0)
        message.contact_id = self.rows[message.id] = self.contacts[phone]
        self.waiting.append(message)
        self.queue.add(message, self.now)

    @rule(one=st.sampled_from(PHONES), other=st.sampled_from(PHONES), received=st.booleans())
    def join(self, one: str, other: str, received: bool) -> None:
        stays, goes = self.contacts[one], self.contacts[other]
        self.contacts = {phone: stays if id_ == goes else id_ for phone, id_ in self.contacts.items()}
        self.rows = {message: stays if id_ == goes else id_ for message, id_ in self.rows.items()}
        if received:
            self.report()

    @rule()
    def report(self) -> None:
        for message in self.waiting:
            row = QueuedState(message.id, State.QUEUED, self.rows[message.id], message.phone, None, None)
            self.queue.apply_change(row, self.now)

    @rule(phone=st.sampled_from(PHONES))
    def give_away(self, phone: str) -> None:
        """The number belongs to somebody else from now on."""
        self.count += 1
        self.contacts[phone] = UUID(int=10**20 + self.count)

    @rule(to=st.sampled_from([BUSY, BUSY, BUSY, PARKED, TIER]))
    def start(self, to: str) -> None:
        found = self.queue.peek()
        if found is None:
            return
        recipient, message = found
        assert message.not_before <= self.now, "not before its time"
        assert message.contact_id not in {other.contact_id for other in self.in_flight}, "one in flight per person"
        theirs = [m for m in self.waiting if m.contact_id == message.contact_id or m.phone == message.phone]
        assert message is min(theirs, key=lambda m: (m.bulk, m.id)), "in order, chat before bulk"
        self.queue.take(recipient, to)
        if to == PARKED:
            self.queue.park(recipient, self.now + 3)
        elif to == BUSY:
            self.in_flight.append(message)

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data(), done=st.booleans())
    def come_back(self, data: st.DataObject, done: bool) -> None:
        message = data.draw(st.sampled_from(self.in_flight))
        if not done:
            message.not_before = self.now + 4
        self.attempt_done(message, done=done)

    def attempt_done(self, message: QueuedMessage, *, done: bool) -> None:
        self.in_flight = [other for other in self.in_flight if other is not message]
        if done:
            self.waiting = [other for other in self.waiting if other is not message]
            self.queue.forget(message, self.now)
        self.queue.attempt_done(message, self.now)

    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        resting = [message for message in self.waiting if message not in self.in_flight]
        if resting:
            message = data.draw(st.sampled_from(resting))
            self.waiting.remove(message)
            self.queue.withdraw(message, self.now)
            self.queue.forget(message, self.now)

    @rule(seconds=st.sampled_from([0.5, 3.0, 10.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.queue.wake_parked(self.now)

    @rule()
    def free_the_tier(self) -> None:
        for recipient, _ in self.queue.waiting_for_tier():
            self.queue.enqueue(recipient, self.now)

    @invariant()
    def everybody_has_the_place_that_fits(self) -> None:
        assert len(self.queue) == len(self.waiting)
        assert self.queue.weights[True] == sum(message.bulk for message in self.waiting)
        busy = {id(self.queue.recipient_of(message)) for message in self.in_flight}
        for message in self.waiting:
            recipient = self.queue.recipient_of(message)
            assert message in (recipient.bulk if message.bulk else recipient.chat)
            assert self.queue._recipients[message.contact_id] is recipient
            assert (recipient.place == BUSY) is (id(recipient) in busy)
            assert recipient.place != IDLE
            assert recipient.place not in (CHAT, BULK) or recipient in self.queue._ready[recipient.place]
            assert recipient.place != PARKED or recipient in [parked for _, _, parked in self.queue._parked]

    def teardown(self) -> None:
        """Nothing is lost: with time and patience everything comes out."""
        self.report()
        for _ in range(self.count * 3 + 1):
            for message in list(self.in_flight):
                self.attempt_done(message, done=True)
            self.wait(100)
            self.free_the_tier()
            self.start(BUSY)
        assert len(self.queue) == 0


Joins.TestCase.settings = settings(max_examples=100, stateful_step_count=40)
TestJoins = Joins.TestCase
