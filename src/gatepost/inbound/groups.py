"""Groups and broadcasts: no conversations with a person, so left out, or kept as conversations of their own."""

import msgspec

from gatepost.model.person import Person
from gatepost.networks.base import Incoming, Update


def fitting(update: Update, *, groups: bool) -> Update | None:
    """An update as it is kept; None: not at all. What is said in a group is kept under the group's own id."""
    chat = (update.context or {}).get("chat") if isinstance(update, Incoming) else None
    if chat is None or not isinstance(update, Incoming):
        return update
    if not groups:
        return None
    author = {name: value for name, value in msgspec.structs.asdict(update.person).items() if value}
    person = Person(user_id=str(chat.get("id")), name=chat.get("name"))
    return msgspec.structs.replace(update, person=person, context={**(update.context or {}), "author": author})
