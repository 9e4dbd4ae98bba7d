"""The client of a running sandbox's control API, and commands that use it.

--url ─► ControlClient ─► the command's own few lines ─► CommandResult ─► text or JSON
           └ an error, or no sandbox ─► one line on stderr, exit code 1
"""

import json
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import typer

from gatepost.cli.arguments import given
from gatepost.cli.http_call import HttpError, call
from gatepost.cli.options import F, Given, parameters_of, with_options
from gatepost.cli.output import print_result
from gatepost.model.errors import Conflict, GatepostError, Invalid, NotFound

DEFAULT_URL = "http://127.0.0.1:8081"

Url = Annotated[
    str | None,
    typer.Option(envvar="GATEPOST_SANDBOX_URL", help="URL of the sandbox.", show_default=DEFAULT_URL),
]


class ControlClient:
    """The control API of one sandbox."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def get(self, path: str, **query: Any) -> Any:
        """Send a GET request; return the response."""
        filters = given(**query)
        return self._call("GET", f"{path}?{urlencode(filters)}" if filters else path)

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
        try:
            return call(f"{self._url}/control/{path}", body, method=method)
        except HttpError as error:
            raise self._rejected(error) from None
        except (OSError, ValueError) as error:
            raise self._unreachable(error) from None

    def _rejected(self, error: HttpError) -> Exception:
        try:
            problem = json.loads(error.body)["error"]
        except (ValueError, KeyError, TypeError):
            problem = None
        if not isinstance(problem, str):
            return OSError(f"{self._url} is not a sandbox: it responded with {error.status} to a control request.")
        kinds: dict[int, type[GatepostError]] = {404: NotFound, 409: Conflict}
        return kinds.get(error.status, Invalid)(f"The sandbox refused: {problem}.")

    def _unreachable(self, error: Exception) -> OSError:
        reason = getattr(error, "reason", None) or error
        return OSError(
            f"There is no sandbox at {self._url} ({reason}). "
            "Start one with: gatepost sandbox; or give its address with --url."
        )


def control_command(group: typer.Typer, name: str) -> Callable[[F], F]:
    """Make a command of a function that calls the control API."""

    def register(action: F) -> F:
        def run(shared: Given, arguments: dict[str, Any], as_json: bool) -> None:
            print_result(action(ControlClient(shared["url"] or DEFAULT_URL), **arguments), as_json=as_json)

        group.command(name)(with_options(action, parameters_of(action), run, {"url": Url}, logs=False))
        return action

    return register


def segment(text: str) -> str:
    """Return an escaped path segment."""
    return quote(text, safe="")
