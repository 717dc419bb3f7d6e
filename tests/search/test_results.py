"""The results page: what is found, where, and the links to it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from html import unescape
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from chat.models import Conversation, Profile, SearchEntry, Tag, TodoRevision, Turn
from chat.search.index import catch_up, index_title
from tests.search.conftest import Talk, index_marked

Begin = Callable[[str], Talk]
TITLE = re.compile(r'search-result__title"><a href="/conversations/[^"]+">(.*?)</a>')
PLACE = re.compile(r'data-kind="(\w+)"><a class="search-place__link" href="([^"]+)">(.*?)</a></li>', re.S)
TAG = re.compile(r"</?(?!/?mark)[^>]*>")


def page(browser: Client, q: str = "", **more: Any) -> str:
    index_marked()
    answer = browser.get("/conversations/", {"q": q, **more})
    assert answer.status_code == 200
    return answer.content.decode()


def titles(browser: Client, q: str, **more: Any) -> list[str]:
    found = TITLE.findall(page(browser, q, **more))
    return [unescape(title.replace("<mark>", "").replace("</mark>", "")) for title in found]


def places(browser: Client, q: str, **more: Any) -> list[tuple[str, str, str]]:
    """Kind, address and text of every place."""
    found = PLACE.findall(page(browser, q, **more))
    return [(kind, unescape(where), plain(text)) for kind, where, text in found]


def plain(html: str) -> str:
    """What a user reads, with what is marked."""
    return " ".join(unescape(TAG.sub(" ", html)).split())


def test_a_message_is_found_and_marked(owners: Client, talk: Begin) -> None:
    one = talk("Look around").answer("The cause is a race in the cache.").end()
    talk("Something else").end()
    message = one.turn.messages.get(role="assistant")
    assert titles(owners, "RACE") == ["Look around"]
    where = f"/conversations/{one.conversation.pk}/?find=race#{message.dom_id}"
    assert places(owners, "RACE") == [
        ("message", where, "Focused The cause is a <mark>race</mark> in the cache.")
    ]


def test_what_is_shown_comes_before_another_version_of_it(owners: Client, talk: Begin) -> None:
    one = talk("Look around").answer("A race in the cache.").end()
    one.turn = one.conversation.run_again(one.turn.pk, uuid.uuid4())
    one.answer("Still a race in the cache.").end()
    found = places(owners, "race")
    assert [text.split(" ", 1)[1][:5] for _kind, _where, text in found] == ["Still", "A <ma"]
    assert ["version" in where for _kind, where, _text in found] == [False, True]


def test_another_version_with_all_the_words_comes_before_what_has_some(owners: Client, talk: Begin) -> None:
    one = talk("The quarterly budget zebra memo").answer("A budget.").end()
    one.turn = one.conversation.run_again(one.turn.pk, uuid.uuid4(), "The quarterly budget giraffe memo")
    one.answer("Another budget.").end()
    found = places(owners, "budget zebra")
    assert found[0][2] == "You The quarterly <mark>budget zebra</mark> memo"
    assert ["version" in where for _kind, where, _text in found] == [True, False, False]


def test_the_persons_message_is_found_before_the_turn_has_ended(owners: Client, talk: Begin) -> None:
    talk("First line\nwith a needle")
    assert [(kind, text) for kind, _where, text in places(owners, "needle")] == [
        ("message", "You First line with a <mark>needle</mark>")
    ]


def test_a_title_is_marked_itself(owners: Client, talk: Begin) -> None:
    one = talk("Look around").end()
    one.conversation.rename("The <b>great</b> hunt")
    index_title(one.conversation)
    assert "The &lt;b&gt;<mark>great</mark>&lt;/b&gt; hunt" in page(owners, "great")
    assert places(owners, "great") == []
    assert titles(owners, "look") == ["The <b>great</b> hunt"], "its message is still there"
    one.conversation.rename("Other")
    index_title(one.conversation)
    assert titles(owners, "great") == []


def test_the_name_of_a_tag_leads_to_what_has_it(owners: Client, strangers: Client, talk: Begin) -> None:
    one = talk("Look around").end()
    one.conversation.tags.add(Tag.of(one.conversation.owner_id, "Spring trips"))
    for typed in ("trip", "#spring", "＃ＳＰＲＩＮＧ"):
        found = page(owners, typed)
        assert (
            'Tags with this name: <a class="tag" href="/conversations/?tag=Spring%20trips">Spring trips</a>'
            in found
        )
        assert "Spring trips" not in page(strangers, typed)
    for other in ("winter", "#"):
        assert "Tags with this name" not in page(owners, other)


def test_a_todo_leads_to_the_plan_as_it_is_now(owners: Client, talk: Begin) -> None:
    one = talk("Plan it").plan("Write the parser", "Test it").plan("Write the parser", "Test the lexer").end()
    plan = f"/conversations/{one.conversation.pk}/plan/"
    assert places(owners, "parser") == [("todo", f"{plan}#item-i0", "To-do Write the <mark>parser</mark>")]
    assert places(owners, "lexer") == [("todo", f"{plan}#item-i1", "To-do Test the <mark>lexer</mark>")]


def test_a_todo_that_changed_since_leads_to_its_revision(owners: Client, talk: Begin) -> None:
    one = talk("Plan it").plan("Write the parser", "Test it").plan("Write the parser", "Test the lexer").end()
    where = f"/conversations/{one.conversation.pk}/plan/?revision=1#item-i1"
    assert places(owners, "test") == [("todo", where, "To-do <mark>Test</mark> it")], "once"
    assert places(owners, '"Test it"') == [("todo", where, "To-do <mark>Test it</mark>")]


def test_the_active_form_of_a_todo_is_shown_where_only_it_matches(owners: Client, talk: Begin) -> None:
    one = talk("Plan it")
    item = {"id": "a", "content": "Write it", "active_form": "Writing it", "status": "pending"}
    TodoRevision.write(one.turn, None, "focused", [item])
    one.end()
    assert [text for _kind, _where, text in places(owners, "write")] == ["To-do <mark>Write</mark> it"]
    found = [text for _kind, _where, text in places(owners, "writing")]
    assert found == ["To-do Write it <mark>Writing</mark> it"]


def test_a_tool_call_is_found_by_name_argument_and_output(owners: Client, talk: Begin) -> None:
    one = talk("Go")
    call = one.call("read_file", '{"path": "src/orders.py"}', "def total(): ...")
    one.end()
    where = f"/conversations/{one.conversation.pk}/#{call.dom_id}"
    for typed in ("read_file", "read", "src/orders.py", "orders", "total"):
        assert [re.sub(r"\?find=[^#]+", "", at) for _kind, at, _text in places(owners, typed)] == [where]
    text = "read_file <mark>src/orders.py</mark> → def total(): ..."
    assert places(owners, '"src/orders.py"')[0][2] == text
    assert places(owners, "path") == [], "the name of an argument is none of its words"


def test_a_file_is_found_by_its_name(owners: Client, talk: Begin) -> None:
    one = talk("Go")
    one.call("write_file", '{"path": "./报告/summer plan.md", "content": "x"}')
    one.call("write_file", '{"path": "报告/summer plan.md", "content": "y"}')
    one.call("bash", '{"command": "make"}', detail={"changed": ["报告/summer plan.md", "build/winter.pdf"]})
    one.end()
    assert [(kind, text) for kind, _where, text in places(owners, "winter")] == [
        ("file", "File build/<mark>winter</mark>.pdf")
    ]
    found = [each for each in places(owners, "summer") if each[0] == "file"]
    where = f"/conversations/{one.conversation.pk}/files/file/?path={quote('报告/summer plan.md')}"
    assert found == [("file", where, "File 报告/<mark>summer</mark> plan.md")]


def test_files_hide_nothing_that_was_said_of_them(owners: Client, talk: Begin) -> None:
    one = talk("Go")
    few = [f"src/widget_{number}.py" for number in range(10)]
    one.call("bash", '{"command": "make few"}', detail={"changed": few})
    many = [f"src/widget_{number}.c" for number in range(20)]
    one.call("bash", '{"command": "make many"}', detail={"changed": many, "changed_more": 1})
    one.end()
    one.go_on("The widget is wrong, says Mallory").end()
    (kind, _where, text), *_files = places(owners, "widget")
    assert (kind, text) == ("message", "You The <mark>widget</mark> is wrong, says Mallory")
    assert "Mallory</mark>" in page(owners, "widget mallory")
    assert places(owners, '"widget 3 c"') == []


def test_chinese_of_one_character_and_more(owners: Client, talk: Begin) -> None:
    talk("请帮我重构订单模块").answer("已调用read_file读取配置文件。").end()
    for typed in ("重构", "订单模块", "单模", "块", "读取配置", "ｒｅａｄ", "用read_file读", "文件"):
        assert titles(owners, typed) == ["请帮我重构订单模块"], typed
    for typed in ("构重", "订模", "天"):
        assert titles(owners, typed) == [], typed
    assert "读取<mark>配置</mark>文件" in page(owners, "配置")


def test_all_words_in_one_conversation_be_it_in_different_places(owners: Client, talk: Begin) -> None:
    talk("alpha").answer("beta").end()
    talk("alpha").end()
    assert len(titles(owners, "alpha")) == 2
    assert len(titles(owners, "beta alpha")) == 1
    assert titles(owners, "alpha gamma") == []


def test_what_was_found_stands_near_the_beginning(owners: Client, talk: Begin) -> None:
    talk("Go").answer("All is well so far. " * 8 + "The needle is here.").end()
    [(_kind, _where, text)] = places(owners, "needle")
    assert text == f"Focused …well so far. {'All is well so far. ' * 2}The <mark>needle</mark> is here."


def test_of_a_call_the_output_is_told_from_the_arguments(owners: Client, talk: Begin) -> None:
    one = talk("Go")
    one.call("bash", '{"command": "echo needle; ls"}', "needle\na.txt")
    one.end()
    [(_kind, _where, text)] = places(owners, "needle")
    assert text == "bash echo <mark>needle</mark>; ls → <mark>needle</mark> a.txt"


def test_the_place_with_most_of_the_words_comes_first(owners: Client, talk: Begin) -> None:
    talk("alpha").answer("only alpha").answer("alpha with beta").end()
    assert places(owners, "alpha beta")[0][2] == "Focused <mark>alpha</mark> with <mark>beta</mark>"


def test_words_that_follow_each_other_come_first(owners: Client, talk: Begin) -> None:
    talk("Go").answer(" ".join(f"Part {number}: {'and so on ' * 30}" for number in range(1, 9))).end()
    [(_kind, where, text)] = places(owners, "part 5")
    assert "<mark>Part 5</mark>" in text
    assert "?find=Part+5#" in where
    [(_kind, where, _text)] = places(owners, "5 part")
    assert "?find=Part#" in where, "where they do not follow each other"


def test_an_excerpt_that_begins_in_code_has_no_signs_of_markdown(owners: Client, talk: Begin) -> None:
    code = "```\n" + "a line of output\n" * 40 + "```\n\n*The **alpha** is real.*"
    talk("Look around").answer(code).end()
    assert "The <mark>alpha</mark> is real." in places(owners, "alpha")[0][2]


def test_the_palette_has_matching_titles_first(owners: Client, talk: Begin) -> None:
    talk("Old title of alpha").end()
    talk("Something else").answer("It has **alpha** in it.").end()
    index_marked()
    answer = owners.get("/palette/", {"q": "alpha"}).content.decode()
    answer = re.sub("<time.*?</time>", "", answer)
    options = [plain(each) for each in re.findall(r'option__title"[^>]*>(.*?)</a>', answer, re.S)]
    assert options[:2] == [
        "Old title of <mark>alpha</mark>",
        "Something else It has <mark>alpha</mark> in it.",
    ]


def test_the_palette_leads_to_the_words_that_a_title_lacks(owners: Client, talk: Begin) -> None:
    talk("Number nine").answer("In a table, number 21 is missing.").end()
    index_marked()
    answer = owners.get("/palette/", {"q": "table number"}).content.decode()
    first = re.search(r'href="(/conversations/[^"]*)".*?option__title"[^>]*>(.*?)</a>', answer, re.S)
    assert first
    assert "#message-" in first[1]
    assert (
        plain(re.sub("<time.*?</time>", "", first[2]))
        == "<mark>Number</mark> nine In a <mark>table, number</mark> 21 is missing."
    )


def test_a_phrase_is_in_order_and_in_one_place(owners: Client, talk: Begin) -> None:
    talk("one two").answer("three four").end()
    assert titles(owners, '"one two"') == ["one two"]
    assert titles(owners, '"two one"') == []
    assert titles(owners, '"two three"') == []


def test_a_short_word_is_a_whole_one_where_there_is_one(owners: Client, talk: Begin) -> None:
    talk("go home").end()
    talk("good night").end()
    assert titles(owners, "go") == ["go home"]
    assert titles(owners, "ni") == ["good night"]
    assert titles(owners, '"ni"') == []


def test_a_short_word_of_another_conversation_hides_no_beginning(owners: Client, talk: Begin) -> None:
    """As while one types: "zebra fi" on the way to "zebra file"."""
    talk("the zebra file").end()
    talk("hi fi").end()
    assert titles(owners, "zebra fi") == ["the zebra file"]
    assert titles(owners, "fi") == ["hi fi"]


def test_a_short_beginning_is_found_in_each_conversation(owners: Client, talk: Begin) -> None:
    for text in ("Consider it", "Nothing", "A contract", "Continue, then confirm"):
        talk(text).answer(f"Of {text}.").end()
    assert titles(owners, "con") == ["Continue, then confirm", "A contract", "Consider it"]
    assert [(kind, text) for kind, _where, text in places(owners, "con")] == [
        ("message", "You <mark>Con</mark>tinue, then <mark>con</mark>firm"),
        ("message", "Focused Of <mark>Con</mark>tinue, then <mark>con</mark>firm."),
        ("message", "You A <mark>con</mark>tract"),
        ("message", "Focused Of A <mark>con</mark>tract."),
        ("message", "You <mark>Con</mark>sider it"),
        ("message", "Focused Of <mark>Con</mark>sider it."),
    ]


def test_what_is_not_indexed_yet_is_told_to_its_owner(
    owners: Client, strangers: Client, owner: User, talk: Begin
) -> None:
    talk("Look around")
    Conversation.objects.create(owner=owner, title="From before")
    told = "1 older conversation is still being indexed."
    assert told in page(owners, "look")
    assert "still being indexed" not in page(strangers, "look")
    assert not catch_up(10)
    assert "still being indexed" not in page(owners, "look")


def test_more_places_are_a_click_away(owners: Client, talk: Begin) -> None:
    one = talk("needle")
    for number in range(8):
        one.answer(f"needle {number}")
    one.end()
    html = page(owners, "needle")
    assert len(PLACE.findall(html)) == 3
    more = re.search(r'href="(\?[^"]*in=[^"]+)">\s*6 more matches', html)
    assert more
    assert len(PLACE.findall(owners.get(f"/conversations/{unescape(more[1])}").content.decode())) == 9


def test_a_stranger_finds_nothing(strangers: Client, owners: Client, talk: Begin) -> None:
    one = talk("secret plan").plan("secret item").end()
    assert titles(owners, "secret") == ["secret plan"]
    for more in ({}, {"in": str(one.conversation.pk)}, {"page": "2"}):
        html = page(strangers, "secret", **more)
        assert "secret plan" not in html
        assert "secret item" not in html
        assert str(one.conversation.pk) not in html.replace(f"in={one.conversation.pk}", "")


def test_what_is_deleted_is_gone(owners: Client, talk: Begin) -> None:
    one, other = talk("needle").plan("needle").end(), talk("needle too").end()
    one.conversation.delete()
    assert titles(owners, "needle") == ["needle too"]
    assert set(SearchEntry.objects.values_list("index_state__conversation", flat=True)) == {
        other.conversation.pk
    }


def test_every_conversation_found_is_reached(owners: Client, talk: Begin) -> None:
    for number in range(45):
        talk(f"needle {number}")
    seen: list[str] = []
    for number in ("1", "2", "3"):
        seen += titles(owners, "needle", page=number)
    assert seen == [f"needle {number}" for number in reversed(range(45))]
    assert "45 conversations" in page(owners, "needle")
    assert re.search(r'rel="next" href="\?q=needle&amp;page=2"', page(owners, "needle"))


@pytest.mark.parametrize(
    "typed",
    [
        '"', '""', "*", "NEAR(a b)", "a AND b", "words:x", "^a", "a*b", "-a", "(", ")", "a'b", "\\", "%", "_",
        "' OR 1=1 --", "a & b | !c", "a <-> b:*", "\x00", "\ud800", "a\x00b", "字" * 10_000, "a " * 300,
        "x" * 10_000, "؀", "\u202e", "🚀", "ﷺ" * 60, "İ", "ß",
    ],
)  # fmt: skip
def test_hostile_input_is_answered(owners: Client, talk: Begin, typed: str) -> None:
    talk("a quiet conversation").end()
    answer = owners.get(f"/conversations/?q={quote(typed, errors='surrogatepass')}")
    assert answer.status_code == 200
    html = answer.content.decode()
    assert 'class="search"' in html


def test_what_cannot_be_searched_for_says_why(owners: Client) -> None:
    assert "at most 200 characters" in page(owners, "字" * 10_000)
    assert "at most 12 words" in page(owners, " ".join("abcdefghijklmnop"))
    assert "There is nothing here to search for" in page(owners, "。。 *")
    assert "No results." in page(owners, "needle")


def named(browser: Client, q: str, **more: Any) -> set[str]:
    """The last words of the titles in the list."""
    html = page(browser, q, **more)
    return set(re.findall(r"(done|failed|queued)\s*</(?:a|span)>", html[html.index("<main") :]))


def test_filters(owners: Client, owner: User, talk: Begin) -> None:
    done = talk("needle done").plan("x").end()
    talk("needle failed").end(Turn.Status.FAILED)
    talk("needle queued")
    profile = Profile.objects.order_by("pk").first()
    assert profile
    done.conversation.choose(profile)
    Conversation.objects.filter(title="needle failed").update(updated_at=timezone.now() - timedelta(days=40))
    today, then = timezone.localdate(), timezone.localdate() - timedelta(days=40)
    for q in ("needle", ""):
        found = partial(named, owners, q)
        assert found() == {"done", "failed", "queued"}
        assert found(status="completed") == {"done"}
        assert found(status="failed") == {"failed"}
        assert found(status="running") == {"queued"}
        assert found(todos="some") == {"done"} == found(todos="unfinished")
        assert found(profile=profile.pk) == {"done"}
        assert found(**{"from": today}) == {"done", "queued"}
        assert found(to=then) == {"failed"} == found(**{"from": then, "to": then})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "x"),
        ("todos", "\x00"),
        ("profile", "9" * 40),
        ("profile", "x"),
        ("from", "0001-01-01"),
        ("to", "9999-12-31"),
        ("from", "32"),
        ("in", "x"),
        ("page", "x"),
    ],
)
def test_a_wrong_filter_narrows_nothing(owners: Client, talk: Begin, name: str, value: str) -> None:
    talk("needle").end()
    assert titles(owners, "needle", **{name: value}) == ["needle"]


def test_what_is_archived_is_found_and_says_so(owners: Client, talk: Begin) -> None:
    talk("needle here")
    archived = talk("needle there").conversation
    assert "search-result__archived" not in page(owners, "needle")
    owners.post(f"/conversations/{archived.pk}/organise/", {"kind": "archive"})
    assert page(owners, "needle").count('class="search-result__archived">Archived</span>') == 1
