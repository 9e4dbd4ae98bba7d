"""Template messages: the format of the request, and whether it matches the stored template.

shape.py    name, language, components: JSON types alone              (no template needed)
match.py    status, then header · body · buttons · cards one by one    (132000 count, 132012 format, 132005 length)
"""

from gatepost_sandbox.messages.template.match import check_fit, fill_in
from gatepost_sandbox.messages.template.shape import check_template

__all__ = ["check_fit", "check_template", "fill_in"]
