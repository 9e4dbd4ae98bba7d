"""The compiled modules (bytecode) of the programs under test."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.processes import ROOT

_PROGRAM = "import gatepost.serving, gatepost.cli.serve"


@contextmanager
def compiled_modules() -> Iterator[None]:
    """Compile the gateway before its first start: an installed one is, and compiling takes memory and seconds.

    If Python is told to write no bytecode, it is written to a temporary folder.
    """
    with tempfile.TemporaryDirectory(prefix="gatepost-bench-", ignore_cleanup_errors=True) as folder:
        if sys.dont_write_bytecode:
            Path(folder).chmod(0o711)  # as root, the gateway runs as another user, who must be able to enter
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
            os.environ["PYTHONPYCACHEPREFIX"] = folder
        subprocess.run([sys.executable, "-c", _PROGRAM], cwd=ROOT, check=True)
        yield
