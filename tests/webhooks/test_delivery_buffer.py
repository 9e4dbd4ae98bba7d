"""What a round has in memory: the cursor never passes anything that would be lost with it."""

from uuid import UUID

from gatepost.model.endpoint import DeliveryOptions
from gatepost.store.deliveries.queue import DueDelivery
from gatepost.webhooks.delivery_buffer import DeliveryBuffer
from gatepost.webhooks.delivery_request import DeliveryUnit


def due(number: int) -> DueDelivery:
    return DueDelivery(UUID(int=number), b"{}", 0)


def test_the_cursor_waits_for_the_first_that_is_not_recorded() -> None:
    hand = DeliveryBuffer(UUID(int=0), DeliveryOptions())
    items = [due(number) for number in (5, 6, 7)]
    assert hand.place(hand.accept_page(items, 10), 0.0) == []
    assert hand.cursor == UUID(int=4)
    hand.release(items[1:])
    assert hand.cursor == UUID(int=4)
    hand.release(items[:1])
    assert hand.cursor == UUID(int=7)


def test_what_is_wound_back_is_read_again_and_what_is_under_way_is_not() -> None:
    hand = DeliveryBuffer(UUID(int=0), DeliveryOptions())
    items = [due(number) for number in (5, 6, 7)]
    hand.place(hand.accept_page(items, 10), 0.0)
    hand.rewind(DeliveryOptions(), [DeliveryUnit((items[1],))])
    assert (hand.read_to, hand.cursor, len(hand.ready)) == (UUID(int=4), UUID(int=4), 0)
    hand.begin_read()
    assert [item.event_id.int for item in hand.accept_page(items, 10)] == [5, 7]


def test_what_was_recorded_while_a_page_was_read_is_not_sent_again() -> None:
    hand = DeliveryBuffer(UUID(int=0), DeliveryOptions())
    items = [due(5), due(6)]
    hand.place(hand.accept_page(items[:1], 10), 0.0)
    hand.rewind(DeliveryOptions(), [DeliveryUnit((items[0],))])
    hand.begin_read()
    hand.release(items[:1])
    hand.forget(items[:1])
    assert hand.accept_page(items, 10) == items[1:]


def test_a_retry_that_was_recorded_while_retries_were_read_is_not_sent_again() -> None:
    hand = DeliveryBuffer(UUID(int=9), DeliveryOptions())
    again = DueDelivery(UUID(int=5), b"{}", 1, retried=True)
    hand.place([again], 0.0)
    assert [hand.ready.popleft()] == [(again,)]
    hand.begin_read()
    hand.release([again])
    hand.forget([again])
    hand.place([again], 0.0)
    assert not hand.ready
    hand.begin_read()
    hand.place([again], 0.0)
    assert len(hand.ready) == 1


def test_an_ordered_endpoint_goes_on_with_lines_as_far_as_it_has_read() -> None:
    hand = DeliveryBuffer(UUID(int=4), DeliveryOptions(ordered=True))
    assert hand.reach == UUID(int=4)
    hand.accept_page([due(5), due(6)], 2)
    assert hand.reach == UUID(int=6)  # the page was full: there may be more
    hand.accept_page([due(7)], 2)
    assert hand.reach is None
    hand.rewind(DeliveryOptions(ordered=True), [])
    assert hand.reach == UUID(int=4)
    assert DeliveryBuffer(UUID(int=4), DeliveryOptions()).reach is None
