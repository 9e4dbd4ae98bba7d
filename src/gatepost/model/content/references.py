"""What a message refers to, gathered while its content is read: others have to look these up before it is accepted."""

from uuid import UUID

import msgspec

from gatepost.model.template.values import TemplateUse


class MessageReferences(msgspec.Struct):
    """Files and addresses of a message, the message that it is about, the template that it uses."""

    media: list[str] = []
    links: list[str] = []
    target: UUID | None = None
    template: TemplateUse | None = None
