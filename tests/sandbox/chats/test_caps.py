"""The chats cannot fill the memory: the oldest messages and the chats that are used least are dropped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost_sandbox.chats import Chats, state
from gatepost_sandbox.watch import Watch
from tests.sandbox.driver import NUMBER, Driver

from .phone import PersonPhone


async def test_there_is_a_largest_number_of_chats(sandbox: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "CHATS_MAX", 3)
    for last in (1, 2, 3, 1, 4):
        await sandbox.text(f"551199999000{last}")
    listed = (await sandbox.control("GET", "chats"))["chats"]
    assert [chat["person"][-1] for chat in listed] == ["4", "1", "3"]
    assert await PersonPhone(sandbox, "5511999990002").messages() == []
    await sandbox.advance(60)  # the statuses of a dropped message are still reported
    assert (await sandbox.counts())["updates.read"] == 5


async def test_there_is_a_largest_size(sandbox: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "BYTES_MAX", 10_000)
    for last in (1, 2):
        for number in range(3):
            said = {"phone_number_id": NUMBER, "from": f"551199999000{last}", "text": f"{number}" * 2000}
            await sandbox.control("POST", "say", said)
    [chat] = (await sandbox.control("GET", "chats"))["chats"]
    assert chat["person"][-1] == "2"
    phone = PersonPhone(sandbox, "5511999990002")
    for number in range(3, 8):
        await phone.send("text", text=f"{number}" * 2000)
    assert [message["view"]["text"][0] for message in await phone.messages()] == ["5", "6", "7"]


@given(
    steps=st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 400), st.sampled_from(["add", "edit", "delete"]))),
    chats_max=st.integers(1, 3),
    messages_max=st.integers(1, 4),
    bytes_max=st.integers(1, 5000),
)
def test_the_books_are_right(
    steps: list[tuple[str, int, str]], chats_max: int, messages_max: int, bytes_max: int
) -> None:
    """Whatever is added, changed and dropped: the index and the size are those of the messages that are left."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("CHATS_MAX", chats_max), ("MESSAGES_MAX", messages_max), ("BYTES_MAX", bytes_max)):
            patch.setattr(state, name, value)
        chats = Chats(Watch())
        for number, (person, size, action) in enumerate(steps):
            if action == "add":
                chat = chats.open(person, "1", official=True)
                chats.add(chat, f"{number}", 0.0, "text", "x" * size, from_person=True, status="delivered")
            elif action == "edit":
                chats.edit("1", f"{number - 1}", "y" * size)
            else:
                chats.delete("1", f"{number - 2}")
            kept = [message for chat in chats.latest() for message in chat.messages]
            assert sorted(message.id for message in kept) == sorted(one for _, one in chats._messages)
            assert chats._size == sum(message.size for message in kept)
            assert len(list(chats.latest())) <= chats_max
            assert all(len(chat.messages) <= messages_max for chat in chats.latest())
