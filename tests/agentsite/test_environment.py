"""Readers of environment variables: values, defaults and error messages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from agentsite import environment

NAME = "AGENTSITE_TEST"
Read = Callable[..., Any]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets the variable that the readers of this file read."""
    return lambda value: monkeypatch.setenv(NAME, value)


def refusal(read: Read, *arguments: Any) -> str:
    with pytest.raises(ImproperlyConfigured) as caught:
        read(NAME, *arguments)
    return str(caught.value)


READERS = [
    (environment.text, ("a",), "a"),
    (environment.flag, (True,), True),
    (environment.whole, (7, 1, 5), 7),
    (environment.number, (0.5,), 0.5),
    (environment.choice, (("bwrap", "off"), "bwrap"), "bwrap"),
    (environment.words, (("a", "b"),), ["a", "b"]),
    (environment.url, ("http://127.0.0.1",), "http://127.0.0.1"),
    (environment.path, (Path("/srv"),), Path("/srv")),
    (environment.time_zone, ("Asia/Shanghai",), "Asia/Shanghai"),
    (environment.origins, (), []),
]


@pytest.mark.parametrize(("read", "arguments", "default"), READERS)
def test_an_unset_variable_gives_the_default(read: Read, arguments: tuple[Any, ...], default: Any) -> None:
    assert read(NAME, *arguments) == default


@pytest.mark.parametrize("blank", ["", "   "])
@pytest.mark.parametrize(("read", "arguments", "default"), READERS)
def test_an_empty_variable_counts_as_unset(
    given: Callable[[str], None], blank: str, read: Read, arguments: tuple[Any, ...], default: Any
) -> None:
    given(blank)
    assert read(NAME, *arguments) == default


def test_text_loses_the_spaces_around_it(given: Callable[[str], None]) -> None:
    given(" sk-1 2\n")
    assert environment.text(NAME) == "sk-1 2"


@pytest.mark.parametrize("value", ["1", "true", "YES", "On"])
def test_a_flag_is_raised(given: Callable[[str], None], value: str) -> None:
    given(value)
    assert environment.flag(NAME) is True


@pytest.mark.parametrize("value", ["0", "False", "no", "OFF"])
def test_a_flag_is_lowered(given: Callable[[str], None], value: str) -> None:
    given(value)
    assert environment.flag(NAME, True) is False


def test_a_flag_refuses_other_words(given: Callable[[str], None]) -> None:
    given("maybe")
    assert (
        refusal(environment.flag)
        == "AGENTSITE_TEST must be one of 1, true, yes, on, 0, false, no, off, not 'maybe'."
    )


@pytest.mark.parametrize(("value", "read"), [("1", 1), ("65535", 65535), (" +80 ", 80)])
def test_a_whole_number_within_its_bounds(given: Callable[[str], None], value: str, read: int) -> None:
    given(value)
    assert environment.whole(NAME, 8000, 1, 65535) == read


@pytest.mark.parametrize("value", ["0", "65536", "80.0", "1_000", "٣", "8e3", "eighty", "9" * 5000])
def test_a_whole_number_refuses_the_rest(given: Callable[[str], None], value: str) -> None:
    given(value)
    expected = f"AGENTSITE_TEST must be a whole number from 1 to 65535, not '{value}'."
    assert refusal(environment.whole, 8000, 1, 65535) == expected


@pytest.mark.parametrize(
    ("bounds", "allowed"),
    [((None, None), ""), ((2, None), " of at least 2"), ((None, -2), " of at most -2")],
)
def test_the_refusal_says_which_bounds_there_are(
    given: Callable[[str], None], bounds: tuple[int | None, int | None], allowed: str
) -> None:
    given("x")
    assert (
        refusal(environment.whole, 0, *bounds) == f"AGENTSITE_TEST must be a whole number{allowed}, not 'x'."
    )


@pytest.mark.parametrize(("value", "read"), [("0", 0.0), ("0.25", 0.25), ("1e1", 10.0)])
def test_a_number_within_its_bounds(given: Callable[[str], None], value: str, read: float) -> None:
    given(value)
    assert environment.number(NAME, 1, 0, 10) == read


@pytest.mark.parametrize("value", ["-0.1", "10.5", "nan", "inf", "a lot"])
def test_a_number_refuses_the_rest(given: Callable[[str], None], value: str) -> None:
    given(value)
    assert (
        refusal(environment.number, 1, 0, 10)
        == f"AGENTSITE_TEST must be a number from 0 to 10, not '{value}'."
    )


def test_a_choice_is_one_of_the_allowed_words(given: Callable[[str], None]) -> None:
    given("off")
    assert environment.choice(NAME, ("bwrap", "off"), "bwrap") == "off"


def test_a_choice_refuses_other_words(given: Callable[[str], None]) -> None:
    given("none")
    assert refusal(environment.choice, ("bwrap", "off"), "bwrap") == (
        "AGENTSITE_TEST must be one of bwrap, off, not 'none'."
    )


def test_words_are_the_parts_that_are_not_empty(given: Callable[[str], None]) -> None:
    given("example.org, www.example.org,,")
    assert environment.words(NAME) == ["example.org", "www.example.org"]


def test_words_with_another_separator(given: Callable[[str], None]) -> None:
    given("/srv/a,b:/srv/c")
    assert environment.words(NAME, separator=":") == ["/srv/a,b", "/srv/c"]


@pytest.mark.parametrize(
    "value", ["https://example.org/v1", "http://[::1]:8000", "http://127.0.0.1:11434/v1/"]
)
def test_a_complete_web_address(given: Callable[[str], None], value: str) -> None:
    given(value)
    assert environment.url(NAME) == value


@pytest.mark.parametrize(
    "value",
    [
        "example.org",
        "http:example.org",
        "http://",
        "http:///v1",
        "http://h:port",
        "http://h:99999",
        "http://[::1",
        "ftp://h",
        "http://a b",
    ],
)
def test_an_incomplete_web_address_is_refused(given: Callable[[str], None], value: str) -> None:
    given(value)
    expected = "AGENTSITE_TEST must be a complete address that begins with http:// or https://."
    assert refusal(environment.url) == expected


@pytest.mark.parametrize(
    "value",
    ["sqlite:////srv/db.sqlite3", "sqlite://:memory:", "postgres://u:p@db:5432/site", "postgres:///site"],
)
def test_a_database_address_may_lack_the_host(given: Callable[[str], None], value: str) -> None:
    given(value)
    assert environment.url(NAME, schemes=("sqlite", "postgres")) == value


def test_a_refused_address_is_not_repeated_for_it_may_hold_a_password(given: Callable[[str], None]) -> None:
    given("redsi://:secret@cache")
    sentence = refusal(environment.url, "", ("redis", "rediss"))
    assert sentence == "AGENTSITE_TEST must be a complete address that begins with redis:// or rediss://."


def test_a_path_is_made_absolute(
    given: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    given("data")
    assert environment.path(NAME, Path("/srv")) == tmp_path / "data"


def test_a_path_may_begin_at_home(
    given: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    given("~/site")
    assert environment.path(NAME, Path("/srv")) == tmp_path / "site"


def test_a_path_in_an_unknown_home_is_refused(given: Callable[[str], None]) -> None:
    given("~nobody-of-that-name/site")
    assert refusal(environment.path, Path("/srv")) == (
        "AGENTSITE_TEST must be a path, and '~nobody-of-that-name/site' begins in no known home folder."
    )
