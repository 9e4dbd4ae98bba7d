"""The parts of cells: settings, credentials, the places of files, and that no statement can use two databases."""

import ast
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from gatepost.api.session_cookie import SessionCookie
from gatepost.cells.credential import Credential, read_credential, read_email
from gatepost.metrics import BacklogFigures, CurrentFigures, ProcessMetrics
from gatepost.metrics_totals import add_up_cells, read_metrics
from gatepost.model.account import key_hash, new_key
from gatepost.model.session import new_token, token_hash
from gatepost.settings import BadSettings, load
from gatepost.store.media.objects import media_place
from tests.for_each import for_each

STORE = Path(__file__).parents[2] / "src" / "gatepost" / "store"
URL = "postgres://gatepost@db/gatepost"


@for_each(
    "cells",
    [
        {"main": URL},
        {"West": URL},
        {"": URL},
        {"a" * 32: URL},
        {"a b": URL},
        {"west": ""},
        {"west": "mysql://x"},
        [URL],
    ],
)
def test_bad_settings_are_refused(cells: Any) -> None:
    with pytest.raises(BadSettings, match="cells"):
        load(environ={}, overrides={"cells": cells})


def test_settings_of_cells() -> None:
    assert load(environ={}).cells == {}
    found = load(environ={"GATEPOST_CELLS__WEST": URL}, overrides={f"cells.{'a' * 31}": "postgresql://db/x"})
    assert found.cells == {"west": URL, "a" * 31: "postgresql://db/x"}


def scope(path: str, **headers: str) -> dict[str, Any]:
    return {"path": path, "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}


def test_credentials() -> None:
    cookie, key, token, channel = SessionCookie(secure=False), new_key(), new_token(), UUID(int=7)
    session, bearer = f"a=b; {cookie.name}={token}", f"Bearer {key}"

    def read(path: str, **headers: str) -> Credential | None:
        return read_credential(scope(path, **headers), cookie)

    assert read("/api/v1/channel", authorization=bearer) == ("key", key_hash(key))
    assert read("/mcp", authorization=f"bearer  {key}") == ("key", key_hash(key))
    assert read("/api/v1/account", cookie=session) == ("session", token_hash(token))
    assert read("/api/v1/account", authorization=bearer, cookie=session) == ("session", token_hash(token))
    assert read("/api/v1/account", authorization=bearer, cookie="a=b") == ("key", key_hash(key))
    assert read(f"/api/v1/one-time-links/{token}", cookie="x") == ("link", token_hash(token))
    assert read(f"/callbacks/cloud/ch_{channel.hex}") == ("channel", channel)
    for path in ("/", "/assets/app.js", "/docs", "/metrics", "/readyz", "/mcp/"):
        assert read(path, authorization=bearer, cookie=session) is None
    for wrong in ("Bearer", "Bearer gpk_x", f"Basic {key}", ""):
        assert read("/api/v1/channel", authorization=wrong) is None
    for path in ("/callbacks/cloud/ch_7", "/callbacks/", "/api/v1/one-time-links/x", "/api/v1/one-time-links/"):
        assert read(path) is None
    assert read("/api/v1/account", cookie=f"{cookie.name}=short") is None


def test_the_email_address_of_a_sign_in() -> None:
    assert read_email(b'{"email": "Ana@example.com", "password": "x"}') == ("email", "Ana@example.com")
    assert read_email(b'{"email": "%s"}' % (b"a" * 254)) is not None
    for wrong in (b"", b"[", b"[]", b"{}", b'{"email": 1}', b'{"email": "%s"}' % (b"a" * 255), b'{"email": "\\u0000"}'):
        assert read_email(wrong) is None


def test_every_cell_has_its_own_files() -> None:
    data = Path("data")
    assert media_place("", data, "main") == ("", data / "media")
    assert media_place("", data, "west") == ("", data / "media" / "cells" / "west")
    assert media_place("s3://bucket/files/", data, "west")[0] == "s3://bucket/files/cells/west"


def test_metrics_of_cells_are_added_up() -> None:
    cells = [ProcessMetrics("1", "all"), ProcessMetrics("1", "all", serving=False)]
    for number, metrics in enumerate(cells, 1):
        metrics.accepted(number)
        metrics.set_current(CurrentFigures(oldest=number), BacklogFigures(retries=10 * number, unowned_seconds=number))
    families = {one.name: one for one in add_up_cells(*_split([read_metrics(one.registry) for one in cells]))}
    assert families["gatepost_messages_accepted"].samples[0][2] == 3
    assert families["gatepost_webhook_waiting"].samples[0][2] == 30  # of two databases
    assert families["gatepost_channels_unowned_oldest_seconds"].samples[0][2] == 2
    assert families["gatepost_send_queue_oldest_seconds"].samples[0][2] == 2
    assert families["gatepost_processes"].samples[0][2] == 1
    own = {one.name: one for one in read_metrics(cells[0].registry)}
    assert families["process_max_fds"].samples == own["process_max_fds"].samples


def _split(found: list[Any]) -> tuple[Any, list[Any]]:
    return found[0], found[1:]


# -- no statement crosses two databases -------------------------------------------------------------------------------


def databases_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many databases or connections a function takes."""
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    kinds = [ast.unparse(one.annotation).strip("'\"") for one in given if one.annotation]
    whole = [kind for kind in kinds if kind.split(" |")[0] in ("Database", "Queryable", "Connection[Any]")]
    many = [kind for kind in kinds if "[Database" in kind or "Database]" in kind]
    return len(whole) + 2 * len(many)


def crossing(text: str) -> list[str]:
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [one.name for one in functions if databases_of(one) > 1]


def test_no_store_function_takes_two_databases() -> None:
    found = {path.name: crossing(path.read_text()) for path in STORE.rglob("*.py")}
    assert {name: names for name, names in found.items() if names} == {}


def test_two_databases_are_found() -> None:
    assert crossing("async def f(a: Database, b: Database): pass") == ["f"]
    assert crossing("async def f(a: Database, b: 'Connection[Any]'): pass") == ["f"]
    assert crossing("async def f(a: list[Database]): pass") == ["f"]
    assert crossing("async def f(a: Database, b: int): pass") == []
