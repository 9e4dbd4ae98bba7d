"""The figures of this process, for the operator's Prometheus. Without a token the route does not exist (`app.py`)."""

import hmac

from gatepost.api.asgi import Request, Response
from gatepost.api.context import Context
from gatepost.api.route import get
from gatepost.metrics import CONTENT_TYPE
from gatepost.model.errors import NotAuthenticated, NotFound


@get("/metrics", summary="Figures for Prometheus")
async def show_metrics(request: Request, gateway: Context) -> Response:
    """Counters and gauges of this process."""
    check_reader(request.headers.get("authorization", ""), gateway.figures.token)
    return Response(await gateway.figures.show(), headers={"cache-control": "no-store"}, media_type=CONTENT_TYPE)


def check_reader(authorization: str, token: str) -> None:
    """Raise unless the request has the token; without a configured token there is no such route."""
    if not token:
        raise NotFound("There is nothing at this address.")
    if not hmac.compare_digest(authorization.encode(), f"Bearer {token}".encode()):
        raise NotAuthenticated("Send the token of the setting metrics.token as 'Authorization: Bearer <token>'.")
