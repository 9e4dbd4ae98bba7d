"""The scripts in the request collection, in Postman's JavaScript, that run before and after a request.

before   skips a request that cannot work yet: a variable is missing, or a condition is not met in time
after    checks the status, and stores the ids that later requests need
"""

from collections.abc import Iterable, Mapping
from typing import Any

from gatepost.api.openapi.route_docs import WaitUntil

_PAUSE = 250  # milliseconds

_SKIP = """const missing = {names}.filter((name) => !pm.collectionVariables.get(name));
if (missing.length) {{
    console.log("Skipped: there is no " + missing.join(", ") + " yet.");
    pm.execution.skipRequest();
}}"""
_WAIT = """const ready = (data) => {condition};
const look = (left) => pm.sendRequest({{
    url: pm.variables.replaceIn("{{{{base_url}}}}{path}"),
    header: {{"Authorization": "Bearer " + pm.collectionVariables.get("api_key")}}
}}, (error, response) => {{
    if (!error && response.code === 200 && ready(response.json().data)) return;
    if (left > 0) return setTimeout(() => look(left - 1), {pause});
    console.log("Skipped: it waited for {path}.");
    pm.execution.skipRequest();
}});
look({tries});"""


def skip_always(reason: str) -> str:
    """Skip a request in a run, and also when it is sent alone; the console says why."""
    return f'console.log("Skipped: {reason}.");\npm.execution.skipRequest();'


def scripts(
    status: Iterable[int],
    keeps: Mapping[str, str],
    needs: Iterable[str],
    after: WaitUntil | None,
    skipped: str | None,
) -> list[dict[str, Any]]:
    """Return both scripts of a request."""
    before = [skip_always(skipped)] if skipped else []
    if needs and not skipped:
        names = ", ".join(f'"{name}"' for name in needs)
        before.append(_SKIP.format(names=f"[{names}]"))
    if after and not skipped:
        asked = _WAIT.format(condition=after.condition, path=after.path, pause=_PAUSE, tries=after.tries)
        before.append(asked)
    codes = ", ".join(map(str, sorted(status)))
    behind = [f'pm.test("succeeds", () => pm.expect(pm.response.code).to.be.oneOf([{codes}]));']
    behind += [_keep(name, path) for name, path in keeps.items()]
    made = [_script("prerequest", before)] if before else []
    return [*made, _script("test", behind)]


def _keep(name: str, path: str) -> str:
    """Store a part of the response in a variable. If the part is missing, the variable is not changed."""
    part = path.replace("[", "?.[").replace(".", "?.").replace("??.", "?.")
    return f'pm.collectionVariables.set("{name}", pm.response.json().{part} || pm.collectionVariables.get("{name}"));'


def _script(when: str, parts: list[str]) -> dict[str, Any]:
    lines = [line for part in parts for line in part.split("\n")]
    return {"listen": when, "script": {"type": "text/javascript", "exec": lines}}
