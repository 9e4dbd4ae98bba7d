"""The page about CI keeps its word: all its examples run, in order, against a real sandbox on a free port."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "testing-in-ci.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.+?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def environment() -> dict[str, str]:
    """As in a job: our programs on the path, and no proxy between them and loopback."""
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    kept.pop("GATEPOST_SANDBOX_URL", None)
    return kept | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}


def test_every_example_runs(tmp_path: Path) -> None:
    for program in blocks("python"):
        name = re.match(r"# (\w+\.py)\n", program)
        assert name is not None
        (tmp_path / name[1]).write_text(program)
    script = tmp_path / "job.sh"
    # For a job that fails half-way. After a good one they are gone already, and that must not become its outcome.
    clean_up = "trap 'kill ${RECEIVER_PID:-} ${SANDBOX_PID:-} 2>/dev/null || true' EXIT\n"
    script.write_text(clean_up + "\n".join(blocks("sh")))
    done = subprocess.run(
        ["sh", "-eux", str(script)],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,  # some twenty programs start one after the other
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert "2 passed" in done.stdout


def test_the_job_starts_the_sandbox_as_the_page_does() -> None:
    [job] = blocks("yaml")
    start = blocks("sh")[0]
    for line in start.splitlines():
        if "PID" not in line and "healthz" not in line:
            assert line in job


def test_the_page_is_linked() -> None:
    for page, link in ((DOCS.parent / "README.md", "docs/testing-in-ci.md"), (DOCS / "sandbox.md", "testing-in-ci.md")):
        assert f"({link})" in page.read_text()


def test_its_links_lead_somewhere() -> None:
    for target, anchor in re.findall(r"\]\((sandbox[\w-]*\.md)#([\w-]+)\)", PAGE):
        headings = re.findall(r"^#+ (.+)$", (DOCS / target).read_text(), re.MULTILINE)
        assert anchor in [heading.lower().replace("'", "").replace(" ", "-") for heading in headings]
