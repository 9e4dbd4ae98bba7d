"""Notifications for operators: the network's decisions about templates."""

from typing import Annotated, ClassVar, Self, TypeAlias
from uuid import UUID

from msgspec import Meta

from gatepost.model import ids
from gatepost.model.event.parts import AT, SYSTEM, EventObject, Text, id_with

_REASON = Meta(description="The network's reason, if it gives one.")


class TemplateStatusChange(EventObject, frozen=True):
    """A template with its new status."""

    TYPE = SYSTEM
    EXAMPLE: ClassVar[tuple[str, str, str | None]]  # status, previous, reason

    id: Annotated[str, id_with("tpl")]
    name: str
    language: str
    category: str
    status: str
    previous: str
    reason: Annotated[Text, _REASON]

    @classmethod
    def of(
        cls,
        template_id: UUID,
        *,
        name: str,
        language: str,
        category: str,
        status: str,
        previous: str,
        reason: str | None,
    ) -> Self:
        return cls(ids.format_id("tpl", template_id), name, language, category, status, previous, reason)

    @classmethod
    def example(cls) -> Self:
        status, previous, reason = cls.EXAMPLE
        return cls.of(
            ids.derived_id(AT, "template"),
            name="order_sent",
            language="en_US",
            category="UTILITY",
            status=status,
            previous=previous,
            reason=reason,
        )


class TemplateApproved(TemplateStatusChange, frozen=True):
    """The network approved the template, or ended its pause: it can be sent."""

    ACTION, EXAMPLE = "template_approved", ("APPROVED", "PENDING", None)


class TemplateRejected(TemplateStatusChange, frozen=True):
    """The network rejected the template."""

    ACTION, EXAMPLE = "template_rejected", ("REJECTED", "PENDING", "INVALID_FORMAT")


class TemplatePaused(TemplateStatusChange, frozen=True):
    """The network paused the template because of its quality: it cannot be sent until the pause ends."""

    ACTION, EXAMPLE = "template_paused", ("PAUSED", "APPROVED", "FIRST_PAUSE")


class TemplateDisabled(TemplateStatusChange, frozen=True):
    """The network disabled the template: it cannot be sent any more."""

    ACTION, EXAMPLE = "template_disabled", ("DISABLED", "PAUSED", "DISABLED")


TemplateEvent: TypeAlias = TemplateApproved | TemplateRejected | TemplatePaused | TemplateDisabled

# The event of each status. A change to any other status is not reported.
STATUS_EVENTS: dict[str, type[TemplateEvent]] = {
    "APPROVED": TemplateApproved,
    "REJECTED": TemplateRejected,
    "PAUSED": TemplatePaused,
    "DISABLED": TemplateDisabled,
}
