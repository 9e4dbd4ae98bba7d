"""A message template, and its form in the API."""

from typing import Any, Literal

import msgspec

Category = Literal["MARKETING", "UTILITY", "AUTHENTICATION"]
Status = Literal["PENDING", "APPROVED", "REJECTED", "PAUSED", "DISABLED", "ARCHIVED"]
Quality = Literal["UNKNOWN", "GREEN", "YELLOW", "RED"]
Format = Literal["POSITIONAL", "NAMED"]
Reason = Literal[
    "NONE", "ABUSIVE_CONTENT", "INCORRECT_CATEGORY", "INVALID_FORMAT", "PROMOTIONAL", "SCAM", "TAG_CONTENT_MISMATCH"
]

_LONGEST_SECONDS, _CODE_SECONDS = 30 * 86_400, 600  # for which the network tries to deliver, unless a template says so
_SHOWN = ("name", "parameter_format", "components", "language", "status", "category", "id")


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """One template in one language. It is immutable: a change creates a new value."""

    id: str
    serial: int  # the order of creation, which lists follow
    waba_id: str
    name: str
    language: str
    category: Category
    status: Status
    parameter_format: Format
    components: list[dict[str, Any]]
    since: float = 0.0  # when it got its status
    quality: Quality = "UNKNOWN"
    quality_at: float = 0.0
    rejected_reason: Reason = "NONE"
    ttl: int | None = None
    previous_category: Category | None = None
    correct_category: Category | None = None
    pauses: int = 0
    pacing: bool = False  # paused by pacing: stays so until the business unpauses it
    edited: tuple[float, ...] = ()  # when it was edited while approved
    before_archive: Status = "APPROVED"


def lifetime(template: Template | None) -> float:
    """Return for how many seconds the network tries to deliver a message; without a template, forever."""
    if template is None:
        return float("inf")
    if template.ttl is None:
        return _CODE_SECONDS if template.category == "AUTHENTICATION" else _LONGEST_SECONDS
    return _LONGEST_SECONDS if template.ttl == -1 else template.ttl


def component(components: list[dict[str, Any]], kind: str) -> dict[str, Any] | None:
    """Return the component of this type, if there is one."""
    return next((found for found in components if found.get("type") == kind), None)


def wording(template: Template) -> tuple[str, str]:
    """Return the text of body and footer, by which duplicates are found."""
    body, footer = component(template.components, "BODY"), component(template.components, "FOOTER")
    return (body or {}).get("text", ""), (footer or {}).get("text", "")


def show(template: Template, fields: list[str] | None = None) -> dict[str, Any]:
    """Return the template as the API shows it, with the default or the requested fields."""
    node: dict[str, Any] = {name: getattr(template, name) for name in _SHOWN}
    node["quality_score"] = {"score": template.quality, "date": int(template.quality_at)}
    node["rejected_reason"] = template.rejected_reason
    for name in ("previous_category", "correct_category"):
        if getattr(template, name) is not None:
            node[name] = getattr(template, name)
    if template.ttl is not None:
        node["message_send_ttl_seconds"] = template.ttl
    wanted = {*fields, "id"} if fields else {*_SHOWN, "previous_category"}
    return {name: value for name, value in node.items() if name in wanted}
