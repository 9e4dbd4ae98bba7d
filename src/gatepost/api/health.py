"""Is it alive, and is it ready? Both answer without a key."""

from litestar import Response, get

from gatepost.api.body import answer
from gatepost.api.gateway import Door


@get("/healthz", opt={"public": True}, summary="Alive?")
async def healthz() -> Response[bytes]:
    """The process runs."""
    return answer({"alive": True})


@get("/readyz", opt={"public": True}, summary="Ready?")
async def readyz(gateway: Door) -> Response[bytes]:
    """The database is reachable, migrations are done, the owner loop runs."""
    checks = await gateway.ready()
    ready = all(checks.values())
    return answer(checks, "Ready" if ready else "Not ready", status=200 if ready else 503)
