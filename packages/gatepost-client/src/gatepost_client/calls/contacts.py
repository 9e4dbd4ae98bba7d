"""Contacts: list, search, create, change, merge, check, import, export."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from gatepost_client.calls.builders import act, create, fetch, pages, remove, stream
from gatepost_client.errors import BadAnswer
from gatepost_client.types import CheckedNumber, Contact, Result
from gatepost_client.wire import Answer, Call, Listing, Request, changed, given, path_of


class ImportedLine(Result, frozen=True, kw_only=True):
    """The result of one line of an import."""

    line: int
    result: str
    phone: str | None = None
    id: str | None = None
    code: str | None = None
    reason: str | None = None


class ImportReport(Result, frozen=True, kw_only=True):
    """The result of an import. `error` is set when it ended early; `summary` counts the lines by result."""

    lines: list[ImportedLine]
    summary: dict[str, int] = msgspec.field(default_factory=dict)
    error: dict[str, Any] | None = None


class _ReportLine(msgspec.Struct, frozen=True):
    """A line of an import's response: about a line of the table, or the end."""

    line: int | None = None
    summary: dict[str, int] | None = None
    error: dict[str, Any] | None = None


def contacts(
    *, q: str | None = None, phone: str | None = None, label: str | None = None, opted_out: bool | None = None
) -> Listing[Contact]:
    """List contacts, newest first; with `q`, those whose name or number begins with it."""
    return pages(Contact, "contacts", query={"q": q, "phone": phone, "label": label, "opted_out": opted_out})


def contact(contact_id: str) -> Call[Contact]:
    """Return one contact."""
    return fetch(Contact, "contacts", contact_id)


def create_contact(
    phone: str,
    *,
    name: str | None = None,
    custom: Mapping[str, str] | None = None,
    opted_out: bool | None = None,
    idempotency_key: str | None = None,
) -> Call[Contact]:
    """Create a contact for a number that has none yet."""
    new = given(phone=phone, name=name, custom=custom, opted_out=opted_out)
    return create(Contact, "contacts", body=new, key=idempotency_key)


def change_contact(
    contact_id: str,
    *,
    name: str | UnsetType | None = UNSET,
    custom: Mapping[str, str | None] | UnsetType = UNSET,
    opted_out: bool | UnsetType = UNSET,
) -> Call[Contact]:
    """Change the given fields; None clears the name or a custom field."""
    fields = changed(name=name, custom=custom, opted_out=opted_out)
    return act(Contact, "PATCH", "contacts", contact_id, body=fields, repeatable=True)


def delete_contact(contact_id: str) -> Call[None]:
    """Delete a contact."""
    return remove("contacts", contact_id)


def merge_contacts(contact_id: str, other_id: str) -> Call[Contact]:
    """Merge the second contact into the first."""
    return act(Contact, "POST", "contacts", contact_id, "merge", body={"with": other_id})


def check_numbers(phones: Sequence[str]) -> Call[list[CheckedNumber]]:
    """Return which of these numbers are on the network; QR channels only."""
    return act(list[CheckedNumber], "POST", "contacts", "check", body={"phones": list(phones)}, repeatable=True)


def import_contacts(table: Path | bytes) -> Call[ImportReport]:
    """Import contacts from CSV; return the result of each line. Contacts that exist are updated."""
    request = Request("POST", path_of("contacts", "import"), body=table, content_type="text/csv", repeatable=True)
    return Call(request, _report)


def export_contacts(
    *, format: Literal["csv", "ndjson"] = "csv", label: str | None = None, opted_out: bool | None = None
) -> Call[None]:
    """Stream all contacts as a file."""
    return stream("contacts", "export", query={"format": format, "label": label, "opted_out": opted_out})


def _report(answer: Answer) -> ImportReport:
    try:
        lines = [(line, msgspec.json.decode(line, type=_ReportLine)) for line in answer.body.splitlines()]
        lines_read = [msgspec.json.decode(line, type=ImportedLine) for line, read in lines if read.line is not None]
    except msgspec.DecodeError as error:
        raise BadAnswer(f"The report could not be read: {error}") from None
    end = lines[-1][1] if lines else _ReportLine()
    return ImportReport(lines=lines_read, summary=end.summary or {}, error=end.error)
