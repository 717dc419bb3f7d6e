from __future__ import annotations

from chat.agent.sandbox.process import Output


def test_a_short_output_is_kept_whole() -> None:
    output = Output(head=4, tail=4)
    for data in (b"ab", b"cde", b"fgh"):
        output.feed(data)
    assert output.text() == "abcdefgh"


def test_of_a_long_one_the_beginning_and_the_end() -> None:
    output = Output(head=3, tail=3)
    for place in range(100):
        output.feed(b"%02d" % place)
    assert output.text() == "000\n[... 194 bytes left out ...]\n899"
    assert output.total == 200


def test_a_cut_does_not_show_half_a_character() -> None:
    output = Output(head=4, tail=4)
    output.feed("äöü€".encode() * 10)
    assert output.text() == "äö\n[... 82 bytes left out ...]\n€"


def test_less_may_be_shown_than_is_kept() -> None:
    output = Output(head=4, tail=4)
    output.feed(b"abcdefgh")
    assert output.text(1, 2) == "a\n[... 5 bytes left out ...]\ngh"
    assert output.text(4, 4) == output.text(3, 5) == "abcdefgh"
    output.feed(b"ijklmnopq")
    assert output.text(2, 3) == "ab\n[... 12 bytes left out ...]\nopq"
    assert output.text(0, 0) == "\n[... 17 bytes left out ...]\n"


def test_bytes_that_are_no_text() -> None:
    output = Output(head=99, tail=99)
    output.feed(b"a\xff\0b")
    assert output.text() == "a\ufffd\ufffdb"
