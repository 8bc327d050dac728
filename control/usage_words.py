"""argparse's own words in Chinese: what it says of usage, of arguments and of what is wrong with them.

argparse looks its sentences up in two functions of its module; they are the only way to give it other words.
State: those two functions, of this process.
"""

from __future__ import annotations

import argparse
import gettext
from typing import Final

ZH: Final = {
    "usage: ": "用法：",
    "options": "选项",
    "optional arguments": "选项",
    "positional arguments": "参数",
    "show this help message and exit": "显示本帮助并退出",
    "%(prog)s: error: %(message)s\n": "%(prog)s：错误：%(message)s\n",
    "argument %(argument_name)s: %(message)s": "参数 %(argument_name)s：%(message)s",
    "argument '%(argument_name)s' is deprecated": "参数 '%(argument_name)s' 已弃用",
    "command '%(parser_name)s' is deprecated": "命令 '%(parser_name)s' 已弃用",
    "option '%(option)s' is deprecated": "选项 '%(option)s' 已弃用",
    "%(prog)s: warning: %(message)s\n": "%(prog)s：警告：%(message)s\n",
    "the following arguments are required: %s": "缺少必需的参数：%s",
    "unrecognized arguments: %s": "无法识别的参数：%s",
    "expected one argument": "需要一个值",
    "expected at least one argument": "至少需要一个值",
    "expected at most one argument": "最多一个值",
    "expected %s argument": "需要 %s 个值",
    "expected %s arguments": "需要 %s 个值",
    "invalid choice: %(value)r (choose from %(choices)s)": "%(value)r 不在可选范围内（可选：%(choices)s）",
    "invalid choice: %(value)r, maybe you meant %(closest)r? (choose from %(choices)s)": (
        "%(value)r 不在可选范围内，是否想用 %(closest)r？（可选：%(choices)s）"
    ),
    "invalid %(type)s value: %(value)r": "%(value)r 不是有效的 %(type)s",
    "ambiguous option: %(option)s could match %(matches)s": "选项 %(option)s 不明确，可能是 %(matches)s",
    "ignored explicit argument %r": "此选项不能带值 %r",
    "unexpected option string: %s": "意外的选项：%s",
    "not allowed with argument %s": "不能与 %s 同时使用",
    "one of the arguments %s is required": "需要以下参数之一：%s",
    "unknown parser %(parser_name)r (choices: %(choices)s)": "没有命令 %(parser_name)r（可选：%(choices)s）",
    "can't open '%(filename)s': %(error)s": "无法打开 '%(filename)s'：%(error)s",
}


def speak(language: str) -> None:
    """From now on argparse says its own words in `zh`, or, for any other language, in English."""
    if language == "zh":
        setattr(argparse, "_", lambda text: ZH.get(text, text))  # noqa: B010 - a name that type checkers do not know
        setattr(argparse, "ngettext", _counted)  # noqa: B010 - as above
    else:
        setattr(argparse, "_", gettext.gettext)  # noqa: B010 - as above
        setattr(argparse, "ngettext", gettext.ngettext)  # noqa: B010 - as above


def _counted(one: str, many: str, count: int) -> str:
    text = one if count == 1 else many
    return ZH.get(text, text)
