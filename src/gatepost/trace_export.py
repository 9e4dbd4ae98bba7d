"""Exports spans to a collector by OTLP over HTTP, as JSON. Nothing else waits for it.

Tracer ─► up to 512 spans ─► POST /v1/traces ─► exported
                                │ not reached, or busy: again after 1, 2, 4 … 30 s, and others wait meanwhile
                                └ rejected: dropped
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from datetime import timedelta
from uuid import uuid4

import msgspec
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import PyreqwestError

from gatepost import __version__
from gatepost.model.errors import GatepostError
from gatepost.tracing import Span, Tracer

BATCH = 512  # spans of one request: encoding them takes about a millisecond
_EVERY = 1.0  # seconds between exports while there is little to export
_TIMEOUT = 10.0
_LAST = 2.0  # seconds for the last export of a process that stops
_AGAIN = {408, 429, 502, 503, 504}
_SCOPE = {"name": "gatepost", "version": __version__}


class TraceExporter:
    """Sends the spans of a process to its collector."""

    def __init__(
        self, tracer: Tracer, endpoint: str, headers: Mapping[str, str], count: Callable[[str, int], None]
    ) -> None:
        self._tracer = tracer
        self._url = endpoint.rstrip("/") + "/v1/traces"
        self._headers = {"content-type": "application/json", **headers}
        self._count = count
        named = {"service.name": "gatepost", "service.version": __version__, "service.instance.id": uuid4().hex}
        self._resource = {"attributes": [{"key": key, "value": {"stringValue": text}} for key, text in named.items()]}
        self._client: Client = ClientBuilder().follow_redirects(False).build()
        self._unsent: list[Span] = []

    @classmethod
    def of(
        cls, tracer: Tracer | None, endpoint: str, headers: Mapping[str, str], count: Callable[[str, int], None]
    ) -> "TraceExporter | None":
        """Return the exporter of a tracer, if there is one."""
        return cls(tracer, endpoint, headers, count) if tracer is not None else None

    async def step(self) -> None:
        """Export what there is, after a moment in which more may come."""
        if len(self._tracer) < BATCH:
            await asyncio.sleep(_EVERY)
        await self.export()

    async def export(self) -> None:
        """Export up to a batch. Raise if the collector did not take it; spans that it may take later are kept."""
        self._unsent = self._unsent or self._tracer.take(BATCH)
        if not self._unsent:
            return
        status = await self._post(self._unsent)
        if status in _AGAIN:
            raise GatepostError(f"The collector of traces answered {status}.")
        count, self._unsent = len(self._unsent), []
        if not 200 <= status < 300:
            self._count("rejected", count)
            raise GatepostError(f"The collector of traces rejected spans with {status}. Check tracing.endpoint.")
        self._count("exported", count)

    async def close(self) -> None:
        """Export what is left, if the collector is quick, and close the connection."""
        with contextlib.suppress(GatepostError, TimeoutError):
            async with asyncio.timeout(_LAST):
                while self._unsent or len(self._tracer):
                    await self.export()
        await self._client.close()

    async def _post(self, spans: list[Span]) -> int:
        scope = {"scope": _SCOPE, "spans": spans}
        body = msgspec.json.encode({"resourceSpans": [{"resource": self._resource, "scopeSpans": [scope]}]})
        request = self._client.post(self._url).headers(self._headers).body_bytes(body)
        try:
            answer = await request.timeout(timedelta(seconds=_TIMEOUT)).build().send()
        except (PyreqwestError, OSError) as error:
            raise GatepostError("The collector of traces was not reached.") from error
        return answer.status
