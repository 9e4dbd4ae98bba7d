"""The directory: the private id (lid) and name of every number, and whose number is still hidden."""

from typing import Any

from gatepost_sandbox.ids import stream
from gatepost_sandbox.number_forms import network_form
from gatepost_sandbox.people import People
from gatepost_sandbox.qr.frames import Who


class Directory:
    """Numbers and private ids of all members of the network."""

    def __init__(self, seed: int, people: People) -> None:
        self._seed = seed
        self._people = people
        self._lids: dict[str, str] = {}
        self._phones: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self.hidden: set[str] = set()  # people whose number is hidden

    def lid_of(self, phone: str) -> str:
        """Return the private id of a number."""
        lid = self._lids.get(phone)
        if lid is None:
            random = stream(self._seed, "lid", phone)
            while lid is None or lid in self._phones:  # used by a previous owner of this number
                lid = str(random.randrange(10**14, 10**15))
            self._lids[phone], self._phones[lid] = lid, phone
        return lid

    def find(self, who: Who) -> str | None:
        """Return the number of a member of the network; None for anyone else."""
        phone = self._phones.get(who.lid) if who.phone is None and who.lid is not None else who.phone
        return network_form(phone) if phone is not None and self.is_member(phone) else None

    def is_member(self, phone: str) -> bool:
        """Return whether a number is on the network."""
        return _is_phone(phone) and self._people.find(phone).character != "absent"

    def rename(self, phone: str, name: str) -> None:
        """Change the name of a member."""
        self._names[phone] = name

    def move(self, old: str, new: str) -> None:
        """Change the number of a member, unless that was done already. The private id stays the same."""
        if old not in self._lids and new in self._lids:
            return
        lid = self.lid_of(old)
        del self._lids[old]
        self._lids[new], self._phones[lid] = lid, new
        if old in self._names:
            self._names[new] = self._names.pop(old)

    def show(self, phone: str, *, named: bool = False) -> dict[str, Any]:
        """Return a member as the network shows them."""
        shown = {} if phone in self.hidden else {"phone": phone}
        shown["lid"] = self.lid_of(phone)
        if named:
            shown["name"] = self._names.get(phone) or self._people.find(phone).name
        return shown


def _is_phone(phone: str) -> bool:
    return phone.isascii() and phone.isdigit() and 7 <= len(phone) <= 15
