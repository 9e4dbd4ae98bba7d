"""Gatepost: a messaging gateway you run yourself."""

from importlib.metadata import version

__version__ = version("gatepost")
