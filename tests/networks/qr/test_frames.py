import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.networks.qr import frames
from gatepost.networks.qr.frames import FrameAnswer, FrameError
from gatepost.networks.qr.line_reader import LineReader
from tests.for_each import for_each


def test_unknown_fields_and_events_are_passed_over() -> None:
    assert frames.parse_frame(b'{"re":1,"ok":true,"novelty":{}}') == FrameAnswer(re=1, ok=True)
    assert frames.parse_frame(b'{"event":"novelty","session":"s"}') is None
    event = frames.parse_frame('{"event":"qr","session":"s","code":"2@","seconds":60,"novelty":1}')
    assert event == frames.QrFrame("s", "2@", 60)


@for_each(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"re":"one"}',
        b'{"event":"qr","session":"s"}',
        b'{"event":"connection","session":"s","state":"elsewhere"}',
        b'{"event":"message","session":"s","id":1}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_what_cannot_be_read_says_so(raw: bytes) -> None:
    with pytest.raises(frames.InvalidFrame):
        frames.parse_frame(raw)


@given(st.binary() | st.text())
def test_nothing_else_is_raised(raw: bytes | str) -> None:
    try:
        frames.parse_frame(raw)
    except frames.InvalidFrame:
        return


@for_each(
    ("answer", "sure"),
    [
        (FrameAnswer(1, error=FrameError(463)), True),
        (FrameAnswer(1, error=FrameError(0)), False),
        (FrameAnswer(1, error=FrameError(0, sure=True)), True),
        (FrameAnswer(1, error=FrameError(463, sure=False)), False),
        (FrameAnswer(1, error=FrameError(0), sure=True), True),
        (FrameAnswer(1, error=FrameError(429), sure=False), False),
        (FrameAnswer(1), False),
    ],
)
def test_whether_a_message_left(answer: FrameAnswer, sure: bool) -> None:
    assert answer.not_sent is sure


@given(st.lists(st.binary(min_size=1, max_size=8).filter(lambda line: b"\n" not in line)), st.integers(1, 7))
def test_lines_come_out_as_they_went_in(lines: list[bytes], step: int) -> None:
    stream, cutter, found = b"".join(line + b"\n" for line in lines), LineReader(8), []
    for start in range(0, len(stream), step):
        found += cutter.feed(stream[start : start + step])
    assert found == lines
    assert cutter.too_long == 0


@pytest.mark.parametrize("step", [1, 3, 100])
def test_a_line_over_the_limit_is_passed_over(step: int) -> None:
    stream, cutter, found = b"12345678\n123456789\nafter\n", LineReader(8), []
    for start in range(0, len(stream), step):
        found += cutter.feed(stream[start : start + step])
    assert found == [b"12345678", b"after"]
    assert cutter.too_long == 1
