/** The page's words. zh-CN first; en has the same keys (checked by a test). Only the spoken language is loaded. */

import enElement from "element-plus/es/locale/lang/en";
import zhElement from "element-plus/es/locale/lang/zh-cn";
import { shallowRef } from "vue";
import { createI18n } from "vue-i18n";
import zh from "./zh-CN.json";

export type Language = "zh-CN" | "en";
export type Words = typeof zh;

const KEY = "starlight.language";

export const i18n = createI18n({
  legacy: false,
  locale: "zh-CN",
  fallbackLocale: "zh-CN",
  messages: { "zh-CN": zh } as Record<string, Words>,
});
export const elementLocale = shallowRef(zhElement);
export const t = i18n.global.t as (key: string, params?: Record<string, unknown>) => string;

export function language(): Language {
  return i18n.global.locale.value === "en" ? "en" : "zh-CN";
}

/** `zh` or `en`, as the API names a language. */
export function apiLanguage(): "zh" | "en" {
  return language() === "en" ? "en" : "zh";
}

/** Speaks `next` from now on and remembers it on this browser. */
export async function speak(next: Language): Promise<void> {
  if (next === "en") {
    i18n.global.setLocaleMessage("en", (await import("./en.json")).default);
  }
  elementLocale.value = next === "en" ? enElement : zhElement;
  (i18n.global.locale as { value: string }).value = next;
  document.documentElement.lang = next;
  localStorage.setItem(KEY, next);
}

/** The language that first-paint.js settled on: the remembered one, else the browser's. */
export function startLanguage(): Language {
  return document.documentElement.lang === "en" ? "en" : "zh-CN";
}

/** Whether the person ever chose a language on this browser. */
export function languageIsChosen(): boolean {
  return localStorage.getItem(KEY) !== null;
}
