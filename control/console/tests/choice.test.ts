/** Sharing an entry: what is refused while typing, and what the API is asked. */

import { expect, test } from "vitest";
import { ENDS, faultsOfChoice, newChoice, shareOf } from "../src/pages/share/choice";
import zh from "../src/i18n/zh-CN.json";

const NOW = Date.parse("2026-12-01T00:00:00Z");

test("a generated code without end and limit asks for nothing", () => {
  expect(faultsOfChoice(newChoice())).toEqual({});
  expect(shareOf(newChoice(), NOW)).toEqual({});
});

test("code, end and uses are told", () => {
  const choice = { own: true, code: " eight888 ", hours: 24, uses: "3" };
  expect(shareOf(choice, NOW)).toEqual({ code: "eight888", expires_at: "2026-12-02T00:00:00.000Z", max_uses: 3 });
});

test.each([
  [{ own: true, code: "seven77" }, { code: "codeShort" }],
  [{ uses: "0" }, { max_uses: "usesForm" }],
  [{ uses: "two" }, { max_uses: "usesForm" }],
  [{ uses: "1000001" }, { max_uses: "usesForm" }],
])("%j is refused", (change, faults) => {
  expect(faultsOfChoice({ ...newChoice(), ...change })).toEqual(faults);
});

test("every end has its words", () => {
  expect(Object.keys(zh.share.end)).toEqual(ENDS.map((hours) => `h${hours}`));
});
