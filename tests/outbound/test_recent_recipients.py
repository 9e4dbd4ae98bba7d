"""The guess whether recipients are contacts: by what this process has accepted, and within bounds."""

from collections.abc import Iterator
from uuid import UUID, uuid4

from gatepost.outbound.recent_recipients import RecentRecipients

ANA, BOB = "5511999998888", "5511999997777"


def recipients(count: int, channel_id: UUID) -> Iterator[tuple[UUID, str]]:
    return ((channel_id, f"55119{n:08}") for n in range(count))


def test_recipients_are_forgotten_the_oldest_first() -> None:
    recent, channel_id = RecentRecipients(10), uuid4()
    for recipient in recipients(25, channel_id):
        recent.add(*recipient)
    phones = [phone for _, phone in recipients(25, channel_id)]
    assert recent.include(channel_id, phones[20:])
    assert not any(recent.include(channel_id, [phone]) for phone in phones[:10])
    assert not recent.include(channel_id, [phones[0], *phones[20:]])
    assert sum(len(found) for kept in (recent._young, recent._old) for found in kept.values()) <= 20


def test_a_recipient_that_is_used_is_kept() -> None:
    recent, caller = RecentRecipients(10), uuid4()
    for recipient in recipients(100, caller):
        recent.add(*recipient)
        if recipient[1].endswith("000"):
            recent.add(caller, ANA)
        assert recent.include(caller, [ANA])
    assert not recent.include(uuid4(), [ANA])


def test_recipients_are_guessed_by_the_last_one_that_was_not_recent() -> None:
    recent, channel_id = RecentRecipients(10), uuid4()
    recent.add(channel_id, ANA, new=True)
    assert not recent.include(channel_id, [BOB])
    recent.add(channel_id, ANA, new=False)  # recent: this does not say anything about others
    assert not recent.include(channel_id, [BOB])
    recent.add(channel_id, BOB, new=False)
    assert recent.include(channel_id, ["5511911112222"])
    assert not recent.include(uuid4(), [BOB])
    recent.add(channel_id, "5511911112222", new=True)
    assert not recent.include(channel_id, ["5511911113333"])
