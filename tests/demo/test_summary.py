"""Summaries deliver what they promise, with and without attached files."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.utils.translation import override

from chat.files.uploads import with_file_names
from chat.pages.new_conversation import demo_prompts
from tests.demo.conftest import Talk

ATTACHED = [
    *(f"uploads/{name}" for name in ("data.csv", "one.txt", "two.py", "three.md", "my notes.txt")),
    *(f"uploads/{name}" for name in ("four.json", "five.html", "six.log", "report.md")),
]


@pytest.fixture
def attached(workspace: Path) -> list[str]:
    """Nine files that came with a message, one with a blank in its name."""
    (workspace / "uploads").mkdir()
    for path in ATTACHED:
        (workspace / path).write_text(f"# About {path}\n\nMore.\n")
    return ATTACHED


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("number", range(3))
async def test_no_suggestion_refers_to_what_is_not_there(talk: Talk, language: str, number: int) -> None:
    with override(language):
        asked = demo_prompts()[number]
    closing = await talk().say(asked)
    assert "see above" not in closing
    assert "见上文" not in closing
    assert "✗" not in closing


@pytest.mark.parametrize(
    ("language", "items", "summary"),
    [
        (
            "en",
            ["Look around", "Read the files", "Write a summary"],
            "### Summary\n\n- `README.md`: 9 lines, heading: Corner shop\n"
            "- `data.csv`: 18 lines, columns day, item, count, price\n"
            "- `shop.py`: 31 lines, defines `discounted`, `total`, `sales`\n",
        ),
        (
            "zh-hans",
            ["查看工作区", "阅读文件", "写一份总结"],
            "### 总结\n\n- `README.md`：9 行，标题：Corner shop\n"
            "- `data.csv`：18 行，列：day、item、count、price\n"
            "- `shop.py`：31 行，定义了 `discounted`、`total`、`sales`\n",
        ),
    ],
)
async def test_the_suggested_summary_is_written(
    talk: Talk, language: str, items: list[str], summary: str
) -> None:
    with override(language):
        asked = demo_prompts()[1]
    conversation = talk()
    closing = await conversation.say(asked)
    assert [item.content for item in conversation.todos.items] == items
    assert conversation.todos.complete
    assert summary in closing


async def test_a_summary_without_earlier_steps_reads_the_files(talk: Talk) -> None:
    conversation = talk()
    closing = await conversation.say("1. Sum up\n2. Run shop.py\n3. Summarize")
    assert conversation.names[1:5] == ["read_file"] * 4
    assert "heading: Corner shop" in closing
    assert "ran `python3 shop.py`, output ends with: `Total: 456.05`" in closing


async def test_a_summary_can_be_written_to_a_file(talk: Talk, workspace: Path) -> None:
    await talk().say("1. Read README.md\n2. Write a summary to summary.md")
    assert (workspace / "summary.md").read_text() == (
        "# Summary\n\n- `README.md`: 9 lines, heading: Corner shop\n"
    )


async def test_lines_of_a_long_file_are_counted(talk: Talk, workspace: Path) -> None:
    (workspace / "long.txt").write_text("".join(f"line {number}\n" for number in range(2500)))
    closing = await talk().say("1. Read long.txt\n2. Sum up")
    assert "`long.txt`: 2500 lines, begins with “line 0”" in closing


async def test_files_beyond_the_first_ten_are_not_passed_over_in_silence(talk: Talk, workspace: Path) -> None:
    for number in range(9):
        (workspace / f"more-{number}.txt").write_text("here\n")
    assert "2 more were not read" in await talk().say("1. Read the files\n2. Sum up")


@pytest.mark.parametrize(
    ("asked", "items"),
    [
        ("Look at the attached files and summarize them", ["Look at the attached files", "Summarize them"]),
        ("看看附件并总结", ["看看附件", "总结"]),
        ("Read these files, then write a summary", ["Read these files", "Write a summary"]),
        ("Write a report about them", ["Read the attached files", "Write a report about them"]),
        ("Summarise them", []),
        ("", []),
    ],
)
async def test_nine_attached_files_are_all_summed_up(
    talk: Talk, attached: list[str], asked: str, items: list[str]
) -> None:
    conversation = talk()
    closing = await conversation.say(with_file_names(asked, attached))
    assert [item.content for item in conversation.todos.items] == items
    assert conversation.todos.complete or not items
    read = [call.arguments["path"] for call in conversation.calls if call.name == "read_file"]
    assert read == attached
    assert all(f"- `{path}`" in closing for path in attached)


async def test_attached_files_are_known_when_the_work_continues(talk: Talk, attached: list[str]) -> None:
    conversation = talk()
    conversation.stop_at = 1
    await conversation.say(with_file_names("1. Read the attached files\n2. Sum up", attached))
    closing = await conversation.say("continue")
    assert conversation.todos.complete
    assert all(f"- `{path}`" in closing for path in attached)


async def test_the_shop_is_run_where_a_step_says_so(talk: Talk) -> None:
    closing = await talk().say("first make a plan, then read the files, run the shop and write a note")
    assert "Total: 456.05" in closing
