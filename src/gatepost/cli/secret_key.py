"""`gatepost secret-key`: the key that encrypts stored secrets."""

from typing import Annotated

import typer

from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import CommandResult, confirm

group = new_group("The key that encrypts stored secrets.")


@command(group, "replace")
async def replace(
    session: CommandSession, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> CommandResult:
    """Replace a lost key; what it encrypted has to be entered again."""
    from gatepost.admin.unlock import opens, replace_key
    from gatepost.model import ids
    from gatepost.store.checks import list_secrets

    if not yes:
        confirm("Use the present key, or a new one, from now on? What the old key encrypted stays unreadable.")
    vault = await replace_key(session.db, session.settings.security.secret_key, session.settings.data_folder)
    prefix = {"channel": "ch", "endpoint": "we"}
    lost = [kept for kept in await list_secrets(session.db) if not opens(vault, kept)]
    return CommandResult(
        {
            "replaced": True,
            **{
                f"{kind}s": [ids.format_id(prefix[kind], one.id) for one in lost if one.kind == kind] for kind in prefix
            },
        },
        note="Create these channels again with their tokens, rotate the secrets of these endpoints, "
        "restart the gateway. Phones linked with the engine baileys have to be linked again.",
    )
