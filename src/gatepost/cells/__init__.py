"""Several databases behind one gateway: cells. Every cell is complete, and no statement uses two of them.

            ┌─ credential ─► directory (which cell has it?) ─┐
request ─► front                                             ├─► Gatepost of the cell main ─► its database
            └─ none: main ───────────────────────────────────┴─► Gatepost of the cell west ─► its database

`docs/decisions/cells.md` has the reasons.
"""
