"""The rows of an account that moves to another cell. Each function works on one database: `departure` on the old one,
`arrival` on the new one. `admin/account_move.py` has the order of the steps.
"""
