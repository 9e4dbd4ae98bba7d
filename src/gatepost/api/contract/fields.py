"""The base of all objects in answers, and the types of fields that many of them share."""

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from gatepost.model import accepted

HEX = "0199a1b2c3d47e5f8a9b0c1d2e3f4a5b"
AT, LATER = "2026-11-15T10:00:00.123Z", "2026-11-16T10:00:00.123Z"
PHONE = "5511999998888"


class ApiObject(Struct, frozen=True, forbid_unknown_fields=True):
    """An object with these fields and no others."""


Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"}, examples=[AT])]
Text: TypeAlias = str | None
When: TypeAlias = Time | None
Never = Annotated[When, Meta(examples=[None])]  # a time that most objects do not have
Nothing = Annotated[Text, Meta(examples=[None])]  # a text that most objects do not have
JsonObject: TypeAlias = dict[str, Any]

ChannelId = Annotated[str, Meta(examples=[f"ch_{HEX}"])]
ContactId = Annotated[str, Meta(examples=[f"ct_{HEX}"])]
ConversationId = Annotated[str, Meta(examples=[f"cv_{HEX}"])]
DeliveryId = Annotated[str, Meta(examples=[f"dl_{HEX}{HEX}"])]
DraftId = Annotated[str, Meta(examples=[f"drf_{HEX}"])]
EndpointId = Annotated[str, Meta(examples=[f"we_{HEX}"])]
EventId = Annotated[str, Meta(examples=["evt_01a1dd112a6b7f2e8d1c5e0c7a3b9f10"])]
LabelId = Annotated[str, Meta(examples=[f"lb_{HEX}"])]
MediaId = Annotated[str, Meta(examples=[f"med_{HEX}"])]
OrderId = Annotated[str, Meta(examples=[f"ord_{HEX}"])]
RecoveryId = Annotated[str, Meta(examples=[f"rec_{HEX}"])]
TemplateId = Annotated[str, Meta(examples=[f"tpl_{HEX}"])]
MessageId = accepted.MessageId
Phone = Annotated[str, Meta(examples=[PHONE])]
PersonName = Annotated[str, Meta(examples=["Ana Maria"])]
