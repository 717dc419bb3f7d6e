"""Syntax highlighting, and that no text can make it slow."""

from __future__ import annotations

import itertools
import re
import time
from html import unescape

import pytest

from chat.files.colour import MAX_LENGTH, coloured_fence, coloured_file
from chat.files.languages import LANGUAGES

SPAN = re.compile(r'<span class="hl-(\w+)">(.*?)</span>', re.DOTALL)
MOST_SECONDS = 0.1  # of the processor's time, for the longest text that is coloured

OPENERS = ("", '"', "'", "`", '"""', "/*", "<script>", "#", "<", "a:")
PIECES = """\\" \\' "' "a" 'a' /* // */ <!-- --> <a <a= </ <? <% ${ #{ {{ {% (( ([{ (a, a( a. a:: a< a= --
--[[ ]] {- (* =begin __ ** [a]( ![ << <<A r" f" f"{ b' ''' %{ %q( => -> @a #a( #! 0x 1e 1. a-
.a : $ $a $( `a` | ~ @ % é 中 ² \u00a0 <script> <style> </script import function""".split()  # noqa: SIM905
PIECES += [
    "\t",
    " ",
    "\n",
    "\r\n",
    "\n ",
    " \n",
    "\n\t",
    "\n#",
    "\n-",
    "\n+",
    "\n@@",
    "a ",
    "a\n",
    "a b ",
    "a =",
    "=a\n",
]
PIECES += [
    "\na:",
    "\n=begin\n",
    "\\\n",
    "a" * 100 + " ",
    "class ",
    "if ",
    "- - ",
    "key: |\n  ",
    "<a b='",
    '<a b="',
    "SELECT ",
]


def seconds(text: str, language: str) -> float:
    """The processor's time for colouring the text."""
    began = time.thread_time()
    coloured_fence(text, language)
    return time.thread_time() - began


# Languages with the same rules differ in their keywords only, which take no time to look up.
DIFFERENT = {each.rules: each.names.split()[0] for each in LANGUAGES}.values()


@pytest.mark.parametrize("language", DIFFERENT)
def test_no_text_makes_it_slow(language: str) -> None:
    texts = [OPENERS[place % len(OPENERS)] + piece * MAX_LENGTH for place, piece in enumerate(PIECES)]
    eighth = {text[:MAX_LENGTH]: seconds(text[: 8 * 1024], language) for text in texts}
    growth = {text: taken / seconds(text[:1024], language) for text, taken in eighth.items()}
    worst = sorted(growth, key=growth.__getitem__)[-2:] + sorted(eighth, key=eighth.__getitem__)[-1:]
    for text in worst:
        assert any(is_fast(text, language) for _again in range(5)), (language, text[:20])


def is_fast(text: str, language: str) -> bool:
    """On a busy machine all takes longer: then it may take one and a half times its eight eighths."""
    eighth = seconds(text[: 8 * 1024], language)
    return seconds(text, language) < max(MOST_SECONDS, 12 * eighth)


def test_every_character_stays() -> None:
    texts = ("".join(PIECES), "".join(OPENERS), "a < b && c > d", 'é"\\', "<a href='x' b=\"y\">z</a>")
    for language, text in itertools.product([each.names.split()[0] for each in LANGUAGES], texts):
        html = str(coloured_fence(text, language))
        assert unescape(re.sub(r"</?span[^>]*>", "", html)) == text, language
        assert not re.search(r"<(?!span class=\"hl-\w+\">|/span>)", html), language


@pytest.mark.parametrize(
    ("language", "code", "spans"),
    [
        (
            "python",
            'import os  # why\nx = f("a\\"b", 1.5)',
            ["kn import", "c # why", "nf f", 's "a\\"b"', "m 1.5"],
        ),
        (
            "py",
            "def f():\n    '''a\n    b'''\n    return None",
            ["k def", "nf f", "s '''a", "s     b'''", "k return", "k None"],
        ),
        ("javascript", "const a = `x\n${y}` // z", ["k const", "s `x", "s ${y}`", "c // z"]),
        ("tsx", "interface A { b: string }", ["k interface", "k string"]),
        ("json", '{"a": ["b", 1, true]}', ['nf "a"', 's "b"', "m 1", "k true"]),
        ("yaml", "# c\nname: 'x'\non: push", ["c # c", "nf name", "s 'x'", "nf on"]),
        ("toml", '[tool]\nname = "x"', ["k [tool]", "nf name", 's "x"']),
        (
            "bash",
            "# c\nif [ \"$A\" ]; then echo 'b'; fi",
            ["c # c", "k if", 's "$A"', "k then", "k echo", "s 'b'", "k fi"],
        ),
        (
            "sql",
            "SELECT a FROM b WHERE c = 'it''s' -- d",
            ["k SELECT", "k FROM", "k WHERE", "s 'it''s'", "c -- d"],
        ),
        ("html", '<!-- c --><p class="a">b</p>', ["c <!-- c -->", "k <p", "nf class", 's "a"', "k </p"]),
        ("html", "<script>let a</script>", ["k <script", "k let", "k </script"]),
        ("css", "/* c */ .a { color: #fff }", ["c /* c */", "nf .a", "nf color", "m #fff"]),
        (
            "c",
            "#include <a.h>\nint main(void) { return 0; }",
            ["k #include", "k int", "nf main", "k void", "k return", "m 0"],
        ),
        ("rust", "fn f<'a>(x: &'a str) { println!(\"b\") }", ["k fn", "k str", "nf println!", 's "b"']),
        (
            "diff",
            "--- a\n+++ b\n@@ -1 +1 @@\n-c\n+d\n e",
            ["gh --- a", "gh +++ b", "gh @@ -1 +1 @@", "gd -c", "gi +d"],
        ),
        ("markdown", "# A\n- `b`", ["gh # A", "k -", "s `b`"]),
        ("console", "$ ls -l\na.py", ["gh $ ls -l"]),
        ("go", "func f() error { return nil }", ["k func", "nf f", "k error", "k return", "k nil"]),
        ("easytrieve", "\t\t", []),
        ("", "import os", []),
    ],
)
def test_what_is_coloured(language: str, code: str, spans: list[str]) -> None:
    found = [f"{kind} {unescape(text)}" for kind, text in SPAN.findall(coloured_fence(code, language))]
    assert found == spans


def test_a_file_is_coloured_by_its_name() -> None:
    for name in ("a.py", "A.PY", "b.test.js", "Dockerfile", "Makefile", "x.yml", "main.rs", ".bashrc"):
        assert "hl-" in coloured_file("# a\nfn let if FROM a: 'b'\nall: b\n", name), name
    for name in ("a.txt", "README", "x.ezt", "a.ahk", "py", "a.", ""):
        assert "hl-" not in coloured_file("# a\nif 'b'", name), name


def test_a_text_that_is_too_long_stays_without_colours() -> None:
    assert "<span" in coloured_fence("1 " * (MAX_LENGTH // 2), "python")
    assert "<span" not in coloured_fence("1 " * (MAX_LENGTH // 2) + "1", "python")


def test_what_turns_the_text_of_a_file_around_is_shown() -> None:
    assert "&lt;U+202E&gt;" in coloured_file("\u202e", "a.py")
