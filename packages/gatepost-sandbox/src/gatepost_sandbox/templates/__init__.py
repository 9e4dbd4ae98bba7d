"""Message templates: their rules, their review and their status."""

from gatepost_sandbox.templates.store import Templates
from gatepost_sandbox.templates.template import Template

__all__ = ["Template", "Templates"]
