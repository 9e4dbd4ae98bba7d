"""The capabilities of a network's channels."""

import msgspec


class Capabilities(msgspec.Struct, frozen=True):
    """The message types that a channel can send, and the operations on sent messages. Anything else is rejected."""

    types: frozenset[str]
    as_text: frozenset[str] = frozenset()  # types that are sent as numbered text if the request allows it
    templates: bool = False
    window: bool = False  # free text only within 24 hours of the person's last message
    edit: bool = False
    delete: bool = False
    hidden_people: str | None = None  # people without a known number can be written to: the prefix of their addresses
    any_document: bool = False  # a file of any MIME type can be sent as a document
