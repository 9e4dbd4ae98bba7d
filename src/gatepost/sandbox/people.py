"""The people at the other end: how each one treats a message, and what each one answers."""

import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from gatepost.sandbox.settings import CharacterName, Phone, Seconds


class Character(msgspec.Struct, frozen=True):
    """How a person's phone and thumb behave."""

    pace: float = 1.0  # multiplies every delay
    delivered: bool = True
    read: bool = True
    reachable: bool = True


CHARACTERS: dict[CharacterName, Character] = {
    "normal": Character(),
    "quick": Character(pace=0.2),
    "slow": Character(pace=10.0),
    "silent": Character(read=False),  # read receipts are off
    "offline": Character(delivered=False, read=False),  # the phone never comes back
    "absent": Character(reachable=False),  # not on the network
    "blocked": Character(reachable=False),  # the network does not tell it from absent
}


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a person's script; `{text}` in the answer stands for what was received."""

    text: str
    pattern: str = ""  # regular expression, searched for in the text; "" matches any text
    delay: Seconds = 1.0  # seconds after the message was read (or delivered, by a silent person)
    times: int | None = None


class Person(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody with a phone."""

    phone: Phone
    name: str
    character: CharacterName = "normal"
    replies: tuple[Reply, ...] = ()


def check_person(person: Person) -> str | None:
    """What is wrong with a person, in words, or None."""
    for reply in person.replies:
        try:
            re.compile(reply.pattern)
        except re.error as error:
            return f"pattern {reply.pattern!r} is not a regular expression: {error}"
    return None


def default_name(phone: str) -> str:
    """The profile name of somebody nobody introduced."""
    return f"Person {phone[-4:]}"


class People:
    """Everybody with a script or a character of their own; all others are strangers with the default one."""

    def __init__(self, default_character: CharacterName, echo_suffix: str) -> None:
        self.default_character = default_character
        self.echo_suffix = echo_suffix
        self._known: dict[str, Person] = {}
        self._answered: Counter[tuple[str, int]] = Counter()

    def put(self, person: Person) -> None:
        """Introduce a person, or change one; the script starts anew."""
        self.remove(person.phone)
        self._known[person.phone] = person

    def remove(self, phone: str) -> bool:
        """Make a person a stranger again."""
        for key in [key for key in self._answered if key[0] == phone]:
            del self._answered[key]
        return self._known.pop(phone, None) is not None

    def known(self) -> Iterable[Person]:
        """Everybody who was introduced."""
        return self._known.values()

    def find(self, phone: str) -> Person:
        """The person with this number, stranger or not."""
        person = self._known.get(phone)
        if person is not None:
            return person
        echo = (Reply(text="echo: {text}"),) if self._echoes(phone) else ()
        return Person(phone=phone, name=default_name(phone), character=self.default_character, replies=echo)

    def character(self, phone: str) -> Character:
        """How the person with this number behaves."""
        person = self._known.get(phone)
        return CHARACTERS[self.default_character if person is None else person.character]

    def reply_to(self, phone: str, text: str) -> Reply | None:
        """The line this person's script has for a text, already filled in; None for silence."""
        if phone not in self._known and not self._echoes(phone):
            return None
        for index, reply in enumerate(self.find(phone).replies):
            if reply.times is not None and self._answered[phone, index] >= reply.times:
                continue
            if re.search(reply.pattern, text):
                self._answered[phone, index] += reply.times is not None
                return msgspec.structs.replace(reply, text=reply.text.replace("{text}", text))
        return None

    def _echoes(self, phone: str) -> bool:
        return bool(self.echo_suffix) and phone.endswith(self.echo_suffix)
