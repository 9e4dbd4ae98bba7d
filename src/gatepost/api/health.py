"""Whether the process is alive and ready. Both routes work without a key."""

import msgspec

from gatepost.api.context import Context
from gatepost.api.contract.health import Alive, ReadyChecks
from gatepost.api.responses import Reply
from gatepost.api.route import get


@get("/healthz", summary="Alive?")
async def healthz() -> Alive:
    """The process runs."""
    return Alive(True)


@get("/readyz", summary="Ready?", message="Ready", extra={503: ReadyChecks})
async def readyz(gateway: Context) -> Reply[ReadyChecks]:
    """Whether the database is reachable and accepts writes, migrations are done, and the owner loop runs."""
    checks = await gateway.ready()
    failed = [name for name, passed in msgspec.structs.asdict(checks).items() if passed is False]
    return Reply(checks, f"Not ready: {', '.join(failed)}", 503) if failed else Reply(checks)
