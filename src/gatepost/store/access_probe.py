"""Run as the user that the gateway is to go on as: is the program within reach, are its folders, is the database?

python -P -m gatepost.store.access_probe FOLDER…   the database's address on stdin; the reason on stderr, exit code 1
"""

import asyncio
import os
import sys

import asyncpg

# What being another user can be the cause of. A server that is away is none of it.
_ACCESS = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.ClientConfigurationError,
    PermissionError,
)


def main() -> None:
    """Look, and say what is wrong."""
    reason = _folder_problem(sys.argv[1:]) or _authority_problem() or asyncio.run(_database_problem(sys.stdin.read()))
    if reason:
        raise SystemExit(reason)


def _folder_problem(folders: list[str]) -> str | None:
    for folder in folders:
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            return f"it cannot write to {folder}"
    return None


def _authority_problem() -> str | None:
    """The certificates that an operator chose are read when the first client is made."""
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        path = os.environ.get(name)
        if path and not os.access(path, os.R_OK):
            return f"it cannot read {path} ({name})"
    return None


async def _database_problem(url: str) -> str | None:
    if not url:
        return None
    try:
        await (await asyncpg.connect(url, timeout=5)).close()
    except _ACCESS as error:
        return f"the database does not let it in: {error}"
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError):
        return None
    return None


if __name__ == "__main__":
    main()
