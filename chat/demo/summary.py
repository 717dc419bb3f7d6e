"""What a turn read, ran and changed, taken from the results by counting lines and picking out names."""

from __future__ import annotations

import re

from chat.demo.demo_request import DemoRequest, Result
from chat.demo.words import one_line

_HEADING = re.compile(r"^#{1,6} +(\S.*)$", re.MULTILINE)
_DEFINITION = re.compile(r"^(?:async )?(?:def|class) (\w+)", re.MULTILINE)
_PICTURE = re.compile(r"is a picture \((.+?)\)\.")

_MARKS = "# \"'"  # around a first line: of headings, comments and strings
_MAX_NAMES = 4  # headings, columns or definitions of a file


class Summary:
    def __init__(self, request: DemoRequest) -> None:
        self.request = request
        self.files: dict[str, str] = {}
        self.lines = 0
        self.deeds: list[str] = []

    def __bool__(self) -> bool:
        return bool(self.files or self.deeds)

    @property
    def head(self) -> str:
        say, files = self.request.say, len(self.files)
        if not files:
            return say("what was done", "完成的工作")
        counted = f"{_counted(files, 'file')}, {_counted(self.lines, 'line')}"
        return say(counted, f"{files} 个文件，共 {self.lines} 行")

    @property
    def text(self) -> str:
        files = [f"- `{path}`{self.request.colon}{about}" for path, about in self.files.items()]
        return "\n".join([*files, *(f"- {deed}" for deed in self.deeds)])

    def add_file(self, path: str, result: Result) -> None:
        """Describe the file in its latest version, at its first place."""
        if path not in self.files and not _PICTURE.search(result.text) and not result.failed:
            self.lines += result.lines
        self.files[path] = self._described(path, result)

    def add_run(self, command: str, result: Result) -> None:
        output = [line for line in result.text.splitlines() if line.strip()]
        told = one_line(output[-1].replace("`", "'"), 80) if output else ""
        self.deeds.append(
            self.request.say(f"ran `{command}`, output ends with", f"运行 `{command}`，输出的最后一行是")
            + f"{self.request.colon}`{told}`"
            if told
            else self.request.say(f"ran `{command}`", f"运行 `{command}`")
        )

    def add_change(self, path: str) -> None:
        deed = self.request.say(f"changed `{path}`", f"修改了 `{path}`")
        self.deeds += [deed] if deed not in self.deeds else []

    def _described(self, path: str, result: Result) -> str:
        say = self.request.say
        if result.failed:
            error = one_line(result.text, 90)
            return say(f"not read ({error})", f"未能读取（{error}）")
        if picture := _PICTURE.search(result.text):
            return say(f"picture, {picture[1]}", f"图片，{picture[1]}")
        count = say(_counted(result.lines, "line"), f"{result.lines} 行")
        return say(", ", "，").join(part for part in (count, self._contents(path, result.text)) if part)

    def _contents(self, path: str, text: str) -> str:
        say, extension = self.request.say, path.rpartition(".")[2].lower()
        first = next((line for line in text.splitlines() if line.strip()), "")
        if extension == "py" and (names := _DEFINITION.findall(text)):
            return say("defines ", "定义了 ") + self._some([f"`{name}`" for name in names])
        if extension == "csv" and "," in first:
            return say("columns ", "列：") + self._some(first.split(","))
        if extension in ("md", "markdown") and (names := _HEADING.findall(text)):
            return say("headings: " if len(names) > 1 else "heading: ", "标题：") + self._some(names)
        return (
            say("begins with ", "开头是") + f"“{one_line(first.strip(_MARKS), 60)}”"
            if first
            else say("empty", "空文件")
        )

    def _some(self, names: list[str]) -> str:
        shown = self.request.say(", ", "、").join(one_line(name, 50) for name in names[:_MAX_NAMES])
        more = len(names) - _MAX_NAMES
        return shown + self.request.say(f" and {more} more", f"等 {len(names)} 个") if more > 0 else shown


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
