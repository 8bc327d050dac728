/** The words of the two languages match each other and the code. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import en from "../src/i18n/en.json";
import termEn from "../src/i18n/term/en.json";
import termZh from "../src/i18n/term/zh-CN.json";
import zh from "../src/i18n/zh-CN.json";
import { STATES } from "../src/api/types";

type Tree = { [key: string]: string | Tree };
const SRC = join(import.meta.dirname, "../src");

function flat(tree: Tree, path = ""): Record<string, string> {
  return Object.fromEntries(
    Object.entries(tree).flatMap(([key, value]) =>
      typeof value === "string" ? [[path + key, value]] : Object.entries(flat(value, `${path}${key}.`)),
    ),
  );
}

function sources(folder = SRC): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((file) => file.isFile() && /\.(ts|vue|css|js)$/.test(file.name))
    .map((file) => join(file.parentPath, file.name));
}

const placeholders = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((found) => found[1]).sort();
const pairs: [string, Record<string, string>, Record<string, string>][] = [
  ["console", flat(zh), flat(en)],
  ["terminal", flat(termZh), flat(termEn)],
];

test.each(pairs)("%s: both languages have the same keys", (_name, chinese, english) => {
  expect(Object.keys(english).sort()).toEqual(Object.keys(chinese).sort());
});

test.each(pairs)("%s: both languages fill in the same values", (_name, chinese, english) => {
  for (const [key, text] of Object.entries(chinese)) {
    expect([key, placeholders(english[key] ?? "")]).toEqual([key, placeholders(text)]);
  }
});

test.each(pairs)("%s: nothing is left empty", (_name, chinese, english) => {
  for (const text of [...Object.values(chinese), ...Object.values(english)]) expect(text.trim()).not.toBe("");
});

test("English holds no Chinese but the language's own name", () => {
  const found = Object.entries({ ...flat(en), ...flat(termEn) }).filter(([, text]) => /\p{Script=Han}/u.test(text));
  expect(found.map(([key]) => key).sort()).toEqual(["look.zh", "profile.zh"]);
});

test("Chinese stands in the word files only", () => {
  for (const file of sources()) {
    expect([file, /\p{Script=Han}/u.exec(readFileSync(file, "utf8"))?.[0] ?? ""]).toEqual([file, ""]);
  }
});

test("every key that the code names exists, and every word is named by the code", () => {
  const code = sources().map((file) => readFileSync(file, "utf8")).join("\n");
  const keys = Object.keys(flat(zh));
  const named = [...code.matchAll(/\$?\bt\(\s*"([\w.]+)"/g)].map((found) => found[1]!);
  expect(named.filter((key) => !keys.includes(key))).toEqual([]);
  // Keys that are put together while running are named by their beginning: t(`state.${...}`).
  const beginnings = [...code.matchAll(/`([a-z]\w*(?:\.\w+)*\.)\$\{/g)].map((found) => found[1]!);
  const built = /^(users\.(enable|disable)(Text|Done)?|level\.\w+Hint)$/;
  const unused = keys.filter(
    (key) => !code.includes(`"${key}"`) && !code.includes(`'${key}'`) && !beginnings.some((begin) => key.startsWith(begin)) && !built.test(key),
  );
  expect(unused).toEqual([]);
});

test("every state of a job has its word and its sentence", () => {
  for (const state of [...STATES, "closing"]) {
    expect(Object.keys(flat(zh))).toContain(`state.${state}`);
    expect(Object.keys(flat(zh))).toContain(`stateSentence.${state}`);
  }
});

test("the manual's words for the eleven states are used", () => {
  expect(STATES.map((state) => zh.state[state])).toEqual([
    "排队中", "创建中", "运行中", "挂起", "已结束", "已结束（失败）", "创建失败", "已取消", "退出码异常", "未知", "故障",
  ]);
});

test("colours are named in theme/tokens.css only", () => {
  for (const file of sources().filter((name) => !name.endsWith("tokens.css"))) {
    const text = readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
    expect([file, /#[0-9a-f]{3,8}\b(?=[;,\s"'])|\b(?:rgba?|hsla?)\([\d\s]/i.exec(text)?.[0] ?? ""]).toEqual([file, ""]);
  }
});

test("both themes name the same colours", () => {
  const css = readFileSync(join(SRC, "theme/tokens.css"), "utf8");
  const [light, dark] = css.split('[data-theme="dark"]');
  const names = (text: string) => [...text.matchAll(/^\s+(--[\w-]+):\s*(?:#|rgb|0 \d)/gm)].map((found) => found[1]!).sort();
  expect(names(dark!)).toEqual(names(light!));
});
