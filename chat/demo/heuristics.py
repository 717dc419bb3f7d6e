"""Does one item of the user's list with the offered tools, by guessing what it means."""

from __future__ import annotations

import re

from chat.demo.demo_request import DemoRequest, Item, Result, Script, files_listed, free_name
from chat.demo.words import files_in, one_line
from chat.demo.work import ItemOutcome, quoted
from chat.demo.workspace import SHOP_FIX, SHOP_FLAW

_COMMAND = re.compile(r"`([^`\n]+)`")
_LOOK = re.compile(
    r"\b(look|list|explore|scan|workspace|folder|directory)\b|看看|浏览|列出|目录|工作区|文件夹", re.I
)
_RUN = re.compile(r"\b(run|execute|test|tests)\b|运行|执行|测试", re.I)
_FIX = re.compile(r"\b(fix|repair|bug|correct)\b|修复|修正|错误", re.I)
_READ = re.compile(r"\b(read|open|check|review|inspect|study|examine)\b|读|查看|检查|打开", re.I)
_SUMMARISE = re.compile(r"\b(sum up|summar\w+|report|explain|describe|conclude)\b|总结|汇总|报告|说明", re.I)
_WRITE = re.compile(
    r"\b(write|create|draft|save|add|make|generate|note|notes)\b|写|创建|新建|生成|保存|笔记", re.I
)

_MAX_FILES = 3  # read at once if the user names none


class Heuristics:
    def __init__(self, request: DemoRequest) -> None:
        self.request = request
        self.listing = ""
        self.findings: list[str] = []
        self.note = ""
        self.last_line = ""
        self.noted_count = 0

    def do(self, item: Item) -> Script[ItemOutcome]:
        text, names = item.text, files_in(item.text)
        command = _COMMAND.search(text)
        if command and self.request.has("bash"):
            return (yield from self.run(command[1]))
        if _FIX.search(text) and self.request.has("edit_file", "read_file"):
            return (yield from self.fix(names[0] if names else "shop.py"))
        if names and (_READ.search(text) or not _WRITE.search(text)):
            return (yield from self.read(names))
        if _SUMMARISE.search(text) and not names:
            return ItemOutcome(self.request.say("see above", "见上文"))
        if _RUN.search(text) and self.request.has("bash"):
            return (yield from self.run("python3 -B -m unittest"))
        if _READ.search(text) and not _WRITE.search(text):
            return (yield from self.read([]))
        if _LOOK.search(text) and not _WRITE.search(text):
            return (yield from self.look())
        return (yield from self.write(text, names))

    def look(self) -> Script[ItemOutcome]:
        self.listing = yield from self.request.look()
        names = files_listed(self.listing)
        examples = self.request.say(", ", "、").join(f"`{name}`" for name in names[:6])
        none = self.request.say("no files yet", "还没有文件")
        summary = (
            self.request.say(f"{len(names)} files: {examples}", f"{len(names)} 个文件：{examples}")
            if names
            else none
        )
        self._find(summary)
        return ItemOutcome(summary)

    def read(self, names: list[str]) -> Script[ItemOutcome]:
        if not names and not self.listing:
            self.listing = yield from self.request.look()
        paths = names or files_listed(self.listing)[:_MAX_FILES]
        results = (yield from self.request.read_files(*paths)) if paths else []
        if not results:
            return ItemOutcome(self.request.say("there was nothing to read", "没有可读的内容"), ok=not names)
        summaries = [self._file_summary(path, result) for path, result in zip(paths, results, strict=False)]
        self._find(*summaries)
        return ItemOutcome(
            self.request.say("; ", "；").join(summaries), ok=not any(result.failed for result in results)
        )

    def _find(self, *summaries: str) -> None:
        """Keep what is new: a line that is in the note twice could not be found when it is continued."""
        self.findings += [each for each in summaries if each not in self.findings]

    def run(self, command: str) -> Script[ItemOutcome]:
        result = yield from self.request.run(command)
        status = self.request.say("failed", "失败") if result.failed else self.request.say("ran", "已运行")
        return ItemOutcome(
            f"`{command}`{self.request.colon}{status}", ok=not result.failed, quote=quoted(result.text)
        )

    def fix(self, path: str) -> Script[ItemOutcome]:
        (original,) = yield from self.request.read_files(path)
        if SHOP_FLAW not in original.text:
            reason = (
                self._file_summary(path, original)
                if original.failed
                else self.request.say("no bug the demo knows", "没有演示模型认识的错误")
            )
            return ItemOutcome(f"`{path}`{self.request.colon}{reason}", ok=False)
        edited = yield from self.request.edit_file(path, SHOP_FLAW, SHOP_FIX)
        explanation = self.request.say(
            "a percentage was subtracted as if it were money", "把百分比当成金额减掉了"
        )
        quote = quoted(f"- {SHOP_FLAW.strip()}\n+ {SHOP_FIX.strip()}", "diff")
        return ItemOutcome(f"`{path}`{self.request.colon}{explanation}", ok=not edited.failed, quote=quote)

    def write(self, text: str, names: list[str]) -> Script[ItemOutcome]:
        if not self.request.has("write_file"):
            return ItemOutcome(self.request.say("no available tool can do this", "没有可用的工具"), ok=False)
        lines = self._lines(text)
        if self.note and not names and self.request.has("edit_file"):
            result = yield from self.request.edit_file(
                self.note, self.last_line, f"{self.last_line}\n{lines}"
            )
        else:
            path, is_wanted = yield from self._free_path(names[0] if names else "NOTES.md")
            result = yield from self.request.write_file(
                path, f"# {self.request.say('Notes', '笔记')}\n\n{lines}\n"
            )
            if names:
                return self._written(path, result, renamed=not is_wanted)
            self.note = path
        self.last_line = lines.splitlines()[-1]
        return self._written(self.note, result)

    def _free_path(self, wanted: str) -> Script[tuple[str, bool]]:
        folder, slash, name = wanted.rpartition("/")
        if folder:
            listing = ""
            (existing,) = (yield from self.request.read_files(wanted)) or [Result("")]
            listing = "" if existing.failed else name
        else:
            listing = yield from self.request.look()
        free = free_name(name, listing)
        return f"{folder}{slash}{free}", free == name

    def _written(self, path: str, result: Result, renamed: bool = False) -> ItemOutcome:
        if result.failed:
            return ItemOutcome(one_line(result.text), ok=False)
        text = self.request.say(f"written to `{path}`", f"写入 `{path}`")
        if renamed:
            text += self.request.say(
                " (the name was taken; the existing file is unchanged)", "（已有同名文件，未改动）"
            )
        return ItemOutcome(text)

    def _lines(self, text: str) -> str:
        new, self.noted_count = self.findings[self.noted_count :], len(self.findings)
        placeholder = self.request.say(
            "noted by the demo; a real model would do it here.",
            "由演示模型记下；真实的模型会在这里完成这一步。",
        )
        return "\n".join(f"- {line}" for line in new) or f"- {text}{self.request.colon}{placeholder}"

    def _file_summary(self, path: str, result: Result) -> str:
        if result.failed:
            return f"`{path}`{self.request.colon}{one_line(result.text, 90)}"
        lines = [line for line in result.text.splitlines() if line.strip() and not line.startswith("[lines ")]
        first = one_line(lines[0].strip("# \"'"), 50) if lines else ""
        count = len(result.text.splitlines())
        lines_of = "1 line" if count == 1 else f"{count} lines"
        return self.request.say(f"`{path}` ({lines_of}: “{first}”)", f"`{path}`（{count} 行：“{first}”）")
