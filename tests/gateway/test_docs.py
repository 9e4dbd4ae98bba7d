"""The docs say what the code does: every error code, route, field and event type has its line, and examples work."""

import ast
import re
import time
from pathlib import Path
from typing import Any

import gatepost
from gatepost.api.app import HEALTH, REFERENCE, ROUTES
from gatepost.model.errors import GatepostError
from gatepost.model.event import ALL_TYPES
from gatepost.model.send_request import SendRequest
from gatepost.model.signing import decode_secret, new_secret
from gatepost.webhooks.retry import ATTEMPTS
from gatepost.webhooks.signature import signature_headers

SOURCE = Path(gatepost.__file__).parent
DOCS = Path(__file__).parents[2] / "docs" / "reference"
INSIDE = {"stale_owner"}  # never leaves the gateway


def _read(name: str) -> str:
    return (DOCS / name).read_text()


def _codes() -> set[str]:
    """Every error code in the source: defaults of the tree, and the second argument wherever an error is made."""
    makers = {"invalid_field": 2} | {error.__name__: 1 for error in _tree(GatepostError)}
    codes = {error.default_code for error in _tree(GatepostError)}
    for path in [*SOURCE.rglob("*.py")]:
        if "sandbox" in path.parts:
            continue
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in makers:
                given = call.args[makers[call.func.id] :] + [k.value for k in call.keywords if k.arg == "code"]
                codes |= {arg.value for arg in given if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}
    framework = ast.parse((SOURCE / "api" / "errors.py").read_text())
    for pair in ast.walk(framework):
        if isinstance(pair, ast.Tuple) and pair.elts and isinstance(pair.elts[0], ast.Constant):
            codes.add(str(pair.elts[0].value))
    return codes - INSIDE


def _tree(error: type[GatepostError]) -> list[type[GatepostError]]:
    return [error, *(leaf for branch in error.__subclasses__() for leaf in _tree(branch))]


def test_every_error_code_has_its_heading() -> None:
    headings = re.findall(r"^## (\w+)$", _read("errors.md"), re.MULTILINE)
    assert len(headings) == len(set(headings))
    assert set(headings) == _codes()


def test_every_route_is_described() -> None:
    described = _read("api.md") + _read("account.md")
    for route in [*ROUTES, *REFERENCE, *HEALTH]:
        method, shown = route.method, re.sub(r"\{\w+\}", "{id}", route.path)
        assert f"`{method} {shown}" in described or f"{method} {shown}`" in described, (method, shown)
    assert "POST /api/v1/message/send" in described


def test_every_field_of_a_send_is_described() -> None:
    for field in SendRequest.__struct_fields__:
        assert f"| `{field}` |" in _read("api.md"), field


def test_every_event_type_and_attempt_is_described() -> None:
    text = _read("webhooks.md")
    for type_ in ALL_TYPES:
        assert f"| `{type_}` |" in text, type_
    assert f"| {ATTEMPTS} |" in text


def test_the_python_example_verifies() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", _read("webhooks.md"), re.DOTALL)
    space: dict[str, Any] = {}
    exec(example, space)
    secret, other, body = new_secret(), new_secret(), b'{"id": "evt_1"}'
    both = [decode_secret(other), decode_secret(secret)]
    headers = signature_headers(both, "evt_1", int(time.time()), body)
    assert space["verify"](secret, headers, body)
    assert space["verify"](other, headers, body)
    assert not space["verify"](new_secret(), headers, body)
    assert not space["verify"](secret, headers, body + b" ")
    assert not space["verify"](secret, headers | {"webhook-id": "evt_2"}, body)
    old = signature_headers(both, "evt_1", int(time.time()) - 301, body)
    assert not space["verify"](secret, old, body)
