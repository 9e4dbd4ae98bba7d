"""Templates, the wish for a new one, and the use of one in a message."""

from typing import Any

import msgspec

CATEGORIES = ("MARKETING", "UTILITY", "AUTHENTICATION")


class NewTemplate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of `POST /templates`: as the network takes it."""

    name: str
    language: str
    category: str
    components: list[Any]
    parameter_format: str = "positional"
    message_send_ttl_seconds: int | None = None


class Template(msgspec.Struct, frozen=True):
    """A template in one language, as it stands."""

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
        """The component of that type, where there is one."""
        return find_component(self.components, type_)


class TemplateUse(msgspec.Struct, frozen=True):
    """What a message gives a template: filled in by hand (variables, header, buttons) or as raw components."""

    name: str
    language: str
    variables: tuple[str, ...] | dict[str, str] | None = None
    header: str | dict[str, Any] | None = None
    buttons: tuple[dict[str, Any], ...] = ()
    components: list[dict[str, Any]] | None = None


def word(value: Any) -> str:
    """The network's own words, which it takes in small letters as well as in capitals."""
    return value.upper() if isinstance(value, str) else ""


def find_component(components: list[dict[str, Any]], type_: str) -> dict[str, Any] | None:
    """The first component of that type."""
    return next((component for component in components if word(component.get("type")) == type_), None)


def buttons_of(components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The buttons among these components, in their order."""
    row = find_component(components, "BUTTONS")
    return (row or {}).get("buttons") or []
