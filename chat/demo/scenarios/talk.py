"""Small talk: says what the demo is and what to try. Uses no tools."""

from __future__ import annotations

from chat.demo.demo_request import DemoRequest, Script

_ENGLISH = """Hello! I'm the **built-in demo**, not an AI: my replies are scripted, so you can try this \
site without a key. The tools, the files and the plan are real.

Try one of these:

- `refactor these five files` (stops with a question; answer `keep the new version`)
- `first make a plan, then read the files, run the shop and write a note`
- `fix the bug in shop.py`
- `make a small Python program with tests and run them`
- `show me a forgotten list`, `show me a wrong status`, or `show me a failing command`
- your own steps, as a numbered list

To use a real model, open **Demo** below the message field and choose *Connect a real model*."""

_CHINESE = """你好！我是**内置演示**，不是 AI：我的回复是预设的脚本，\
让你无需密钥就能试用这个网站。工具、文件和计划都是真实的。

可以试试：

- `重构这五个文件`（中途会提问，回答 `保留新版本` 即可）
- `先做计划，然后阅读文件、运行商店程序和写一份笔记`
- `修复 shop.py 里的错误`
- `写一个带测试的 Python 小程序并运行测试`
- `演示忘记更新列表`、`演示错误的状态`、`演示失败的命令`
- 你自己的步骤，写成编号列表

要使用真实的模型，请点开输入框下方的**演示**，然后选择*连接真实模型*。"""

_NO_TOOLS = (
    "I'm the built-in demo, not an AI. No tools are available here, so there is nothing I can do; "
    "with tools I make a plan and work through it.",
    "我是内置演示，不是 AI。这次请求没有提供任何工具，所以我什么也做不了；"
    "有工具时，我会先列出计划再逐项完成。",
)


def script(request: DemoRequest) -> Script[str]:
    yield from ()  # no calls
    return request.say(_ENGLISH, _CHINESE) if request.tools else request.say(*_NO_TOOLS)
