"""Messages of groups and broadcasts: ignored, or stored as conversations of their own."""

import msgspec

from gatepost.model.person import Person
from gatepost.networks.base import Incoming, Update


def apply_group_setting(update: Update, *, groups: bool) -> Update | None:
    """Return an update as it is stored, a group's message under the group's id; None: it is ignored."""
    chat = (update.context or {}).get("chat") if isinstance(update, Incoming) else None
    if chat is None or not isinstance(update, Incoming):
        return update
    if not groups:
        return None
    author = {name: value for name, value in msgspec.structs.asdict(update.person).items() if value}
    person = Person(user_id=str(chat.get("id")), name=chat.get("name"))
    return msgspec.structs.replace(update, person=person, context={**(update.context or {}), "author": author})
