"""The phone line: a channel linked by the real library, in the real child, to a network of phones on loopback."""

from base64 import b64decode, b64encode
from itertools import count
from typing import Any
from uuid import UUID

from tests.conformance.line import File, Sample, Taken
from tests.conformance.linked_line import LinkedLine
from tests.conformance.phone_messages import OWN, SERVER, edited, file_handle, marked, read, said, taken, vote
from tests.conformance.phone_people import HABITS, People
from tests.networks.qr.phones import Network
from tests.running_gateway import Gateway

_ids = count(1)
_REFUSALS = {"banned": 402, "outdated_client": 405}


class PhoneLine(LinkedLine):
    """Knows the network's phones."""

    own_types = OWN
    final_code, passing_code = 403, 500
    tells_why = False

    def __init__(
        self, gateway: Gateway, channel_id: UUID, session: str, phone: str, key: str, *, network: Network
    ) -> None:
        super().__init__(gateway, channel_id, session, phone, key)
        self.network = network
        self.people = People(network, phone, self._until_sent)
        self._copies: dict[str, int] = {}
        self._said: dict[str, Any] = {}

    @property
    def place(self) -> str:
        return self.phone

    async def do(self, what: str, **fields: Any) -> Any:
        """Something happens on the network, to this phone."""
        return await self.network.do(what, account=self.phone, **fields)

    async def link(self) -> None:
        assert (await self.call("POST", "/channel/connect")).status == 200
        code = (await self.get("/channel/qr"))["code"]
        await self.network.do("scan", qr=code, phone=self.phone, name="Shop", business=True)
        await self.until_state("connected")

    async def type_code(self, code: str) -> None:
        await self.network.do("type_code", code=code.replace("-", ""), phone=self.phone, name="Shop")

    async def end(self, reason: str) -> None:
        """Some ends come only when the device signs in again."""
        if reason in _REFUSALS:
            await self.network.do("refuse_connections", code=_REFUSALS[reason])
        await self.do({"logged_out": "log_out", "replaced": "replace"}.get(reason, "drop"))

    async def heal(self) -> None:
        await self.network.do("refuse_connections", code=None)

    async def is_linked(self) -> bool:
        return bool(await self._devices())

    async def unacknowledged(self) -> int:
        return sum(one["unconfirmed"] for one in await self._devices())

    async def _devices(self) -> list[Any]:
        devices = (await self.network.do("state"))["devices"]
        return [one for one in devices if one["jid"].partition(":")[0] == self.phone]

    async def close(self) -> None:
        await self.people.close()

    async def _until_sent(self, message_id: str) -> Any:
        return await self.until_status(message_id, "SENT")

    # -- people -------------------------------------------------------------------------------------------------------

    async def send(self, phone: str | None = None, **fields: Any) -> str:
        if phone is not None:
            await self.people.meet(phone)
        return await super().send(phone, **fields)

    async def introduce(self, person: str, **traits: Any) -> None:
        character = traits["character"]
        if character == "absent":
            self.people.absent.add(person)
            return
        await self.people.meet(person, traits.get("name"))
        self.people.habit(person).shows = HABITS[character]

    async def say(
        self,
        person: str,
        type_: str,
        content: dict[str, Any],
        *,
        name: str | None = None,
        file: File | None = None,
        reply_to: str | None = None,
        target: str | None = None,
        forwarded: bool = False,
    ) -> str:
        if file:
            kept = await self.network.do("upload", bytes=b64encode(file.content).decode(), kind=type_)
            content = {**content, "media": {"handle": file_handle(type_, file.mime_type, kept)}}
        if type_ == "poll_vote":
            message = self._vote(person, content, target or "")
        elif type_ == "edit":
            message = edited(self._said[target or ""], content["edit"]["content"], self.phone, target or "")
        else:
            message = said(type_, content, self.phone, target)
        if forwarded or reply_to:
            writer = person if reply_to in self._said else self.phone
            message = marked(message, forwarded=forwarded, reply_to=reply_to, writer=writer)
        return await self.arrive(person, message, name=name)

    async def bring(self, person: str, sample: Sample) -> str:
        return await self.arrive(person, sample.comes["said"])

    async def say_from_phone(self, person: str, body: str) -> str:
        return await self.arrive(person, said("text", {"body": body}, person), command="say_as_owner")

    async def arrive(
        self, person: str, message: Any, *, name: str | None = None, command: str = "say", **more: Any
    ) -> str:
        """A message is written under a fresh id, as often as it is to come."""
        await self.people.meet(person, name)
        id_ = f"3A{next(_ids):030X}"
        self._said[id_] = message
        whom = {"say_as_owner": "to"}.get(command, "from")
        written = {whom: person, "id": id_, "message": b64encode(message.SerializeToString()).decode()}
        for _ in range(self._copies.get(person, 1)):
            await self.do(command, **written, **more)
        return id_

    async def say_hidden(self, person: str, body: str, name: str | None = None) -> str:
        return await self.arrive(person, said("text", {"body": body}, self.phone), name=name, hidden=True)

    async def reveal(self, person: str, name: str) -> None:
        await self.do("contact", phone=person, name=name)

    async def say_in_group(self, person: str, body: str, chat: dict[str, str]) -> str:
        return await self.arrive(person, said("text", {"body": body}, self.phone), name="Ana", group=chat["id"])

    async def label(self, id_: str, action: str, **about: Any) -> None:
        match action:
            case "assigned" | "removed":
                await self.do("assign", label=id_, to=about["person"], on=action == "assigned")
            case _:
                await self.do("label", id=id_, deleted=action == "deleted", **about)

    def _vote(self, person: str, content: dict[str, Any], poll: str) -> Any:
        """Sealed with what only the poll and its voters know."""
        asked = next(one for one in self._seen() if one["id"] == poll)
        names = f"{self.phone}@{SERVER}", f"{person}@{SERVER}"
        return vote(poll, read(asked).messageContextInfo.messageSecret, names, content["poll"]["options"])

    # -- records ------------------------------------------------------------------------------------------------------

    def _seen(self) -> list[Any]:
        """What reached somebody."""
        messages = [one for one in self.network.seen if one["saw"] == "message" and one["account"] == self.phone]
        return [one for one in messages if not one["refused"]]

    async def taken(self) -> list[Taken]:
        """By its id the network knows a message that it has already, and shows it once, as it could be read."""
        first = dict.fromkeys(one["id"] for one in self._seen())
        readable = {one["id"]: one for one in reversed(self._seen()) if one["message"]}
        return [got for id_ in first if id_ in readable and (got := taken(readable[id_]))]

    async def offered(self, message_id: str) -> int:
        return sum(one["id"] == message_id for one in self._seen())

    async def reads(self) -> list[str]:
        receipts = [one for one in self.network.seen if one["saw"] == "receipt" and one["type"] == "read"]
        return [id_ for one in receipts for id_ in one["ids"]]

    def shown(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if name != "preview_url"}

    async def open_file(self, file: dict[str, str]) -> bytes:
        return b64decode((await self.network.do("download", **file))["bytes"])

    def last_to(self, person: str) -> Any:
        """What somebody was sent last, as their phone got it."""
        return read([one for one in self._seen() if one["phone"] == person][-1])

    # -- trouble ------------------------------------------------------------------------------------------------------

    async def advance(self, seconds: float) -> None:
        await self.people.advance(seconds)

    async def fault(self, **rule: Any) -> None:
        person = rule["to"]
        await self.people.meet(person)
        habit, labels = self.people.habit(person), rule.get("labels", ())
        match rule["fault"]:
            case "refuse":
                times = {"times": rule["times"]} if "times" in rule else {}
                await self.network.do("refuse", phone=person, code=rule["code"], **times)
            case "accept_drop":
                await self.network.do("lose", phone=person, nth=rule["nth"])
            case "duplicate":
                self._copies[person] = habit.copies = rule["copies"]
            case "reorder":
                habit.backwards = True
            case "suppress":
                habit.shows = tuple(one for one in habit.shows if one not in labels)
            case "delay":
                habit.waits = dict.fromkeys(labels, rule["seconds"])
            case other:
                raise AssertionError(f"no such fault here: {other}")

    async def receipt(self, message: Any, status: str) -> None:
        if status != "sent":  # which is the network's answer itself, and never comes again
            await self.people.report(message["contact"]["phone"], message["network_id"], status)

    async def change_number(self, old: str, new: str) -> None:
        """The number changes, the hidden id stays; the owner's address book has it first."""
        await self.network.do("move", phone=old, to=new)
        self.people.moved(old, new)
        await self.do("contact", phone=new, name="Ana")

    async def cut(self) -> None:
        await self.do("drop")

    async def repair(self) -> None:
        await self.until_state("connected")
