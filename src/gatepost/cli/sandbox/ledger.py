"""`gatepost sandbox ledger`: everything that happened."""

from typing import Annotated, Any

import typer

from gatepost.cli.output import CommandResult
from gatepost.cli.sandbox.control_client import ControlClient, control_command

_SHOWN = ("seq", "kind", "phone_number_id", "person", "what")


def add_commands(app: typer.Typer) -> None:
    """Add this command to the program."""
    control_command(app, "ledger")(ledger)


def ledger(
    control: ControlClient,
    *,
    kind: Annotated[str | None, typer.Option(help="accepted, refused, incoming, read or callback.")] = None,
    number: Annotated[str | None, typer.Option(help="Only of this number id, or QR phone.")] = None,
    to: Annotated[str | None, typer.Option(help="Only to this person.")] = None,
    after: Annotated[int, typer.Option(min=0, help="Only after this seq.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 1000,
) -> CommandResult:
    """Show what happened, oldest first."""
    found = control.get("ledger", kind=kind, phone_number_id=number, to=to, after=after, limit=limit)["entries"]
    rows = [{**entry, "person": entry.get("from") or entry["to"], "what": summarise(entry)} for entry in found]
    return CommandResult(found, _SHOWN, empty="Nothing has happened yet.", rows=rows)


def summarise(entry: dict[str, Any]) -> str:
    """Summarise a row."""
    kind = entry["kind"]
    if kind == "refused":
        return f"{entry['code'] or 'cut off'}: {entry['details'] or entry['fault'] or ''}"
    if kind == "read":
        return f"{entry['message_id']}{', typing' if entry['typing'] else ''}"
    if kind == "callback":
        labels = ", ".join(str(label) for _, label in entry["updates"])
        return f"{labels}: attempt {entry['attempt']}, {entry['http_status'] or entry['error']}"
    return f"{entry['type']}: {_text(entry['content'])}"


def _text(content: Any) -> str:
    """Return the text of a message of any type."""
    if not isinstance(content, dict):
        return str(content)
    said = content.get("body") or content.get("caption") or content.get("emoji") or content.get("name")
    inner = said.get("text") if isinstance(said, dict) else said
    return str(inner or content)
