"""Does one item of the user's list with the offered tools, by guessing what it means."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat.demo.demo_request import (
    DemoRequest,
    Item,
    Result,
    Script,
    files_listed,
    folders_listed,
    free_name,
)
from chat.demo.summary import Summary
from chat.demo.words import files_in, one_line
from chat.demo.work import ItemOutcome, quoted
from chat.demo.workspace import SHOP_FIX, SHOP_FLAW

_COMMAND = re.compile(r"`([^`\n]+)`")
_LOOK = re.compile(
    r"\b(look|list|explore|scan|workspace|folder|directory)\b|看看|浏览|列出|目录|工作区|文件夹", re.I
)
_RUN = re.compile(r"\b(run|execute|test|tests)\b|运行|执行|测试", re.I)
_FIX = re.compile(r"\b(fix|repair|bug|correct)\b|修复|修正|错误", re.I)
_RUN_FILE = re.compile(r"\W*(?:run|execute|运行|执行)", re.I)
_SHOP = re.compile(r"\bshop\b|商店", re.I)
_READ = re.compile(
    r"\b(read|open|check|review|inspect|study|examine)\b|读|查看(?!工作区|目录|文件夹)|检查|打开", re.I
)
_ATTACHED = re.compile(r"\b(attached|attachments?|uploaded|uploads|these)\b|附件|上传|附上|这些", re.I)
_SUMMARISE = re.compile(r"\b(sum up|summar\w+|report|explain|describe|conclude)\b|总结|汇总|报告|说明", re.I)
_WRITE = re.compile(
    r"\b(write|create|draft|save|add|make|generate|note|notes)\b|写|创建|新建|生成|保存|笔记", re.I
)

_MAX_FILES = 10  # read at once if the user names none


class Heuristics:
    """Files that came with the message, `uploads`, are read where a step names no others."""

    def __init__(self, request: DemoRequest, uploads: Sequence[str] | None = None) -> None:
        self.request = request
        self.uploads = list(request.history.uploads if uploads is None else uploads)
        self.seen = Summary(request)
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
        if names and names[0].endswith(".py") and _RUN_FILE.match(text) and self.request.has("bash"):
            return (yield from self.run(f"python3 {names[0]}"))
        if names and (_READ.search(text) or not _WRITE.search(text)):
            return (yield from self.read(names))
        if _SUMMARISE.search(text) and not names:
            return (yield from self.sum_up())
        if _RUN.search(text) and self.request.has("bash"):
            return (
                yield from self.run("python3 shop.py" if _SHOP.search(text) else "python3 -B -m unittest")
            )
        asks_for_uploads = self.uploads and _LOOK.search(text) and _ATTACHED.search(text)
        if (_READ.search(text) or asks_for_uploads) and not _WRITE.search(text):
            return (yield from self.read([]))
        if _LOOK.search(text) and not _WRITE.search(text):
            return (yield from self.look())
        return (yield from self.write(text, names))

    def look(self) -> Script[ItemOutcome]:
        self.listing = yield from self.request.look()
        names, folders = files_listed(self.listing), folders_listed(self.listing)
        examples = self.request.say(", ", "、").join(f"`{name}`" for name in names[:6])
        none = self.request.say("no files yet", "还没有文件")
        files = "1 file" if len(names) == 1 else f"{len(names)} files"
        summary = (
            self.request.say(f"{files}: {examples}", f"{len(names)} 个文件：{examples}") if names else none
        )
        if folders:
            listed = self.request.say(", ", "、").join(f"`{name}/`" for name in folders[:6])
            summary += self.request.say(f"; folders: {listed}", f"；文件夹：{listed}")
        self._find(summary)
        return ItemOutcome(summary)

    def read(self, names: list[str]) -> Script[ItemOutcome]:
        names = names or self.uploads
        if not names and not self.listing:
            self.listing = yield from self.request.look()
        listed = files_listed(self.listing)
        paths = names or listed[:_MAX_FILES]
        results = (yield from self.request.read_files(*paths)) if paths else []
        if not results:
            return ItemOutcome(self.request.say("there was nothing to read", "没有可读的内容"), ok=not names)
        summaries = [self._file_summary(path, result) for path, result in zip(paths, results, strict=False)]
        for path, result in zip(paths, results, strict=False):
            self.seen.add_file(path, result)
        self._find(*summaries)
        if not names and len(listed) > _MAX_FILES:
            rest = len(listed) - _MAX_FILES
            summaries.append(self.request.say(f"{rest} more were not read", f"另有 {rest} 个文件没有读"))
        return ItemOutcome(
            self.request.say("; ", "；").join(summaries), ok=not any(result.failed for result in results)
        )

    def sum_up(self) -> Script[ItemOutcome]:
        """Describe what was read, run and changed; read the files if nothing was."""
        if not self.seen:
            outcome = yield from self.read([])
            if not self.seen:
                return outcome
        heading = self.request.say("Summary", "总结")
        remark = self.request.say(
            "The demo counts lines and picks out names; a model would tell you what the files say.",
            "演示只统计行数、摘出名称；真实的模型会告诉你文件的内容。",
        )
        text = f"{self.seen.head}{self.request.say('; see below', '，见下文')}"
        return ItemOutcome(text, quote=f"### {heading}\n\n{self.seen.text}\n\n{remark}")

    def _find(self, *summaries: str) -> None:
        """Keep what is new: a line that is in the note twice could not be found when it is continued."""
        self.findings += [each for each in summaries if each not in self.findings]

    def run(self, command: str) -> Script[ItemOutcome]:
        result = yield from self.request.run(command)
        self.seen.add_run(command, result)
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
        if not edited.failed:
            self.seen.add_change(path)
        explanation = self.request.say(
            "a percentage was subtracted as if it were money", "把百分比当成金额减掉了"
        )
        quote = quoted(f"- {SHOP_FLAW.strip()}\n+ {SHOP_FIX.strip()}", "diff")
        return ItemOutcome(f"`{path}`{self.request.colon}{explanation}", ok=not edited.failed, quote=quote)

    def write(self, text: str, names: list[str]) -> Script[ItemOutcome]:
        if not self.request.has("write_file"):
            return ItemOutcome(self.request.say("no available tool can do this", "没有可用的工具"), ok=False)
        if names and _SUMMARISE.search(text):
            return (yield from self._write_summary(names[0]))
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

    def _write_summary(self, wanted: str) -> Script[ItemOutcome]:
        if not self.seen:
            yield from self.read([])
        path, is_wanted = yield from self._free_path(wanted)
        nothing = self.request.say("There were no files to read.", "没有可读的文件。")
        heading = self.request.say("Summary", "总结")
        result = yield from self.request.write_file(path, f"# {heading}\n\n{self.seen.text or nothing}\n")
        return self._written(path, result, renamed=not is_wanted)

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
        self.seen.add_change(path)
        text = self.request.say(f"written to [{path}](<{path}>)", f"写入 [{path}](<{path}>)")
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
        count = result.lines
        lines_of = "1 line" if count == 1 else f"{count} lines"
        return self.request.say(f"`{path}` ({lines_of}: “{first}”)", f"`{path}`（{count} 行：“{first}”）")
