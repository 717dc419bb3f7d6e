"""Steps parsed from a user's sentence."""

from __future__ import annotations

import pytest

from chat.demo.steps import listed, numbered
from chat.demo.words import doing, files_in, is_question

NUMBERED = {
    "1. Look around\n2. Read README.md\n3. Write a note": ["Look around", "Read README.md", "Write a note"],
    "Do this:\n- look around\n* read data.csv": ["Look around", "Read data.csv"],
    "1) look 2) read 3) write": ["Look", "Read", "Write"],
    "Step 1: look around\nStep 2: write notes": ["Look around", "Write notes"],
    "1、看看工作区；2、写笔记；3、总结": ["看看工作区", "写笔记", "总结"],
    "第一步看看，第二步读 README.md，第三步总结": ["看看", "读 README.md", "总结"],
    "一、看看\n二、写笔记\n三、总结": ["看看", "写笔记", "总结"],
    "①看看 ②总结": ["看看", "总结"],
    "1. only one thing": [],
    "It rose from 1.5 to 2.5 in a day": [],
}

LISTED = {
    "first make a plan, then do A, B and C": ["A", "B", "C"],
    "First make a plan, then fix the bug, write tests and run them": [
        "Fix the bug",
        "Write tests",
        "Run them",
    ],
    "Please look around, read README.md and shop.py, then sum up.": [
        "Look around",
        "Read README.md and shop.py",
        "Sum up",
    ],
    "Run `for n in 1 2; do echo $n; done`, then run `ls && pwd` and sum up": [
        "Run `for n in 1 2; do echo $n; done`",
        "Run `ls && pwd`",
        "Sum up",
    ],
    "look around and write a note": ["Look around", "Write a note"],
    "Look around the workspace. Then write a note. Finally sum up.": [
        "Look around the workspace",
        "Write a note",
        "Sum up",
    ],
    "Read README.md, shop.py and data.csv": ["Read README.md", "shop.py", "data.csv"],
    "Can you read README.md, run shop.py and fix the bug?": ["Read README.md", "Run shop.py", "Fix the bug"],
    "先做计划，然后做A、B和C": ["A", "B", "C"],
    "请先看看工作区，然后阅读文件，最后写一份总结": ["看看工作区", "阅读文件", "写一份总结"],
    "帮我：读取数据、统计、写报告": ["读取数据", "统计", "写报告"],
    "首先阅读 shop.py，接着修复错误，再运行一次，最后总结": ["阅读 shop.py", "修复错误", "运行一次", "总结"],
    "请先创建任务计划，然后分析项目": [],
    "First create a task plan, then analyse the project": [],
    "Please write a short to-do list first, then read the files and sum up": ["Read the files", "Sum up"],
    "Plan the work first, then read shop.py and sum up": ["Read shop.py", "Sum up"],
    "Create a detailed plan of the steps, read shop.py, then sum up": ["Read shop.py", "Sum up"],
    "先制定一份详细的工作计划，再分析项目，最后总结": ["分析项目", "总结"],
    "先列出待办清单，然后读文件，最后总结": ["读文件", "总结"],
    "先规划一下任务，然后读文件、总结": ["读文件", "总结"],
    "先制定计划，然后查看工作区、阅读文件并写一份总结": ["查看工作区", "阅读文件", "写一份总结"],
    "先看看，然后合并文件": ["看看", "合并文件"],
    "Write a plan for the move, then sum up": ["Write a plan for the move", "Sum up"],
    "写一份旅行计划，然后总结": ["写一份旅行计划", "总结"],
    "read the README and shop files": [],
    "hello, how are you?": [],
    "I like apples, pears and bananas": [],
    "What does shop.py do, and why?": [],
    "你好，你是谁？": [],
}


@pytest.mark.parametrize("text", NUMBERED)
def test_numbered_and_bulleted_steps(text: str) -> None:
    assert numbered(text) == NUMBERED[text]


@pytest.mark.parametrize("text", LISTED)
def test_steps_in_a_sentence(text: str) -> None:
    assert listed(text) == LISTED[text]


def test_an_item_says_what_is_being_done() -> None:
    assert doing("Run the tests") == "Running the tests"
    assert doing("Sum up") == "Summing up"
    assert doing("A") == "Working on A"
    assert doing("写笔记") == "正在写笔记"


def test_file_names_are_found_in_any_language() -> None:
    assert files_in("阅读README.md和src/shop.py，e.g. data.csv, data.csv") == [
        "README.md",
        "src/shop.py",
        "data.csv",
    ]
    assert files_in("Version 3.5 costs 2.80") == []


def test_a_polite_request_is_no_question() -> None:
    assert is_question("How do I write a loop?")
    assert not is_question("Could you write a note?")
    assert not is_question("可以写一份笔记吗？")
