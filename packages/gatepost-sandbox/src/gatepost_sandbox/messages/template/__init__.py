"""Template messages: the form of what is sent, and whether it fits the template as it is kept.

shape.py    name, language, components: JSON types alone              (no template needed)
match.py    status, then header · body · buttons · cards one by one    (132000 count, 132012 format, 132005 length)
"""

from gatepost_sandbox.messages.template.match import check_fit, fill_in
from gatepost_sandbox.messages.template.shape import check_template

__all__ = ["check_fit", "check_template", "fill_in"]
