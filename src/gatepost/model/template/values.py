"""Templates, the request for a new one, and the use of one in a message."""

from typing import Any

import msgspec

CATEGORIES = ("MARKETING", "UTILITY", "AUTHENTICATION")


class NewTemplate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new template, in the format of the network."""

    name: str
    language: str
    category: str
    components: list[Any]
    parameter_format: str = "positional"
    message_send_ttl_seconds: int | None = None


class Template(msgspec.Struct, frozen=True):
    """A template in one language, with its current status."""

    name: str
    language: str
    category: str
    components: list[dict[str, Any]]
    parameter_format: str = "POSITIONAL"
    status: str = "PENDING"
    network_id: str | None = None
    quality: str | None = None
    reason: str | None = None  # why it was rejected, paused or disabled
    message_send_ttl_seconds: int | None = None

    @property
    def named(self) -> bool:
        return self.parameter_format.upper() == "NAMED"

    def component(self, type_: str) -> dict[str, Any] | None:
        """Return the component of a type, or None."""
        return find_component(self.components, type_)


class TemplateUse(msgspec.Struct, frozen=True):
    """The values that a message gives a template: variables, header and buttons, or raw components."""

    name: str
    language: str
    variables: tuple[str, ...] | dict[str, str] | None = None
    header: str | dict[str, Any] | None = None
    buttons: tuple[dict[str, Any], ...] = ()
    components: list[dict[str, Any]] | None = None


def word(value: Any) -> str:
    """Return a keyword of the network in uppercase; the network accepts both cases. Empty if it is not a string."""
    return value.upper() if isinstance(value, str) else ""


def find_component(components: list[dict[str, Any]], type_: str) -> dict[str, Any] | None:
    """Return the first component of a type, or None."""
    return next((component for component in components if word(component.get("type")) == type_), None)


def buttons_of(components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the buttons of these components, in order."""
    row = find_component(components, "BUTTONS")
    return (row or {}).get("buttons") or []
