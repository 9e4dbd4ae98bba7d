"""Message templates: the rules they are held to, the review they go through, and what becomes of them."""

from gatepost_sandbox.templates.store import Templates
from gatepost_sandbox.templates.template import Template

__all__ = ["Template", "Templates"]
