"""Whether the process is alive and ready. Both routes work without a key."""

from gatepost.api.context import Context
from gatepost.api.responses import Reply
from gatepost.api.route import get


@get("/healthz", summary="Alive?")
async def healthz() -> dict[str, bool]:
    """The process runs."""
    return {"alive": True}


@get("/readyz", summary="Ready?", message="Ready", extra={503: dict[str, bool]})
async def readyz(gateway: Context) -> Reply[dict[str, bool]]:
    """The database is reachable and takes writes, migrations are done, the owner loop runs."""
    checks = await gateway.ready()
    failed = [name for name, passed in checks.items() if not passed]
    return Reply(checks, f"Not ready: {', '.join(failed)}", 503) if failed else Reply(checks)
