"""Recognises one emoji: a pictograph with its skin tone, a flag, a keycap, or a joined sequence of them."""

import re

# The pictographs of the Basic Multilingual Plane one by one; those above it by block, so that new ones are accepted.
_LOW = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa"
    "\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e\u2611\u2614\u2615\u2618\u261d\u2620\u2622\u2623"
    "\u2626\u262a\u262e\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f\u2660\u2663\u2665\u2666\u2668\u267b\u267e"
    "\u267f\u2692-\u2697\u2699\u269b\u269c\u26a0\u26a1\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8"
    "\u26ce\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712"
    "\u2714\u2716\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763\u2764\u2795-\u2797"
    "\u27a1\u27b0\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299"
)
_HIGH = (
    "\U0001f004\U0001f0cf\U0001f170\U0001f171\U0001f17e\U0001f17f\U0001f18e\U0001f191-\U0001f19a\U0001f201\U0001f202"
    "\U0001f21a\U0001f22f\U0001f232-\U0001f23a\U0001f250\U0001f251\U0001f300-\U0001f64f\U0001f680-\U0001f6ff"
    "\U0001f7e0-\U0001f7eb\U0001f7f0\U0001f90c-\U0001f9ff\U0001fa70-\U0001faff"
)
_KEYCAP = "[0-9#*]\ufe0f?\u20e3"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_TAGS = "(?:[\U000e0020-\U000e007e]+\U000e007f)?"  # the flags of England, Scotland and Wales
_PICTURE = f"[{_LOW}{_HIGH}][\ufe0e\ufe0f]?[\U0001f3fb-\U0001f3ff]?{_TAGS}"
_ONE = f"(?:{_KEYCAP}|{_FLAG}|{_PICTURE})"
_EMOJI = re.compile(f"{_ONE}(?:\u200d{_ONE})*")


def is_emoji(text: str) -> bool:
    """Return whether a text is exactly one emoji."""
    return _EMOJI.fullmatch(text) is not None
