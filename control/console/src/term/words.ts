/** The terminal page's own few words: it lives on another host and does not load the console's. */

import en from "@/i18n/term/en.json";
import zh from "@/i18n/term/zh-CN.json";

export type Word = keyof typeof zh;

export const inEnglish = document.documentElement.lang === "en";

export function say(word: Word, values: Record<string, string | number> = {}): string {
  return (inEnglish ? en : zh)[word].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
}
