"""`gatepost sandbox person` and `say`: profiles of people, and writing as one of them."""

import json
from typing import Annotated, Any

import typer

from gatepost.cli.arguments import given
from gatepost.cli.options import new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.sandbox.control_client import ControlClient, control_command, segment
from gatepost.model.errors import Conflict, invalid_field

group = new_group("People: how they behave and what they reply.")
writing = new_group()
_CHARACTERS = "normal, quick, slow, in_chat, silent, offline, absent or blocked."


@control_command(group, "list")
def list_(control: ControlClient) -> CommandResult:
    """List the people that have a profile."""
    columns = ("phone", "name", "character", ("script", lambda person: f"{len(person['replies'])} lines"))
    empty = "There are no profiles: everyone has the default character."
    return CommandResult(control.get("people"), columns, empty=empty)


@control_command(group, "set")
def set_(
    control: ControlClient,
    phone: Annotated[str, typer.Argument(help="The person's number, in digits.")],
    *,
    name: Annotated[str | None, typer.Option(help="Profile name.")] = None,
    character: Annotated[str | None, typer.Option(help=_CHARACTERS)] = None,
    reply: Annotated[
        list[str] | None, typer.Option(help="A line of the script: a reply to any message. May be repeated.")
    ] = None,
    script: Annotated[str | None, typer.Option(help="The whole script, a JSON array of lines.")] = None,
) -> CommandResult:
    """Create or change a person's profile."""
    known = {person["phone"]: person for person in control.get("people")}
    changes = given(name=name, character=character, replies=_read_script(reply or [], script))
    return CommandResult(control.put(f"people/{segment(phone)}", {**known.get(phone, {}), **changes}))


@control_command(group, "forget")
def forget(
    control: ControlClient, phone: Annotated[str, typer.Argument(help="The person's number, in digits.")]
) -> CommandResult:
    """Delete a person's profile."""
    control.delete(f"people/{segment(phone)}")
    return CommandResult({"phone": phone, "forgotten": True})


@control_command(writing, "say")
def say(
    control: ControlClient,
    phone: Annotated[str, typer.Argument(metavar="FROM", help="The writer's number, in digits.")],
    text: Annotated[str, typer.Argument(help="The text.")],
    *,
    number: Annotated[
        str | None, typer.Option(help="Phone number or number id to write to.", show_default="the only one")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The writer's profile name.")] = None,
    reply_to: Annotated[str | None, typer.Option(help="Id of the message to quote.")] = None,
) -> CommandResult:
    """Write to a number as a person."""
    official = [(one["phone_number_id"], one["phone"]) for one in control.get("numbers")]
    phones = [one["phone"] for one in control.get("phones")]
    to = number.removeprefix("+") if number else _only([*(id_ for id_, _ in official), *phones])
    number_id = next((id_ for id_, its_phone in official if to in (id_, its_phone)), None)
    if to in phones and number_id is None:
        quote = {"id": reply_to, "from_me": True} if reply_to else None
        said = given(content={"body": text}, quote=quote)
        return CommandResult(control.post(f"phones/{to}/incoming", {"from": given(phone=phone, name=name), **said}))
    said = given(name=name, reply_to=reply_to)
    return CommandResult(control.post("say", {"phone_number_id": number_id or to, "from": phone, "text": text, **said}))


def _only(known: list[str]) -> str:
    if len(known) != 1:
        problem = f"There are several numbers: {', '.join(known)}" if known else "There is no number yet"
        raise Conflict(f"{problem}. Choose one with --number.")
    return known[0]


def _read_script(replies: list[str], script: str | None) -> list[Any] | None:
    lines: Any = [{"text": text} for text in replies]
    if script is not None:
        try:
            read = json.loads(script)
        except ValueError as error:
            raise invalid_field("script", f"is not JSON: {error}") from None
        if not isinstance(read, list):
            raise invalid_field("script", "must be a JSON array of lines")
        lines = read + lines
    return lines if replies or script is not None else None
