"""The program. The modules of a command are imported when it is called, so that the program starts fast."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gatepost.cli.options import new_group

# Help of each command, and its modules; the first has its `group`.
COMMANDS = {
    "up": ("Run the gateway with the sandbox and a demo account.", "up"),
    "serve": ("Run the gateway until it is stopped.", "serve"),
    "sandbox": ("Run the simulated network, or control a running one.", "sandbox"),
    "migrate": ("Migrate the database to the schema of this version.", "serve"),
    "doctor": ("Find what is wrong with this gateway, and say how to fix it.", "doctor"),
    "cell": ("Cells: the databases of a gateway that has several.", "cells"),
    "account": ("Accounts: the customers of this gateway.", "accounts"),
    "user": ("Users of an account, and their roles.", "users"),
    "plan": ("Plans: how many messages an account may send in a month.", "plans"),
    "channel": ("Channels: phone numbers on a network.", "channels", "links"),
    "key": ("Keys: programs call the API of a channel with one.", "keys"),
    "webhook": (
        "Webhooks: URLs that a channel's events are posted to.",
        "webhooks",
        "webhook_signing",
        "deliveries",
    ),
    "mcp": ("Connect an AI assistant to a running gateway (MCP), and see what it may do and did.", "mcp"),
    "draft": ("Drafts: messages that a person has to approve.", "drafts"),
    "send": ("Send a message.", "sending"),
    "tail": ("Show events as they happen.", "tail"),
    "export": ("Write all messages or contacts of a channel into a file.", "exporting"),
    "qr": ("The engines that link phones to QR channels.", "qr"),
    "backup": ("Write a backup of the database and the files, also while the gateway runs.", "backup"),
    "restore": ("Restore a backup.", "restore"),
    "move-database": ("Move the database to another PostgreSQL server.", "move_database"),
    "secret-key": ("The key that encrypts stored secrets.", "secret_key"),
    "version": ("Print the version.", "version"),
}


@cache
def load_command(name: str) -> Any:
    """Import the modules of a command, and return it."""
    help_, *modules = COMMANDS[name]
    first, *_ = [import_module(f"gatepost.cli.{module}") for module in modules]
    group = typer.main.get_group(first.group)
    group.help = help_
    return group.commands.get(name, group)  # a module has a command of this name, or a group of commands


class _Commands(Mapping[str, Any]):
    def __getitem__(self, name: str) -> Any:
        return load_command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Program(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (help_, *_) in COMMANDS.items()])


app = new_group("A messaging gateway you run yourself.", cls=_Program)


def _print_version(wanted: bool) -> None:
    if wanted:
        load_command("version").callback()
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_print_version)] = False,
) -> None:
    pass
