"""The network itself, as its doors see it: numbers come and go, messages come in, answers go out.

sending.py    a business's message: checks, gate, pace, journey         incoming/    what people send
standing.py   tier, throughput, quality, status                         switchboard.py    what they all share
"""

from gatepost_sandbox.incoming import Incoming, deliver_incoming
from gatepost_sandbox.messages import MarkRead, Send
from gatepost_sandbox.network_state import Answer, NetworkState
from gatepost_sandbox.numbers import Number
from gatepost_sandbox.sending import receive_send
from gatepost_sandbox.settings import SandboxSettings

__all__ = ["Answer", "Network"]


class Network(NetworkState):
    """One simulated network with its clock, numbers, people, faults and ledger."""

    async def remove(self, phone_number_id: str) -> bool:
        """Forget a number and whatever was on its way."""
        number = self.numbers.pop(phone_number_id, None)
        if number is not None:
            await number.outbox.close()
        return number is not None

    def reconfigure(self, settings: SandboxSettings) -> None:
        """Take on changed global settings."""
        self.settings = settings
        self.people.default_character = settings.default_character
        self.people.echo_suffix = settings.echo_suffix
        self.people.user_ids = settings.user_ids
        self.media.capacity = settings.management.media_bytes
        for number in self.numbers.values():
            number.configure(number.spec, settings)

    async def settled(self) -> None:
        """Wait until no callback is queued or on the wire."""
        for number in list(self.numbers.values()):
            await number.outbox.settled()

    async def close(self) -> None:
        """Stop everything."""
        self.clock.close()
        for number in self.numbers.values():
            number.outbox.stop()
        for number in self.numbers.values():
            await number.outbox.close()

    def resume(self, elapsed: float) -> None:
        """Go on after a replay, so many real seconds after its end."""
        for number in self.numbers.values():
            number.outbox.resume()
        self.clock.resume(elapsed)

    def receive_mark(self, number: Number, mark: MarkRead, request_id: str) -> Answer:
        """Take a read mark."""
        self.ledger.count(number.id, "reads")
        self.ledger.put("read", (self.clock.now(), number.id, None, mark.message_id, mark.typing, request_id))
        return Answer(200, b'{"success":true}', request_id)

    def receive_send(self, number: Number, send: Send, request_id: str) -> Answer:
        """Take a message, or refuse it."""
        return receive_send(self, number, send, request_id)

    def say(self, number: Number, person: str, text: str, *, name: str | None = None, quote: str | None = None) -> str:
        """A person writes to a number; returns the id of the message."""
        said = Incoming(person=person, type="text", content={"body": text}, name=name, reply_to=quote)
        return deliver_incoming(self, number, said)
