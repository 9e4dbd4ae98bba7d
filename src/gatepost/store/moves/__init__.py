"""The rows of an account that moves to another cell. Each function works on one database: `outgoing` on the old one,
`incoming` on the new one. `admin/account_move.py` has the order of the steps.
"""
