"""Refactors five practice files: does two, asks a question about the third, and finishes after the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chat.demo.demo_request import DemoRequest, Item, Script, ask, free_name
from chat.demo.heuristics import Heuristics
from chat.demo.reply import Call
from chat.demo.words import files_in
from chat.demo.work import ItemOutcome, Work, quoted

_ASKED = re.compile(
    r"refactor\w*\b.*\b(?:files|modules|five|5)\b|重构.*(?:文件|模块|五|5)|(?:文件|模块).*重构", re.I | re.S
)
_OLD = re.compile(r"\bold\b|\bfirst\b|旧|第一", re.IGNORECASE)
_NEW = re.compile(r"\bnew\b|\bsecond\b|新|第二", re.IGNORECASE)


def fits(request: DemoRequest) -> bool:
    return bool(_ASKED.search(request.text)) and request.has("read_file", "write_file", "edit_file")


def script(request: DemoRequest) -> Script[str]:
    say = request.say
    listing = yield from request.look(say("Let me look around first.", "我先看看有哪些文件。"))
    folder = free_name("practice", listing)
    texts = [say(f"Refactor {folder}/{module.name}", f"重构 {folder}/{module.name}") for module in MODULES]
    work = Work.planned(request, texts)
    yield from work.start(say("Five files, so five to-dos.", "五个文件，列成五项任务。"))
    writes = [
        Call("write_file", {"path": f"{folder}/{module.name}", "content": module.source})
        for module in MODULES
    ]
    text = say(
        f"I won't touch your files; I'll create five practice files in `{folder}/`.",
        f"我不会改动你的文件，先在 `{folder}/` 里创建五个练习文件。",
    )
    written = yield from ask(*writes, text=text)
    if any(result.failed for result in written):
        error = next(result.text for result in written if result.failed)
        return say("Couldn't write the practice files:", "无法写入练习文件：") + f"\n\n{quoted(error)}"
    return (yield from _rest(request, work, choice=""))


def is_ours(items: Sequence[Item]) -> bool:
    names = {name.rpartition("/")[2] for item in items for name in files_in(item.text)}
    return len(names & {module.name for module in MODULES}) > 1


def resumed(request: DemoRequest, work: Work, opening: str) -> Script[str]:
    yield from work.restart(opening)
    yield from _write_missing(request, work)
    return (yield from _rest(request, work, _choice(request)))


def _choice(request: DemoRequest) -> str:
    answers = request.history.answers_to(OLD_RESTOCK.rstrip())
    for text in answers or [request.text]:
        if _OLD.search(text) or _NEW.search(text):
            return "old" if _OLD.search(text) else "new"
    return "" if answers is None else "new"


def _write_missing(request: DemoRequest, work: Work) -> Script[None]:
    open_paths = [path for item in work.items if item.state != "done" for path in files_in(item.text)]
    accessed = {call.arguments.get("path") for call in request.history.past if not call.failed}
    candidates = {path: module for path in open_paths if path not in accessed and (module := _module(path))}
    if not candidates or not request.has("write_file"):
        return
    existing = set(re.split(r"[\s/|]+", (yield from request.look())))
    folders = {path.rpartition("/")[0] for path in candidates}
    for folder in sorted(folders & existing):
        (listing,) = yield from request.read_files(folder)
        existing |= {f"{folder}/{name}" for name in re.split(r"[\s/|]+", listing.text)}
    writes = [
        Call("write_file", {"path": path, "content": module.source})
        for path, module in candidates.items()
        if path not in existing
    ]
    if writes:
        text = request.say(
            "The last turn was stopped before all practice files were written. I'll write the rest first.",
            "上次停止时练习文件还没有写完，我先把缺少的文件补上。",
        )
        yield from ask(*writes, text=text)


def _module(path: str) -> Module | None:
    return next((each for each in MODULES if path.endswith(each.name)), None)


def _rest(request: DemoRequest, work: Work, choice: str) -> Script[str]:
    def do(item: Item) -> Script[ItemOutcome]:
        path = (files_in(item.text) or [""])[0]
        module = _module(path)
        if module is None:
            return (yield from Heuristics(request).do(item))
        if module.after:
            return (yield from _replaced(request, path, module))
        return (yield from (_decided(request, path, choice) if choice else _questioned(request, path, work)))

    return (yield from work.run(do))


def _replaced(request: DemoRequest, path: str, module: Module) -> Script[ItemOutcome]:
    (original,) = yield from request.read_files(path)
    if original.failed:
        return ItemOutcome(original.text, ok=False)
    if (
        module.before.strip() not in original.text and module.after.strip() in original.text
    ):  # done by a turn that was stopped
        return ItemOutcome(request.say(module.english, module.chinese))
    edited = yield from request.edit_file(path, module.before, module.after)
    return ItemOutcome(
        edited.text if edited.failed else request.say(module.english, module.chinese), ok=not edited.failed
    )


def _questioned(request: DemoRequest, path: str, work: Work) -> Script[ItemOutcome]:
    (original,) = yield from request.read_files(path)
    if original.failed:
        return ItemOutcome(original.text, ok=False)
    both = quoted(f"{OLD_RESTOCK.rstrip()}\n\n{NEW_RESTOCK}", "python")
    done, total = sum(item.state == "done" for item in work.items), len(work.items)
    question = request.say(
        f"{done} of {total} done. I found a problem in `{path}`: **`restock` is defined twice**, and the "
        f"versions differ.\n\n{both}\n\nWhich one should stay? Reply **keep the new version** or "
        "**keep the old version** to continue.",
        f"{total} 项中已完成 {done} 项。我在 `{path}` 里发现一个问题：**`restock` 定义了两次**，"
        f"而且两个版本不同。\n\n{both}\n\n应该保留哪一个？"
        "请回复 **保留新版本** 或 **保留旧版本**，我会继续。",
    )
    return ItemOutcome("", ok=False, question=question)


def _decided(request: DemoRequest, path: str, choice: str) -> Script[ItemOutcome]:
    old = choice == "old"
    removed, kept = (NEW_RESTOCK, OLD_RESTOCK.rstrip() + "\n") if old else (OLD_RESTOCK, NEW_RESTOCK)
    edited = yield from request.edit_file(path, OLD_RESTOCK + NEW_RESTOCK, kept)
    summary = request.say(
        f"kept the {'old' if old else 'new'} `restock`", f"保留了{'旧' if old else '新'}的 `restock`"
    )
    diff = "\n".join(f"- {line}".rstrip() for line in removed.strip().splitlines())
    done = not edited.failed
    if not done:  # a stopped turn may have edited the file already
        (current,) = yield from request.read_files(path)
        done = kept.strip() in current.text and removed.strip() not in current.text
    return ItemOutcome(summary if done else edited.text, ok=done, quote=quoted(diff, "diff"))


OLD_RESTOCK = '''def restock(shelf, name, count):
    """Old: adds without a limit."""
    shelf[name] = shelf.get(name, 0) + count
    return shelf


'''
NEW_RESTOCK = '''def restock(shelf, name, count, limit=100):
    """New: never more than the limit."""
    shelf[name] = min(shelf.get(name, 0) + count, limit)
    return shelf
'''


@dataclass(frozen=True)
class Module:
    """A practice module. `after` replaces `before`; it is empty where the user decides."""

    name: str
    head: str
    before: str
    after: str = ""
    english: str = ""
    chinese: str = ""

    @property
    def source(self) -> str:
        return f"{self.head}{self.before}"


_CART = Module(
    "cart.py",
    '''"""What a customer is about to buy."""


def add(cart, name, count):
''',
    """    if name in cart:
        cart[name] = cart[name] + count
    else:
        cart[name] = count
    return cart
""",
    """    cart[name] = cart.get(name, 0) + count
    return cart
""",
    "four lines became one",
    "四行变成一行",
)
_PRICES = Module(
    "prices.py",
    '"""What things cost."""\n\n',
    """
def tax(price):
    return price * 0.19


def with_tax(price):
    return price * 1.19
""",
    """TAX = 0.19


def tax(price):
    return price * TAX


def with_tax(price):
    return price + tax(price)
""",
    "the tax rate is now a named constant",
    "税率改为具名常量，只写一次",
)
_STOCK = Module("stock.py", '"""What is on the shelf."""\n\n\n', OLD_RESTOCK + NEW_RESTOCK)
_ORDERS = Module(
    "orders.py",
    '''"""What has been ordered."""


def ready(order):
''',
    """    if order["paid"]:
        if order["packed"]:
            return True
        else:
            return False
    else:
        return False
""",
    """    return bool(order["paid"] and order["packed"])
""",
    "the nested branches became one expression",
    "嵌套的分支合并为一个表达式",
)
_REPORT = Module(
    "report.py",
    '''"""What the shop tells its owner."""


def report(names):
''',
    """    text = ""
    for name in names:
        text = text + name + "\\n"
    return text
""",
    """    return "".join(f"{name}\\n" for name in names)
""",
    "uses join() instead of +",
    "用 join() 代替 +",
)

MODULES = (_CART, _PRICES, _STOCK, _ORDERS, _REPORT)
