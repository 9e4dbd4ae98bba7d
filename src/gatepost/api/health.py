"""Is it alive, and is it ready? Both answer without a key."""

from litestar import Response, get

from gatepost.api.context import Context
from gatepost.api.json_body import answer


@get("/healthz", opt={"public": True}, summary="Alive?")
async def healthz() -> Response[bytes]:
    """The process runs."""
    return answer({"alive": True})


@get("/readyz", opt={"public": True}, summary="Ready?")
async def readyz(gateway: Context) -> Response[bytes]:
    """The database is reachable and takes writes, migrations are done, the owner loop runs."""
    checks = await gateway.ready()
    failed = [name for name, passed in checks.items() if not passed]
    if not failed:
        return answer(checks, "Ready")
    return answer(checks, f"Not ready: {', '.join(failed)}", status=503)
