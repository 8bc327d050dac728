"""What the ssh menu and its kin say, in Chinese and English.

The list for those who have several jobs but no terminal lives here too: it is the menu in one message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gateway.core.refusals import Refusal, sentence
from gateway.core.table import Way


@dataclass(frozen=True, slots=True)
class Words:
    """One language's texts. `{...}` are filled in where they are used."""

    title: str
    part: str
    headings: tuple[str, str, str, str, str, str, str, str]
    help: str
    help_filter: str
    filter: str
    empty: str
    nothing_fits: str
    nothing_typed: str
    unknown: str
    several: str
    entering: str
    states: dict[str, str]
    example: str


ZH: Final = Words(
    title="星光作业 · {user}",
    part="第 {first}-{last} 个，共 {total} 个",
    headings=("编号", "作业", "名称", "用户", "集群", "状态", "时长", "节点"),
    help="输入编号或作业名后按回车进入；↑↓ 选择；/ 过滤；q 退出",
    help_filter="输入文字过滤；回车确认；Esc 取消",
    filter="过滤",
    empty="现在没有可以进入的作业。请在控制台提交作业，或为作业添加 ssh 访问入口；列表会自动更新。按 q 退出",
    nothing_fits="没有符合“{text}”的作业，已取消过滤。",
    nothing_typed="请先输入编号，或用 ↑↓ 选择。",
    unknown="没有编号、作业或名称为“{text}”的作业。",
    several="有多个作业名为“{text}”，请输入编号。",
    entering="正在进入 {id} …",
    states={"running": "运行中", "suspended": "挂起", "unknown": "未知", "fault": "故障"},
    example="例如：ssh -p {port} {user}+{id}@{host}",
)
EN: Final = Words(
    title="Starlight jobs of {user}",
    part="{first}-{last} of {total}",
    headings=("No.", "Job", "Name", "User", "Cluster", "State", "Time", "Node"),
    help="Type a number or a job's name, then Enter; Up/Down select; / filters; q leaves",
    help_filter="Type to filter; Enter accepts; Esc cancels",
    filter="Filter",
    empty="There is no job to enter now. Submit one in the console, or add an ssh access entry to a job; "
    "this list follows by itself. q leaves",
    nothing_fits="No job fits “{text}”; the filter is off again.",
    nothing_typed="Type a number first, or select with Up and Down.",
    unknown="No job has the number, id or name “{text}”.",
    several="Several jobs are named “{text}”: type a number.",
    entering="Entering {id} …",
    states={"running": "running", "suspended": "suspended", "unknown": "unknown", "fault": "fault"},
    example="For example: ssh -p {port} {user}+{id}@{host}",
)


def words(language: str) -> Words:
    """The texts of a language: `zh`, or English for any other."""
    return ZH if language == "zh" else EN


def job_list(why: Refusal, ways: Sequence[Way], user: str, host: str, port: int, language: str) -> str:
    """Why none of several jobs was entered, id and name of each, and how to name one. Ends without a line break.

    Names under `localhost` are known to browsers, but to few ssh clients: these are given the number.
    """
    host = "127.0.0.1" if host.endswith(".localhost") else host
    jobs = [f"  {clean(way.job.id)}  {clean(way.job.name)}" for way in ways]
    example = words(language).example.format(port=port, user=clean(user), id=clean(ways[0].job.id), host=host)
    return "\n".join([sentence(why, language), *jobs, example])


def clean(text: str) -> str:
    """The text with every character that could move a cursor or turn the writing direction made harmless."""
    return "".join(char if char.isprintable() else "?" for char in text)
