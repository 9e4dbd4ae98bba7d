"""Cells: the databases of one gateway. An account is in one of them with everything that it has."""

MAIN = "main"  # the first cell: the database of `database.url`, or the embedded one
