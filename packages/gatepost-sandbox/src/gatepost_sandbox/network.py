"""The network: registering numbers, receiving messages.

sending.py        messages of a business          incoming/           messages of people
number_status.py  tier, throughput, quality …     network_state.py    the state that they share
"""

from gatepost_sandbox.incoming import Incoming, deliver_incoming
from gatepost_sandbox.messages import MarkRead, Send
from gatepost_sandbox.network_state import Answer, NetworkState, show_typing
from gatepost_sandbox.numbers import Number
from gatepost_sandbox.sending import receive_send
from gatepost_sandbox.settings import SandboxSettings

__all__ = ["Answer", "Network"]


class Network(NetworkState):
    """One simulated network with its clock, numbers, people, faults and ledger."""

    async def remove(self, phone_number_id: str) -> bool:
        """Remove a number and its pending callbacks."""
        number = self.numbers.pop(phone_number_id, None)
        if number is not None:
            self.chats.forget_number(phone_number_id)
            self.watch.changed("all")
            await number.outbox.close()
        return number is not None

    def reconfigure(self, settings: SandboxSettings) -> None:
        """Apply changed global settings."""
        self.settings = settings
        self.people.default_character = settings.default_character
        self.people.echo_suffix = settings.echo_suffix
        self.people.user_ids = settings.user_ids
        self.media.capacity = settings.management.media_bytes
        for number in self.numbers.values():
            number.configure(number.spec, settings)

    async def settled(self) -> None:
        """Wait until no callback is queued or in flight."""
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
        """Continue after a replay that ended `elapsed` real seconds ago."""
        for number in self.numbers.values():
            number.outbox.resume()
        self.clock.resume(elapsed)

    def receive_mark(self, number: Number, mark: MarkRead, request_id: str) -> Answer:
        """Handle a read mark."""
        self.ledger.count(number.id, "reads")
        self.ledger.put("read", (self.clock.now(), number.id, None, mark.message_id, mark.typing, request_id))
        chat = self.chats.mark_read(number.id, mark.message_id, self.clock.now(), earlier=True)
        if chat is not None and mark.typing:
            show_typing(self, chat)
        return Answer(200, b'{"success":true}', request_id)

    def receive_send(self, number: Number, send: Send, request_id: str) -> Answer:
        """Accept or refuse a message."""
        return receive_send(self, number, send, request_id)

    def say(self, number: Number, person: str, text: str, *, name: str | None = None, quote: str | None = None) -> str:
        """Send a text to a number as a person; return the id of the message."""
        said = Incoming(person=person, type="text", content={"body": text}, name=name, reply_to=quote)
        return deliver_incoming(self, number, said)
