"""The objects that the API answers with, one file per resource.

A struct here is the only description of an answer: handlers return it, `openapi/` derives its schema and its example
from it, and `--json` of the CLI prints it. `of(...)` makes one from rows of the store.
"""
