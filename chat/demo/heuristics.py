"""Does one step of a person's list with the tools on offer, as well as rules can guess what is meant."""

from __future__ import annotations

import re

from chat.demo.demo_request import DemoRequest, Item, Result, Script, files_listed, free_name
from chat.demo.words import files_in, one_line
from chat.demo.work import Outcome, quoted
from chat.demo.workspace import SHOP_FIX, SHOP_FLAW

_COMMAND = re.compile(r"`([^`\n]+)`")
_LOOK = re.compile(
    r"\b(look|list|explore|scan|workspace|folder|directory)\b|看看|浏览|列出|目录|工作区|文件夹", re.I
)
_RUN = re.compile(r"\b(run|execute|test|tests)\b|运行|执行|测试", re.I)
_FIX = re.compile(r"\b(fix|repair|bug|correct)\b|修复|修正|错误", re.I)
_READ = re.compile(r"\b(read|open|check|review|inspect|study|examine)\b|读|查看|检查|打开", re.I)
_SUM = re.compile(r"\b(sum up|summar\w+|report|explain|describe|conclude)\b|总结|汇总|报告|说明", re.I)
_WRITE = re.compile(
    r"\b(write|create|draft|save|add|make|generate|note|notes)\b|写|创建|新建|生成|保存|笔记", re.I
)

_MOST_FILES = 3  # read at once where the person names none


class Heuristics:
    """Remembers from step to step what was found, so that a note or a summary has something to say."""

    def __init__(self, desk: DemoRequest) -> None:
        self.desk = desk
        self.listing = ""
        self.found: list[str] = []
        self.note = ""
        self.last_line = ""
        self.noted = 0

    def do(self, item: Item) -> Script[Outcome]:
        """One item, by the first rule that fits."""
        text, names = item.text, files_in(item.text)
        command = _COMMAND.search(text)
        if command and self.desk.has("bash"):
            return (yield from self.run(command[1]))
        if _FIX.search(text) and self.desk.has("edit_file", "read_file"):
            return (yield from self.fix(names[0] if names else "shop.py"))
        if names and (_READ.search(text) or not _WRITE.search(text)):
            return (yield from self.read(names))
        if _SUM.search(text) and not names:
            return Outcome(self.desk.say("see above", "见上文"))
        if _RUN.search(text) and self.desk.has("bash"):
            return (yield from self.run("python3 -B -m unittest"))
        if _READ.search(text) and not _WRITE.search(text):
            return (yield from self.read([]))
        if _LOOK.search(text) and not _WRITE.search(text):
            return (yield from self.look())
        return (yield from self.write(text, names))

    def look(self) -> Script[Outcome]:
        """What is in the workspace."""
        self.listing = yield from self.desk.look()
        names = files_listed(self.listing)
        shown = ", ".join(f"`{name}`" for name in names[:6])
        none = self.desk.say("no files yet", "还没有文件")
        told = (
            self.desk.say(f"{len(names)} files: {shown}", f"{len(names)} 个文件：{shown}") if names else none
        )
        self.found.append(told)
        return Outcome(told)

    def read(self, names: list[str]) -> Script[Outcome]:
        """The named files, or the first few that there are."""
        if not names and not self.listing:
            self.listing = yield from self.desk.look()
        paths = names or files_listed(self.listing)[:_MOST_FILES]
        results = (yield from self.desk.read_files(*paths)) if paths else []
        if not results:
            return Outcome(self.desk.say("there was nothing to read", "没有可读的内容"), ok=not names)
        told = [self._told(path, result) for path, result in zip(paths, results, strict=False)]
        self.found += told
        return Outcome("; ".join(told), ok=not any(result.failed for result in results))

    def run(self, command: str) -> Script[Outcome]:
        """A command, and how it ended."""
        result = yield from self.desk.run(command)
        ended = self.desk.say("failed", "失败") if result.failed else self.desk.say("ran", "已运行")
        return Outcome(f"`{command}`: {ended}", ok=not result.failed, quote=quoted(result.text))

    def fix(self, path: str) -> Script[Outcome]:
        """The flaw that the sample has; in any other file the demo finds none, and says so."""
        (read,) = yield from self.desk.read_files(path)
        if SHOP_FLAW not in read.text:
            why = (
                self._told(path, read)
                if read.failed
                else self.desk.say("no bug the demo knows", "没有演示模型认识的错误")
            )
            return Outcome(f"`{path}`: {why}", ok=False)
        edited = yield from self.desk.edit_file(path, SHOP_FLAW, SHOP_FIX)
        told = self.desk.say("a percentage was subtracted as if it were money", "把百分比当成金额减掉了")
        quote = quoted(f"- {SHOP_FLAW.strip()}\n+ {SHOP_FIX.strip()}", "diff")
        return Outcome(f"`{path}`: {told}", ok=not edited.failed, quote=quote)

    def write(self, text: str, names: list[str]) -> Script[Outcome]:
        """A line in the turn's note, or a new file of that name; nothing that exists is overwritten."""
        if not self.desk.has("write_file"):
            return Outcome(self.desk.say("no available tool can do this", "没有可用的工具"), ok=False)
        lines = self._lines(text)
        if self.note and not names and self.desk.has("edit_file"):
            result = yield from self.desk.edit_file(self.note, self.last_line, f"{self.last_line}\n{lines}")
        else:
            path, missing = yield from self._free(names[0] if names else "NOTES.md")
            result = yield from self.desk.write_file(path, f"# {self.desk.say('Notes', '笔记')}\n\n{lines}\n")
            if names:
                return self._written(path, result, kept=not missing)
            self.note = path
        self.last_line = lines.splitlines()[-1]
        return self._written(self.note, result)

    def _free(self, wanted: str) -> Script[tuple[str, bool]]:
        """A path at which nothing is, and whether it is the one that was wanted."""
        folder, slash, name = wanted.rpartition("/")
        if folder:
            listing = ""
            (there,) = (yield from self.desk.read_files(wanted)) or [Result("")]
            listing = "" if there.failed else name
        else:
            listing = yield from self.desk.look()
        free = free_name(name, listing)
        return f"{folder}{slash}{free}", free == name

    def _written(self, path: str, result: Result, kept: bool = False) -> Outcome:
        if result.failed:
            return Outcome(one_line(result.text), ok=False)
        told = self.desk.say(f"written to `{path}`", f"写入 `{path}`")
        if kept:
            told += self.desk.say(
                " (the name was taken; the existing file is unchanged)", "（已有同名文件，未改动）"
            )
        return Outcome(told)

    def _lines(self, text: str) -> str:
        """What was found since the last note; with nothing found, the step itself."""
        fresh, self.noted = self.found[self.noted :], len(self.found)
        told = self.desk.say(
            "noted by the demo; a real model would do it here.",
            "由演示模型记下；真实的模型会在这里完成这一步。",
        )
        return "\n".join(f"- {line}" for line in fresh) or f"- {text}: {told}"

    def _told(self, path: str, result: Result) -> str:
        if result.failed:
            return f"`{path}`: {one_line(result.text, 90)}"
        lines = [line for line in result.text.splitlines() if line.strip() and not line.startswith("[lines ")]
        first = one_line(lines[0].strip("# \"'"), 50) if lines else ""
        count = len(result.text.splitlines())
        return self.desk.say(f"`{path}` ({count} lines: “{first}”)", f"`{path}`（{count} 行：“{first}”）")
