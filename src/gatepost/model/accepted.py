"""The answer to a send. The API reference is derived from it, and `outbound/send_answer.py` encodes it."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

MessageId = Annotated[str, Meta(examples=["0199A1B2C3D47E5F8A9B0C1D2E3F4A5B"])]


class Key(Struct, frozen=True, forbid_unknown_fields=True):
    """A message's chat, direction and id."""

    remoteJid: Annotated[str, Meta(examples=["5511999998888@s.whatsapp.net"])]  # noqa: N815 - as the network writes it
    fromMe: bool  # noqa: N815
    id: MessageId


class Recipient(Struct, frozen=True):
    """The recipient, as requested and as the network names them."""

    input: str
    wa_id: Annotated[str, Meta(description="Empty if the number is not known.")]
    user_id: Annotated[str | UnsetType, Meta(description="Of a person whose number is not known.")] = UNSET


class AcceptedId(Struct, frozen=True):
    """The id of an accepted message."""

    id: MessageId
    message_status: Literal["accepted"]


class Accepted(Struct, frozen=True):
    """A message that is stored and will be sent. The fields after `status` depend on the kind of channel."""

    key: Key
    status: Literal["PENDING", "SCHEDULED"]
    # official channels
    messaging_product: Literal["whatsapp"] | UnsetType = UNSET
    contacts: list[Recipient] | UnsetType = UNSET
    messages: list[AcceptedId] | UnsetType = UNSET
    # QR channels
    message: Annotated[dict[str, Any] | UnsetType, Meta(description="The content, by `messageType`.")] = UNSET
    messageType: str | UnsetType = UNSET  # noqa: N815
    messageTimestamp: int | UnsetType = UNSET  # noqa: N815
