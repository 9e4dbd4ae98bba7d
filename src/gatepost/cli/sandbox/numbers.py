"""`gatepost sandbox number`: the business numbers of the sandbox."""

from typing import Annotated, Any

import typer

from gatepost.cli.arguments import given
from gatepost.cli.options import new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.sandbox.control_client import ControlClient, control_command

group = new_group("Business numbers that are registered with the sandbox.")
_COLUMNS = ("phone_number_id", "phone", "name", "status", "quality_rating", "callback_url")


@control_command(group, "list")
def list_(control: ControlClient) -> CommandResult:
    """List the numbers."""
    return CommandResult(
        control.get("numbers"), _COLUMNS, empty="There are none yet: gatepost sandbox number add --help"
    )


@control_command(group, "add")
def add(
    control: ControlClient,
    phone_number_id: Annotated[str, typer.Argument(help="Id of the number, in digits.")],
    *,
    phone: Annotated[str, typer.Option(help="The number in digits, with its country code.")],
    token: Annotated[str, typer.Option(help="Access token that the gateway calls with.")],
    app_secret: Annotated[str, typer.Option(help="Secret that callbacks are signed with.")],
    callback_url: Annotated[str | None, typer.Option(help="URL of the callbacks; without it they are dropped.")] = None,
    verify_token: Annotated[str | None, typer.Option(help="Token that verifies the callback URL.")] = None,
    name: Annotated[str | None, typer.Option(help="Name that people see.")] = None,
    waba_id: Annotated[str | None, typer.Option(help="Id of the business account.")] = None,
    verify: Annotated[bool, typer.Option(help="Verify the callback URL.")] = True,
) -> CommandResult:
    """Register a number, or replace the one with this id."""
    spec = {"phone_number_id": phone_number_id, "phone": phone, "token": token, "app_secret": app_secret}
    more = given(callback_url=callback_url, verify_token=verify_token, name=name, waba_id=waba_id)
    return CommandResult(_without_effective(control.post("numbers", {**spec, **more, "verify": verify})))


def _without_effective(number: dict[str, Any]) -> dict[str, Any]:
    """Return the number without its effective settings."""
    return {name: value for name, value in number.items() if name != "effective"}
