"""`gatepost sandbox ledger`: everything that happened."""

from typing import Annotated, Any

import typer

from gatepost.cli.options import new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.sandbox.control_client import ControlClient, control_command

group = new_group()


@control_command(group, "ledger")
def ledger(
    control: ControlClient,
    *,
    kind: Annotated[str | None, typer.Option(help="accepted, refused, incoming, read or callback.")] = None,
    number: Annotated[str | None, typer.Option(help="Only of this number id or QR phone.")] = None,
    to: Annotated[str | None, typer.Option(help="Only to this person's number.")] = None,
    after: Annotated[int, typer.Option(min=0, help="Only entries after this `seq`.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Maximum number of entries.")] = 1000,
) -> CommandResult:
    """List what happened at the network, oldest first."""
    found = control.get("ledger", kind=kind, phone_number_id=number, to=to, after=after, limit=limit)["entries"]
    return CommandResult(found, _COLUMNS, empty="Nothing has happened yet.")


def summarise(entry: dict[str, Any]) -> str:
    """Return what happened, in short."""
    kind = entry["kind"]
    if kind == "refused":
        return f"{entry['code'] or 'cut off'}: {entry['details'] or entry['fault'] or ''}"
    if kind == "read":
        return f"{entry['message_id']}{', typing' if entry['typing'] else ''}"
    if kind == "callback":
        labels = ", ".join(str(label) for _, label in entry["updates"])
        return f"{labels}: attempt {entry['attempt']}, {entry['http_status'] or entry['error']}"
    return f"{entry['type']}: {_text(entry['content'])}"


_COLUMNS = (
    "seq",
    "kind",
    "phone_number_id",
    ("person", lambda entry: entry.get("from") or entry["to"]),
    ("what", summarise),
)


def _text(content: Any) -> str:
    """Return the text of a message of any type."""
    if not isinstance(content, dict):
        return str(content)
    said = content.get("body") or content.get("caption") or content.get("emoji") or content.get("name")
    inner = said.get("text") if isinstance(said, dict) else said
    return str(inner or content)
