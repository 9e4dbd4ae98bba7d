"""`gatepost secret-key`: the key that encrypts stored secrets."""

from gatepost.admin.unlock import opens, replace_key
from gatepost.api.contract.operations import ReplacedKey
from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.options import Yes
from gatepost.cli.output import CommandResult, confirm
from gatepost.model import ids
from gatepost.store.checks import list_secrets

group = new_group()


@command(group, "replace")
async def replace(session: CommandSession, yes: Yes = False) -> CommandResult:
    """Replace a lost key. What it encrypted has to be entered again."""
    if not yes:
        confirm("Use the current key, or a new one, from now on? What the old key encrypted stays unreadable.")
    vault = await replace_key(session.db, session.settings.security.secret_key, session.settings.data_folder)
    lost = [secret for secret in await list_secrets(session.db) if not opens(vault, secret)]
    return CommandResult(
        ReplacedKey(
            replaced=True,
            channels=[ids.format_id("ch", secret.id) for secret in lost if secret.kind == "channel"],
            endpoints=[ids.format_id("we", secret.id) for secret in lost if secret.kind == "endpoint"],
        ),
        note="Create these channels again with their tokens, rotate the secrets of these endpoints, and restart the "
        "gateway. Phones that were linked with the engine baileys have to be linked again.",
    )
