"""Who sent an outgoing message: a user, a key, the operator, or the channel's own phone.

Stored as one text with the name at that time, because users and keys can be deleted:  key|key_0199a1…|Shop
"""

from typing import Literal

import msgspec

SenderKind = Literal["user", "key", "operator", "phone"]
LABEL_MAX = 64  # characters of a name that are stored with each message


class Sender(msgspec.Struct, frozen=True):
    """The sender of a message. The operator and a phone have no id."""

    kind: SenderKind
    id: str | None = None
    label: str | None = None


def sender_text(kind: SenderKind, id_: str = "", label: str = "") -> str:
    """Return the stored form of a sender."""
    return f"{kind}|{id_}|{label[:LABEL_MAX]}"


PHONE = sender_text("phone")  # written on the channel's own phone


def read_sender(text: str | None) -> Sender | None:
    """Return the sender of a message from its stored form; None if it is not known."""
    if text is None:
        return None
    kind, id_, label = text.split("|", 2)
    return Sender(kind, id_ or None, label or None)  # type: ignore[arg-type]
