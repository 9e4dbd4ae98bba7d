"""The chats of all people, as each person sees them on the phone.

networks ─► state.py: one entry per message ─► watch ─► feeds
                     │ when read
                     ▼
       view.py, template_view.py ─► show.py: JSON of the control API ─► sends.py: what a person answers
"""

from gatepost_sandbox.chats.state import Chat, ChatMessage, Chats

__all__ = ["Chat", "ChatMessage", "Chats"]
