"""The deliveries in memory: the cursor never passes one that would be lost in a crash."""

from uuid import UUID

from gatepost.model.endpoint import DeliveryOptions
from gatepost.store.deliveries.queue import DueDelivery
from gatepost.webhooks.delivery_buffer import DeliveryBuffer
from gatepost.webhooks.delivery_request import DeliveryUnit


def due(number: int) -> DueDelivery:
    return DueDelivery(UUID(int=number), b"{}", 0)


def test_the_cursor_waits_for_the_first_unrecorded_delivery() -> None:
    buffer = DeliveryBuffer(UUID(int=0), DeliveryOptions())
    items = [due(number) for number in (5, 6, 7)]
    assert buffer.place(buffer.accept_page(items, 10), 0.0) == []
    assert buffer.cursor == UUID(int=4)
    buffer.release(items[1:])
    assert buffer.cursor == UUID(int=4)
    buffer.release(items[:1])
    assert buffer.cursor == UUID(int=7)


def test_after_a_rewind_all_is_read_again_except_what_is_in_flight() -> None:
    buffer = DeliveryBuffer(UUID(int=0), DeliveryOptions())
    items = [due(number) for number in (5, 6, 7)]
    buffer.place(buffer.accept_page(items, 10), 0.0)
    buffer.rewind(DeliveryOptions(), [DeliveryUnit((items[1],))])
    assert (buffer.read_to, buffer.cursor, len(buffer.ready)) == (UUID(int=4), UUID(int=4), 0)
    buffer.begin_read()
    assert [item.event_id.int for item in buffer.accept_page(items, 10)] == [5, 7]


def test_what_was_recorded_while_a_page_was_read_is_not_sent_again() -> None:
    buffer = DeliveryBuffer(UUID(int=0), DeliveryOptions())
    items = [due(5), due(6)]
    buffer.place(buffer.accept_page(items[:1], 10), 0.0)
    buffer.rewind(DeliveryOptions(), [DeliveryUnit((items[0],))])
    buffer.begin_read()
    buffer.release(items[:1])
    buffer.forget(items[:1])
    assert buffer.accept_page(items, 10) == items[1:]


def test_a_retry_that_was_recorded_while_retries_were_read_is_not_sent_again() -> None:
    buffer = DeliveryBuffer(UUID(int=9), DeliveryOptions())
    again = DueDelivery(UUID(int=5), b"{}", 1, retried=True)
    buffer.place([again], 0.0)
    assert [buffer.ready.popleft()] == [(again,)]
    buffer.begin_read()
    buffer.release([again])
    buffer.forget([again])
    buffer.place([again], 0.0)
    assert not buffer.ready
    buffer.begin_read()
    buffer.place([again], 0.0)
    assert len(buffer.ready) == 1


def test_an_ordered_endpoint_continues_with_deferred_deliveries_as_far_as_it_has_read() -> None:
    buffer = DeliveryBuffer(UUID(int=4), DeliveryOptions(ordered=True))
    assert buffer.reach == UUID(int=4)
    buffer.accept_page([due(5), due(6)], 2)
    assert buffer.reach == UUID(int=6)  # the page was full: there may be more
    buffer.accept_page([due(7)], 2)
    assert buffer.reach is None
    buffer.rewind(DeliveryOptions(ordered=True), [])
    assert buffer.reach == UUID(int=4)
    assert DeliveryBuffer(UUID(int=4), DeliveryOptions()).reach is None
