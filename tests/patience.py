"""How long a test waits for something to happen.

A limit only ends a test that would wait forever. It says nothing about how fast anything is: a full machine may be
slow, and must not fail a test. `tests/test_suite.py` checks that no test asserts a measured time.
"""

PATIENCE = 90.0  # seconds; the limit of a whole test is in pyproject.toml
