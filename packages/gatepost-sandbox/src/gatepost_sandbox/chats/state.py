"""The messages of every chat. Adding one is cheap: the content is stored encoded, and shown only when it is read."""

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Any

import msgspec

from gatepost_sandbox.templates.template import Template
from gatepost_sandbox.watch import Watch

CHATS_MAX = 2_000
MESSAGES_MAX = 500  # of one chat
BYTES_MAX = 64 * 1024 * 1024  # of all chats; beyond it the chats that were not used for the longest time are dropped
TYPING_SECONDS = 25.0
_ENTRY = 512  # bytes that a message takes besides its content
_RANK = {"accepted": 0, "sent": 1, "delivered": 2, "read": 3, "played": 4, "failed": 5}
ARRIVED = frozenset({"delivered", "read", "played"})
_encode = msgspec.msgpack.Encoder().encode

Key = tuple[str, str]


class ChatMessage(msgspec.Struct, gc=False, kw_only=True):
    """A message, as the chat stores it. It has no reference to its chat, because the garbage collector ignores it."""

    id: str
    person: str
    number: str
    seq: int
    at: float
    type: str
    packed: bytes
    from_person: bool
    status: str
    quote: str | None = None
    template: Template | None = None
    forwarded: bool = False
    error: dict[str, Any] | None = None
    reactions: tuple[tuple[str, str], ...] = ()  # who, and the emoji
    votes: tuple[str, ...] = ()
    edited: bool = False
    deleted: bool = False
    seen: bool = False  # the person had the chat open
    outgoing: Any = None  # of an official number, until it is read or played: what these statuses need

    @property
    def content(self) -> Any:
        """The content as the network has it."""
        return msgspec.msgpack.decode(self.packed)

    @property
    def arrived(self) -> bool:
        """Whether the message is on the person's phone."""
        return self.from_person or self.status in ARRIVED

    def has_reached(self, status: str) -> bool:
        """Return whether the message has this status or a later one."""
        return _RANK[self.status] >= _RANK[status]

    @property
    def unread(self) -> bool:
        """Whether the person has the message and has not seen it."""
        return not self.from_person and not self.seen and self.status == "delivered"

    @property
    def size(self) -> int:
        """The bytes that the message takes, about."""
        return len(self.packed) + _ENTRY


class Chat:
    """The chat of one person with one number."""

    def __init__(self, person: str, number: str, *, official: bool) -> None:
        self.person = person
        self.number = number
        self.official = official
        self.name: str | None = None  # given with a message, for people without a profile
        self.messages: deque[ChatMessage] = deque()
        self.last_seq = 0
        self.typing_until = 0.0  # the business is typing
        self.active_at: float | None = None  # the business last wrote, or marked a message as read

    def page(self, before: int | None, limit: int) -> tuple[list[ChatMessage], bool]:
        """Return the newest messages before a sequence number, oldest first, and whether there are older ones."""
        first = self.messages[0].seq if self.messages else 1
        end = len(self.messages) if before is None else max(0, min(len(self.messages), before - first))
        start = max(0, end - limit)
        return [self.messages[index] for index in range(start, end)], start > 0


class Chats:
    """All chats of one network."""

    def __init__(self, watch: Watch) -> None:
        self.blocked: set[Key] = set()  # person and number
        self._watch = watch
        self._chats: OrderedDict[Key, Chat] = OrderedDict()  # the one used last is at the end
        self._messages: dict[Key, ChatMessage] = {}  # by number and id
        self._size = 0

    # -- reading -------------------------------------------------------------------------------------------------------

    def latest(self, person: str | None = None) -> Iterator[Chat]:
        """Yield the chats of a person, or all, the latest first."""
        return (chat for chat in reversed(self._chats.values()) if person is None or chat.person == person)

    def find(self, person: str, number: str) -> Chat | None:
        """Return the chat of a person with a number."""
        return self._chats.get((person, number))

    def message(self, number: str, message_id: str) -> ChatMessage | None:
        """Return a message of a number."""
        return self._messages.get((number, message_id))

    # -- messages ------------------------------------------------------------------------------------------------------

    def open(self, person: str, number: str, *, official: bool) -> Chat:
        """Return the chat of a person with a number, created when needed; it becomes the latest."""
        key = (person, number)
        chat = self._chats.get(key)
        if chat is None:
            chat = self._chats[key] = Chat(person, number, official=official)
        else:
            self._chats.move_to_end(key)
        return chat

    def add(
        self,
        chat: Chat,
        message_id: str,
        at: float,
        kind: str,
        content: Any,
        *,
        from_person: bool,
        status: str,
        quote: str | None = None,
        template: Template | None = None,
        forwarded: bool = False,
    ) -> None:
        """Append a message to a chat."""
        chat.last_seq += 1
        if not from_person:
            chat.typing_until, chat.active_at = 0.0, at
        message = ChatMessage(
            id=message_id,
            person=chat.person,
            number=chat.number,
            seq=chat.last_seq,
            at=at,
            type=kind,
            packed=_encode(content),
            from_person=from_person,
            status=status,
            quote=quote,
            template=template,
            forwarded=forwarded,
        )
        chat.messages.append(message)
        self._messages[chat.number, message_id] = message
        self._size += message.size
        if len(chat.messages) > MESSAGES_MAX:
            self._drop_oldest(chat)
        if len(self._chats) > CHATS_MAX or self._size > BYTES_MAX:
            self._make_room(chat)
        self._notify(message)

    def advance(self, number: str, message_id: str, status: str, error: dict[str, Any] | None = None) -> bool:
        """Give a message its next status; return False if it has this one or a later one already."""
        message = self._messages.get((number, message_id))
        if message is None:
            return True
        if _RANK[status] <= _RANK[message.status]:
            return False
        message.status, message.error = status, error
        if message.has_reached("played" if message.type == "audio" else "read"):
            message.outgoing = None
        self._notify(message)
        return True

    def keep_outgoing(self, number: str, message_id: str, outgoing: Any) -> None:
        """Keep what the statuses "read" and "played" of a message of an official number need."""
        message = self._messages.get((number, message_id))
        if message is not None:
            message.outgoing = outgoing

    def react(self, number: str, message_id: str, who: str, emoji: str) -> None:
        """Set or, with an empty emoji, remove the reaction of the person or the business."""
        message = self._messages.get((number, message_id))
        if message is not None:
            others = tuple(reaction for reaction in message.reactions if reaction[0] != who)
            message.reactions = (*others, (who, emoji)) if emoji else others
            self._notify(message)

    def edit(self, number: str, message_id: str, content: Any) -> None:
        """Replace the content of a message."""
        message = self._messages.get((number, message_id))
        if message is not None and not message.deleted:
            before = message.content
            if isinstance(before, dict) and isinstance(content, dict) and not content.get("media", True):
                content = {**content, "media": before.get("media")}  # a new caption: the file stays
            self._replace(message, content)
            message.edited = True
            self._notify(message)

    def delete(self, number: str, message_id: str) -> None:
        """Delete a message for both sides: the chat shows that there was one."""
        message = self._messages.get((number, message_id))
        if message is not None:
            self._replace(message, None)
            message.deleted, message.template, message.reactions, message.votes = True, None, (), ()
            self._notify(message)

    def vote(self, number: str, message_id: str, options: list[str]) -> None:
        """Set the person's choice in a poll."""
        message = self._messages.get((number, message_id))
        if message is not None:
            message.votes = tuple(options)
            self._notify(message)

    # -- the business in the chat --------------------------------------------------------------------------------------

    def mark_read(self, number: str, message_id: str, now: float, *, earlier: bool) -> Chat | None:
        """Show a message of the person, and with `earlier` all before it, as read by the business; return its chat."""
        marked = self._messages.get((number, message_id))
        chat = None if marked is None else self.find(marked.person, number)
        if marked is None or chat is None or not marked.from_person:
            return None
        chat.active_at = now
        self.report_chat(chat)
        for message in reversed(chat.messages) if earlier else (marked,):
            if message.from_person and message.seq <= marked.seq:
                if message.status == "read":
                    break
                message.status = "read"
                self._notify(message)
        return chat

    def set_typing(self, chat: Chat, until: float) -> None:
        """Show until a time that the business is typing."""
        chat.typing_until = until
        self.report_chat(chat)

    # -- the person ----------------------------------------------------------------------------------------------------

    def see(self, chat: Chat) -> list[ChatMessage]:
        """Note that the person has the chat open; return the messages that were unread."""
        unread = [message for message in chat.messages if message.unread]
        for message in unread:
            message.seen = True
        if unread:
            self.report_chat(chat)
        return unread

    def block(self, chat: Chat, *, blocked: bool) -> None:
        """Block or unblock the number of a chat."""
        (self.blocked.add if blocked else self.blocked.discard)((chat.person, chat.number))
        self.report_chat(chat)

    def move(self, old: str, new: str) -> list[Chat]:
        """Give the chats of a person to their new number; return them."""
        moved = [chat for chat in self._chats.values() if chat.person == old]
        for chat in moved:
            del self._chats[old, chat.number]
            chat.person = new
            self._chats[new, chat.number] = chat
            for message in chat.messages:
                message.person = new
        for person, number in [key for key in self.blocked if key[0] == old]:
            self.blocked.discard((person, number))
            self.blocked.add((new, number))
        return moved

    def of_number(self, number: str) -> list[Chat]:
        """Return the chats with a number."""
        return [chat for chat in self._chats.values() if chat.number == number]

    def forget_number(self, number: str) -> None:
        """Drop the chats of a number that was removed."""
        for chat in self.of_number(number):
            self._drop(chat)

    def report_chat(self, chat: Chat) -> None:
        """Report a changed chat."""
        observer = self._watch.observer
        if observer is not None:
            observer.chat_changed(chat)

    def _notify(self, message: ChatMessage) -> None:
        observer = self._watch.observer
        if observer is not None:
            observer.message_changed(message)

    def _replace(self, message: ChatMessage, content: Any) -> None:
        self._size -= message.size
        message.packed = _encode(content)
        self._size += message.size

    def _make_room(self, newest: Chat) -> None:
        while len(self._chats) > CHATS_MAX or (self._size > BYTES_MAX and len(self._chats) > 1):
            self._drop(next(iter(self._chats.values())))
        while self._size > BYTES_MAX and len(newest.messages) > 1:
            self._drop_oldest(newest)

    def _drop(self, chat: Chat) -> None:
        del self._chats[chat.person, chat.number]
        while chat.messages:
            self._drop_oldest(chat)

    def _drop_oldest(self, chat: Chat) -> None:
        oldest = chat.messages.popleft()
        self._size -= oldest.size
        if self._messages.get((oldest.number, oldest.id)) is oldest:
            del self._messages[oldest.number, oldest.id]
