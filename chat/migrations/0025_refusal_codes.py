"""Store the codes of refused todo lists with their calls. Earlier versions stored only the sentence."""

import re

from django.db import migrations

CHUNK = 500  # rows
END = 2000  # characters examined at each end: a placeholder's value may be long, and is irrelevant

PREFIX = "(?:Error|❌ Todo update failed|错误|❌ 任务更新失败): "
# The sentences of all versions, in both languages, behind the prefix of the policy; the first that matches
# counts. `_` is any text.
REFUSED = [
    ("not_a_list", "_ must be a list of items", "_ 必须是任务列表"),
    ("not_an_object", "Item _: must be an object", "任务 _: 必须是一个对象", "第 _ 项: 必须是一个对象"),
    ("required", "Item _: FIELD required", "任务 _: 缺少必填字段 FIELD", "第 _ 项: 缺少 FIELD"),
    ("not_text", "Item _: _ must be text", "任务 _: _ 必须是文本", "第 _ 项: _ 必须是文本"),
    ("unknown_status", "Item _: invalid status '_'", "invalid status '_', only: _"),
    (
        "unknown_status",
        "任务 _: 无效状态 '_'",
        "第 _ 项: 无效的任务状态 '_'",
        "无效的任务状态: '_'，仅支持: _",
    ),
    ("too_many", "Max _ todos allowed", "最多 _ 个任务", "最多只能有 _ 项任务"),
    ("two_in_progress", "Only one task can be in[_]progress at a time", "只能有一个任务进行中"),
    ("two_in_progress", "同一时间只能有一项任务处于 in[_]progress"),
    ("repeated_id", "Item _: id '_' is used twice", "任务 _: id '_' 重复", "第 _ 项: id '_' 重复"),
    ("second_write", "Only one TodoWrite in one reply; send the whole list once"),
    ("second_write", "一次回复中只能调用一次 TodoWrite，请一次发送完整列表"),
    ("call.not_json", "the arguments are not valid JSON (_). Send one JSON object."),
    ("call.not_json", "参数不是有效的 JSON（_）。请发送一个 JSON 对象。"),
    ("call.not_an_object", "the arguments must be one JSON object.", "参数必须是一个 JSON 对象。"),
    (
        "call.cut",
        "the reply was cut off while these arguments were written, so the call was not run. Send it again, "
        "shorter.",
        "回复在写这些参数时被截断，因此没有执行。请缩短后重新发送。",
    ),
    ("call.not_run", "there is no result, because the turn ended. _", "没有结果，因为本轮已结束。_"),
]


def pattern(sentence):
    text = re.escape(sentence).replace(r"in\[_\]progress", "in\0progress")
    text = text.replace("_", ".*?").replace("FIELD", "(?P<field>.*?)").replace("\0", "_")
    return re.compile(PREFIX + text, re.DOTALL)


PATTERNS = [(code, pattern(sentence)) for code, *sentences in REFUSED for sentence in sentences]


def refusal_code(message):
    """The code of a refusal's sentence; "" for any other text."""
    message = message.strip()
    message = message if len(message) <= 2 * END else message[:END] + message[-END:]
    for code, sentence in PATTERNS:
        if match := sentence.fullmatch(message):
            return f"{code}.{match['field']}"[:100] if code == "required" else code
    return ""


def store_codes(apps, _editor):
    refused = apps.get_model("chat", "ToolCall").objects.filter(name="TodoWrite", status="failed")
    keys = list(refused.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), CHUNK):
        calls = refused.filter(pk__in=keys[start : start + CHUNK]).only("output", "detail")
        coded = [(call, refusal_code(call.output)) for call in calls]
        for call, code in coded:
            call.detail = {**call.detail, "refusal": code}
        refused.bulk_update([call for call, code in coded if code], ["detail"])


class Migration(migrations.Migration):
    dependencies = [("chat", "0024_standard_names")]

    operations = [migrations.RunPython(store_codes, migrations.RunPython.noop)]
