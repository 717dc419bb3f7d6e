"""Writes a small Python module and its tests, runs them, and reports the result."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat.demo.demo_request import DemoRequest, Item, Script, free_name
from chat.demo.heuristics import Heuristics
from chat.demo.words import files_in
from chat.demo.work import ItemOutcome, Work, quoted

_MAKE = r"\b(?:write|make|create|build|develop)\b"
_ASKED = re.compile(
    rf"{_MAKE}.*\b(?:program|script|module|package)\b.*\btests?\b"
    rf"|{_MAKE}(?: me)?(?: an?| the| some)?(?: \w+){{0,2}} (?:program|script)\b"
    r"|测试.*(?:程序|脚本)|(?:程序|脚本).*测试|(?:写|做|创建|编写).{0,8}(?:程序|脚本)",
    re.IGNORECASE | re.DOTALL,
)

_MODULE_NAME, _TESTS_NAME = "wordcount.py", "test_wordcount.py"
_RUN_TESTS = ("Run the tests", "运行测试")
_MODULE = '''"""Counts the words of a text."""

import re


def words(text):
    """The words of the text in lower case, in order."""
    return re.findall(r"[a-z0-9']+", text.lower())


def most_common(text, count=3):
    """The words that occur most often with how often they do; of equals the first in the alphabet."""
    counted = {word: words(text).count(word) for word in words(text)}
    return sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:count]
'''
_TESTS = """import unittest

from wordcount import most_common, words


class WordCountTest(unittest.TestCase):
    def test_words_are_lower_case(self):
        self.assertEqual(words("To be, or NOT to be"), ["to", "be", "or", "not", "to", "be"])

    def test_no_words_in_nothing(self):
        self.assertEqual(words(" ... "), [])

    def test_most_common_first_then_the_alphabet(self):
        self.assertEqual(most_common("to be or not to be", 3), [("be", 2), ("to", 2), ("not", 1)])


if __name__ == "__main__":
    unittest.main()
"""


def fits(request: DemoRequest) -> bool:
    return bool(_ASKED.search(request.text)) and request.has("write_file")


def script(request: DemoRequest) -> Script[str]:
    say = request.say
    listing = yield from request.look(
        say("First I'll look for a free folder name.", "我先找一个未占用的文件夹名。")
    )
    folder = free_name("wordcount", listing)
    texts = [
        say(f"Write {folder}/{_MODULE_NAME}", f"编写 {folder}/{_MODULE_NAME}"),
        say(f"Write the tests in {folder}/{_TESTS_NAME}", f"编写测试 {folder}/{_TESTS_NAME}"),
        *[say(*_RUN_TESTS)] * request.has("bash"),
    ]
    work = Work.planned(request, texts)
    yield from work.start(say("I'll write a small word counter.", "我来写一个统计单词的小程序。"))
    return (yield from _rest(request, work, folder))


def is_ours(items: Sequence[Item]) -> bool:
    return {_MODULE_NAME, _TESTS_NAME} <= {path.rpartition("/")[2] for path in _paths(items)}


def resumed(request: DemoRequest, work: Work, opening: str) -> Script[str]:
    yield from work.restart(opening)
    path = next(path for path in _paths(work.items) if path.endswith(_MODULE_NAME))
    return (yield from _rest(request, work, path.rpartition("/")[0]))


def _paths(items: Sequence[Item]) -> list[str]:
    return [path for item in items for path in files_in(item.text)]


def _rest(request: DemoRequest, work: Work, folder: str) -> Script[str]:
    command = f"cd {folder or '.'} && python3 -B -m unittest -v"

    def do(item: Item) -> Script[ItemOutcome]:
        if item.text in _RUN_TESTS and request.has("bash"):
            return (yield from _run(request, command))
        path = (files_in(item.text) or [""])[0]
        content = {_MODULE_NAME: _MODULE, _TESTS_NAME: _TESTS}.get(path.rpartition("/")[2])
        if content is None:
            return (yield from Heuristics(request).do(item))
        return (yield from _written(request, path, content))

    closing = yield from work.run(do)
    hint = request.say(
        f"There is no shell here. To run the tests: `{command}`", f"这里没有命令行。运行测试：`{command}`"
    )
    return closing if request.has("bash") else f"{hint}\n\n{closing}"


def _written(request: DemoRequest, path: str, content: str) -> Script[ItemOutcome]:
    result = yield from request.write_file(path, content)
    lines = len(content.splitlines())
    summary = request.say(f"{lines} lines", f"{lines} 行")
    return ItemOutcome(result.text if result.failed else summary, ok=not result.failed)


def _run(request: DemoRequest, command: str) -> Script[ItemOutcome]:
    result = yield from request.run(command)
    passed = not result.failed and bool(re.search(r"^OK\b", result.text, re.MULTILINE))
    summary = (
        request.say("all tests passed", "测试全部通过")
        if passed
        else request.say("the run failed", "运行失败")
    )
    return ItemOutcome(summary, ok=passed, quote=quoted(result.text))
