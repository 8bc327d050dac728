/** A stretch of a log holds whole lines, wherever its pieces were cut. */

import { expect, test } from "vitest";
import { LINE_LIMIT, LogWindow, wholeLines } from "../src/logs/window";

const bytes = (text: string) => new TextEncoder().encode(text);

function lines(window: LogWindow): string[] {
  return Array.from({ length: window.count }, (_, at) => window.line(at));
}

function windowOf(text: string, from = 0): LogWindow {
  const window = new LogWindow();
  window.reset(from);
  window.append(bytes(text));
  return window;
}

test("an empty window has no lines", () => {
  expect(windowOf("").count).toBe(0);
});

test("every line is counted once, the unfinished last one too", () => {
  expect(lines(windowOf("a\n\nb\nc"))).toEqual(["a", "", "b", "c"]);
  expect(lines(windowOf("a\nb\n"))).toEqual(["a", "b"]);
});

test("pieces cut anywhere make the same lines", () => {
  const text = "第一行\nsecond\r\n\n+ <x>\n最后";
  const all = bytes(text);
  for (let cut = 0; cut <= all.length; cut += 1) {
    const window = new LogWindow();
    window.append(all.subarray(0, cut));
    window.append(all.subarray(cut));
    expect(lines(window)).toEqual(text.split("\n"));
    expect(window.to).toBe(all.length);
  }
});

test("what is put before moves the start and keeps the lines", () => {
  const window = windowOf("c\nd", 4);
  expect(window.prepend(bytes("a\nb\n"))).toBe(2);
  expect([window.from, lines(window)]).toEqual([0, ["a", "b", "c", "d"]]);
});

test("letting go at the start goes line by line", () => {
  const window = windowOf("aa\nbb\ncc\ndd\n");
  expect(window.dropHead(6, 100)).toBe(2);
  expect([window.from, lines(window)]).toEqual([6, ["cc", "dd"]]);
  window.append(bytes("ee"));
  expect(lines(window)).toEqual(["cc", "dd", "ee"]);
  expect(window.dropHead(1000, 1)).toBe(2);
  expect(lines(window)).toEqual(["ee"]);
});

test("letting go at the end goes line by line", () => {
  const window = windowOf("aa\nbb\ncc\n");
  window.dropTail(7, 100);
  expect([window.to, lines(window)]).toEqual([9, ["aa", "bb", "cc"]]);
  window.dropTail(100, 2);
  expect([window.to, lines(window)]).toEqual([6, ["aa", "bb"]]);
});

test("a line is found by any byte of it", () => {
  const window = windowOf("aa\nbbbb\ncc", 100);
  expect([100, 102, 103, 106, 108, 109].map((offset) => window.lineAt(offset))).toEqual([0, 0, 1, 1, 2, 2]);
  expect(window.offsetOf(1)).toBe(103);
});

test("a line longer than the limit shows its end, whole characters only", () => {
  const window = windowOf("星".repeat(LINE_LIMIT));
  expect(window.line(0)).toMatch(/^星+$/);
});

test("of an endless progress bar what follows the last returns is shown", () => {
  const window = windowOf(`${"x".repeat(LINE_LIMIT)}\r 99%\r100%`);
  expect(window.line(0)).toBe(" 99%\r100%");
});

test("a piece from the middle gives up its first, broken line", () => {
  expect(wholeLines(bytes("ken\nwhole\n"), 7)).toEqual({ bytes: bytes("whole\n"), from: 11 });
  expect(wholeLines(bytes("first\n"), 0).from).toBe(0);
  expect(wholeLines(bytes("no end"), 5).from).toBe(5);
});
