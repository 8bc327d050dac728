/** A line of output reads as a terminal would leave it. */

import { expect, test } from "vitest";
import { markHits, parseLine, plainText } from "../src/logs/ansi";

const E = "\u001b";

test("a plain line is one span", () => {
  expect(parseLine("epoch 1")).toEqual([{ text: "epoch 1", cls: "" }]);
});

test("an empty line is no span", () => {
  expect(parseLine("")).toEqual([]);
});

test.each([
  [`${E}[31mred${E}[0m`, "f1"],
  [`${E}[1;92mgood`, "b f10"],
  [`${E}[44;97mx`, "g4 f15"],
  [`${E}[1m${E}[22mx`, ""],
  [`${E}[3;4;7mx`, "i u v"],
  [`${E}[100mx`, "g8"],
  [`${E}[31m${E}[39mx`, ""],
])("%j has the classes %j", (line, cls) => {
  expect(parseLine(line)[0]!.cls).toBe(cls);
});

test("256 colours and true colours become rgb", () => {
  expect(parseLine(`${E}[38;5;208mx`)[0]!.fg).toBe("rgb(255 135 0)");
  expect(parseLine(`${E}[48;5;232mx`)[0]!.bg).toBe("rgb(8 8 8)");
  expect(parseLine(`${E}[38;2;1;2;300mx`)[0]!.fg).toBe("rgb(1 2 255)");
  expect(parseLine(`${E}[38;5;3mx`)[0]!.cls).toBe("f3");
});

test("an unclosed colour does not reach the next line", () => {
  parseLine(`${E}[41m red`);
  expect(parseLine("next")).toEqual([{ text: "next", cls: "" }]);
});

test("a carriage return writes over what stood there", () => {
  expect(plainText("  1%|#    |\r 50%|##   |\r100%|#####|")).toBe("100%|#####|");
  expect(plainText("long line\rshort")).toBe("shortline");
});

test("a carriage return at the end of a line (CR LF) takes nothing away", () => {
  expect(plainText("windows line\r")).toBe("windows line");
});

test("erase in line takes the rest away", () => {
  expect(plainText(`long line\r${E}[Kshort`)).toBe("short");
});

test("a backspace goes back one", () => {
  expect(plainText("|\b/\b-")).toBe("-");
});

test("other codes and titles leave no trace", () => {
  expect(plainText(`${E}]0;title\u0007a${E}[2Jb${E}(Bc${E}[?25hd`)).toBe("abcd");
});

test("control characters are shown, not swallowed", () => {
  expect(plainText("a\u0000b\u0007c")).toBe("a\u2400b\u2407c");
});

test("markup and plus signs stay text", () => {
  expect(plainText("a + <b> & c")).toBe("a + <b> & c");
});

test("wide characters are kept whole", () => {
  expect(plainText("星光\r月")).toBe("月光");
  expect(plainText("🚀 ok")).toBe("🚀 ok");
});

test("hits are marked across colours", () => {
  const spans = markHits(parseLine(`lo${E}[31mss=1 LOSS`), "loss");
  expect(spans).toEqual([
    { text: "lo", cls: "hit" },
    { text: "ss", cls: "f1 hit" },
    { text: "=1 ", cls: "f1" },
    { text: "LOSS", cls: "f1 hit" },
  ]);
});

test("no hit leaves the spans as they are", () => {
  const spans = parseLine("abc");
  expect(markHits(spans, "x")).toBe(spans);
  expect(markHits(spans, "")).toBe(spans);
});
