"""`python -m gatepost.cli`: the same as `gatepost`."""

from gatepost.cli import main

main()
