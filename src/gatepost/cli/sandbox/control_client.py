"""The client of a running sandbox's control API, and commands that use it.

--url ─► ControlClient ─► the command's own few lines ─► Answer ─► text or JSON
           └ an error, or no sandbox ─► one line on stderr, exit code 1
"""

import json
from collections.abc import Callable
from typing import Annotated, Any, Concatenate, ParamSpec
from urllib import error as url_errors
from urllib import request
from urllib.parse import quote, urlencode

import typer

from gatepost.cli.command import Given, with_options
from gatepost.cli.output import CommandResult, print_result

P = ParamSpec("P")
DEFAULT_URL = "http://127.0.0.1:8081"
_TIMEOUT = 30.0

Url = Annotated[
    str | None,
    typer.Option(envvar="GATEPOST_SANDBOX_URL", help="Where the sandbox is.", show_default=DEFAULT_URL),
]


class ControlClient:
    """The control API of one sandbox."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        # A sandbox is on this machine or near it: never behind the proxy that the environment names.
        self._opener = request.build_opener(request.ProxyHandler({}))

    def get(self, path: str, **query: Any) -> Any:
        """Send a GET request; return the response."""
        given = {name: value for name, value in query.items() if value is not None}
        return self._call("GET", f"{path}?{urlencode(given)}" if given else path)

    def post(self, path: str, body: Any) -> Any:
        """Send a POST request; return the response."""
        return self._call("POST", path, body)

    def put(self, path: str, body: Any) -> Any:
        """Send a PUT request; return the response."""
        return self._call("PUT", path, body)

    def delete(self, path: str) -> Any:
        """Send a DELETE request; return the response."""
        return self._call("DELETE", path)

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        try:
            request_ = request.Request(f"{self._url}/control/{path}", content, headers, method=method)  # noqa: S310
            with self._opener.open(request_, timeout=_TIMEOUT) as answer:
                return json.load(answer)
        except url_errors.HTTPError as refusal:
            with refusal:
                raise self._refused(refusal.code, refusal.read(100_000)) from None
        except (OSError, ValueError) as error:
            raise self._unreachable(error) from None

    def _refused(self, status: int, body: bytes) -> Exception:
        from gatepost.model.errors import Conflict, Invalid, NotFound

        try:
            problem = json.loads(body)["error"]
        except (ValueError, KeyError, TypeError):
            problem = None
        if not isinstance(problem, str):
            return OSError(f"{self._url} is not a sandbox: it responded with {status} to a control request.")
        sentence = f"The sandbox refused: {problem}."
        return {404: NotFound, 409: Conflict}.get(status, Invalid)(sentence)

    def _unreachable(self, error: Exception) -> OSError:
        reason = getattr(error, "reason", None) or error
        return OSError(
            f"There is no sandbox at {self._url} ({reason}). "
            "Start one with: gatepost sandbox; or tell where it is with --url."
        )


DoorAction = Callable[Concatenate[ControlClient, P], CommandResult]


def control_command(group: typer.Typer, name: str) -> Callable[[DoorAction[P]], DoorAction[P]]:
    """Make a command of a function that calls the control API."""

    def register(action: DoorAction[P]) -> DoorAction[P]:
        def run(places: Given, arguments: dict[str, Any], as_json: bool) -> None:
            print_result(action(ControlClient(places["url"] or DEFAULT_URL), **arguments), as_json=as_json)  # type: ignore[call-arg]

        group.command(name)(with_options(action, {"url": Url}, run, logs=False))
        return action

    return register


def given(**values: Any) -> dict[str, Any]:
    """Return the arguments that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def segment(text: str) -> str:
    """Return an escaped path segment."""
    return quote(text, safe="")
