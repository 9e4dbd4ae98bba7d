"""The documentation of a route whose handler does not describe itself yet."""

from typing import Any, get_origin

from gatepost.api.openapi.route_docs import RouteDocs


def Note(data: Any = None, **more: Any) -> RouteDocs:  # noqa: N802
    """Return what is known of a route."""
    return RouteDocs(data=data, paged=get_origin(data) is list, **more)
