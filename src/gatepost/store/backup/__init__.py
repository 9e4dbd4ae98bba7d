"""Copies of a whole database: read in one snapshot, written in one transaction.

snapshot ─► tables, row by row as COPY text ─┬─► archive (a file) ─► load
                                             └─► load (another server)
"""
