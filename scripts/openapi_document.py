"""Write the OpenAPI document into a file, unless the file has it already: the dashboard's types are made from it.

usage: python -m scripts.openapi_document FILE
"""

import sys
from pathlib import Path

import msgspec

from gatepost.api.app import HEALTH, REFERENCE, ROUTES
from gatepost.api.openapi.document import build_document
from gatepost.api.openapi.routes import list_operations


def main(path: Path) -> None:
    """Write the document. An unchanged file keeps its time, so that `make` does not build again."""
    document = msgspec.json.encode(build_document(list_operations([*ROUTES, *REFERENCE, *HEALTH])))
    if not path.exists() or path.read_bytes() != document:
        path.write_bytes(document)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
