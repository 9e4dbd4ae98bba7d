"""The people who receive messages: how each one reacts, and what each one replies."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatepost_sandbox.number_forms import network_form
from gatepost_sandbox.settings import CharacterName, Phone, Seconds

UserId = Annotated[str, Meta(pattern=r"^[A-Z]{2}\.[A-Za-z0-9.]+$", max_length=256)]


Reads = Literal["automatic", "when_open", "never"]


class Character(msgspec.Struct, frozen=True):
    """How a person and their phone react to messages."""

    pace: float = 1.0  # multiplies every delay
    delivered: bool = True
    read: bool = True
    reachable: bool = True
    in_chat: bool = False  # has the chat open: reads immediately, and `delivered` is never reported


CHARACTERS: dict[CharacterName, Character] = {
    "normal": Character(),
    "quick": Character(pace=0.2),
    "slow": Character(pace=10.0),
    "in_chat": Character(in_chat=True),
    "silent": Character(read=False),  # read receipts are off
    "offline": Character(delivered=False, read=False),  # the phone never comes back
    "absent": Character(reachable=False),  # not on the network
    "blocked": Character(reachable=False),  # the network reports it as absent
}


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a person's script: when it applies, and the one thing the person then does.

    `{text}` in `text` is replaced by the received text. A line that is impossible, such as a tap on a button that does
    not exist, is skipped.
    """

    text: str = ""  # the reply
    pattern: str = ""  # regular expression, searched for in the text; "" matches any text
    on: str = ""  # type of what was received, as "image", "interactive" or "interactive.list"; "" is any but a reaction
    delay: Seconds = 1.0  # seconds after the message was read (or delivered, by a silent person)
    times: int | None = None
    tap: int | str | None = None  # tap the button in this place, with this id, or with this title
    pick: int | str | None = None  # choose the row of a list, likewise
    react: str | None = None  # react with this emoji
    order: dict[str, Any] | None = None  # order the products that were shown: quantity, item_price, currency, text
    submit: dict[str, Any] | None = None  # fill in the flow or address form like this
    send: dict[str, Any] | None = None  # send any message, as in the control API: type and content


class Person(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A person with a phone number."""

    phone: Phone
    name: str
    character: CharacterName = "normal"
    replies: tuple[Reply, ...] = ()
    user_id: UserId | None = None  # identifies a person who may hide the phone number
    username: str | None = None
    phone_hidden: bool = False
    identity_hash: str | None = None
    reads: Reads = "automatic"  # by character; when the chat is opened by the control API; never

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "phone", network_form(self.phone))


class Received(msgspec.Struct, frozen=True):
    """A message as the person sees it: its type, its text, and its buttons, rows and products."""

    type: str
    text: str
    wamid: str = ""
    buttons: tuple[dict[str, str], ...] = ()  # id, title, and kind: reply or quick_reply
    rows: tuple[dict[str, str], ...] = ()
    catalog_id: str | None = None
    products: tuple[str, ...] = ()
    form: str | None = None  # flow or address_message


def check_person(person: Person) -> str | None:
    """Return what is wrong with a person, or None."""
    if person.phone_hidden and person.user_id is None:
        return "somebody with a hidden phone number needs a user_id"
    for reply in person.replies:
        try:
            re.compile(reply.pattern)
        except re.error as error:
            return f"pattern {reply.pattern!r} is not a regular expression: {error}"
        actions = (reply.text or None, reply.tap, reply.pick, reply.react, reply.order, reply.submit, reply.send)
        if sum(action is not None for action in actions) != 1:
            return "a reply does exactly one of text, tap, pick, react, order, submit and send"
    return None


def matches(reply: Reply, received: Received) -> bool:
    """Return whether a line of a script is about this message."""
    kind = received.type
    of_kind = kind != "reaction" if not reply.on else kind == reply.on or kind.startswith(f"{reply.on}.")
    return of_kind and re.search(reply.pattern, received.text) is not None


def default_name(phone: str) -> str:
    """Return the profile name of a person without a profile."""
    return f"Person {phone[-4:]}"


def default_user_id(phone: str) -> str:
    """Return the user id of a person without a profile."""
    return f"US.{int(f'1{phone}') * 31}"


def phone_behind(user_id: str) -> str | None:
    """Return the phone number of a default user id."""
    digits = user_id.removeprefix("US.")
    number, rest = divmod(int(digits), 31) if digits.isdigit() else (0, 1)
    return None if rest else str(number)[1:]


class People:
    """All people with a profile; anyone else has the default character."""

    def __init__(self, default_character: CharacterName, echo_suffix: str) -> None:
        self.default_character = default_character
        self.echo_suffix = echo_suffix
        self.user_ids = False  # whether people without a profile have user ids
        self._known: dict[str, Person] = {}
        self._phones: dict[str, str] = {}  # by user id
        self._reads: dict[str, Reads] = {}  # of people who do not read by themselves
        self._answered: Counter[tuple[str, int]] = Counter()

    def put(self, person: Person) -> None:
        """Create or replace a person's profile; the script starts over."""
        self.remove(person.phone)
        self._known[person.phone] = person
        if person.reads != "automatic":
            self._reads[person.phone] = person.reads
        if person.user_id is not None:
            self._phones[person.user_id] = person.phone

    def identify(self, phone: str, user_id: str | None, *, hidden: bool | None) -> None:
        """Keep the user id of a person, and whether the number is hidden from businesses. None is as before."""
        person = self.find(phone)
        kept = msgspec.structs.replace(
            person,
            user_id=user_id or person.user_id,
            phone_hidden=person.phone_hidden if hidden is None else hidden,
        )
        if kept == person:
            return
        self._known[kept.phone] = kept
        if person.user_id is not None:
            self._phones.pop(person.user_id, None)
        if kept.user_id is not None:
            self._phones[kept.user_id] = kept.phone

    def remove(self, phone: str) -> bool:
        """Delete a person's profile."""
        phone = network_form(phone)
        for key in [key for key in self._answered if key[0] == phone]:
            del self._answered[key]
        person = self._known.pop(phone, None)
        self._reads.pop(phone, None)
        if person is not None and person.user_id is not None:
            self._phones.pop(person.user_id, None)
        return person is not None

    def move(self, old: str, new: str) -> None:
        """Give a person's profile and the state of the script to a new number."""
        person = self._known.get(old)
        if person is not None:
            answered = {key[1]: count for key, count in self._answered.items() if key[0] == old}
            self.remove(old)
            self.put(msgspec.structs.replace(person, phone=new))
            self._answered.update({(new, index): count for index, count in answered.items()})

    def has_profile(self, phone: str) -> bool:
        """Return whether there is a profile with this number."""
        return phone in self._known

    def known(self) -> Iterable[Person]:
        """Return all people with a profile."""
        return self._known.values()

    def introduced(self, phone: str) -> Person | None:
        """Return the person with this number if they have a profile, or if every person has a user id.

        Nobody has an unknown user id, which a message may be sent to instead.
        """
        return self.find(phone) if self.user_ids and phone.isdigit() else self._known.get(phone)

    def find(self, phone: str) -> Person:
        """Return the person with this number, with the default profile if they have none."""
        phone = network_form(phone)
        person = self._known.get(phone)
        if person is None:
            echo = (Reply(text="echo: {text}"),) if self._echoes(phone) else ()
            person = Person(phone=phone, name=default_name(phone), character=self.default_character, replies=echo)
        if self.user_ids and person.user_id is None:
            return msgspec.structs.replace(person, user_id=default_user_id(phone))
        return person

    def known_name(self, phone: str, name: str | None) -> str:
        """Return the name of a profile; of a person without one, the given or the default name."""
        person = self._known.get(phone)
        return person.name if person is not None else name or default_name(phone)

    def phone_of(self, user_id: str) -> str | None:
        """Return the phone number behind a user id."""
        return self._phones.get(user_id) or (phone_behind(user_id) if self.user_ids else None)

    def character(self, phone: str) -> Character:
        """Return the character of the person with this number."""
        character = self._character(phone)
        if phone in self._reads:
            return msgspec.structs.replace(character, read=False, in_chat=False)
        return character

    def _character(self, phone: str) -> Character:
        person = self._known.get(phone)
        return CHARACTERS[self.default_character if person is None else person.character]

    def reads_unasked(self, phone: str) -> bool:
        """Return whether this person reads according to their character, without opening a chat."""
        return phone not in self._reads

    def sends_receipts(self, phone: str) -> bool:
        """Return whether a business learns that this person opened a chat."""
        return self._reads.get(phone) != "never" and self._character(phone).read

    def answers(self, phone: str) -> bool:
        """Return whether this person may reply at all."""
        return phone in self._known or self._echoes(phone)

    def reply_to(self, phone: str, text: str) -> Reply | None:
        """Return the reply of this person's script to a plain text, or None."""
        return self.react_to(phone, Received("text", text), lambda reply, _: bool(reply.text))

    def react_to(self, phone: str, received: Received, possible: Callable[[Reply, Received], bool]) -> Reply | None:
        """Return the first line of the person's script that matches, has repetitions left and is possible; or None."""
        if not self.answers(phone):
            return None
        for index, reply in enumerate(self.find(phone).replies):
            if reply.times is not None and self._answered[phone, index] >= reply.times:
                continue
            if matches(reply, received) and possible(reply, received):
                self._answered[phone, index] += reply.times is not None
                return msgspec.structs.replace(reply, text=reply.text.replace("{text}", received.text))
        return None

    def _echoes(self, phone: str) -> bool:
        return bool(self.echo_suffix) and phone.endswith(self.echo_suffix)
