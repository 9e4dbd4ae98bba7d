"""The references of a message, collected while its content is read. They are looked up before it is accepted."""

from uuid import UUID

import msgspec

from gatepost.model.template.values import TemplateUse


class MessageReferences(msgspec.Struct):
    """The files and links of a message, the target of a reaction, and the template that it uses."""

    media: list[str] = []
    links: list[str] = []
    target: UUID | None = None
    template: TemplateUse | None = None
