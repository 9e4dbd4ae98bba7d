"""Templates in answers."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gatepost.api.contract.fields import ApiObject, JsonObject, Nothing, TemplateId, Text, Time
from gatepost.model import ids, times
from gatepost.store.templates import StoredTemplate


class TemplateShown(ApiObject, frozen=True):
    """A template in one language."""

    id: TemplateId
    network_id: Annotated[Text, Meta(examples=["1407680676729941"])]
    name: Annotated[str, Meta(examples=["order_sent"])]
    language: Annotated[str, Meta(examples=["en_US"])]
    category: Annotated[str, Meta(examples=["UTILITY"])]
    status: Annotated[str, Meta(examples=["PENDING"])]
    reason: Nothing
    quality: Annotated[Text, Meta(examples=["UNKNOWN"])]
    parameter_format: Annotated[str, Meta(examples=["POSITIONAL"])]
    components: Annotated[list[JsonObject], Meta(examples=[[{"type": "BODY", "text": "Your order has been sent."}]])]
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, row: StoredTemplate) -> "TemplateShown":
        """Return a template. Its components are copied into the answer without being decoded."""
        components: Any = msgspec.Raw(row.components.encode())
        return cls(
            id=ids.format_id("tpl", row.id),
            network_id=row.network_id,
            name=row.name,
            language=row.language,
            category=row.category,
            status=row.status,
            reason=row.reason,
            quality=row.quality,
            parameter_format=row.parameter_format,
            components=components,
            created_at=times.format_time(row.created_at),
            updated_at=times.format_time(row.updated_at),
        )
