/** Colours of the terminal from tokens.css, and the text size that this browser remembers. */

import type { ITheme } from "@xterm/xterm";

const SIZE_KEY = "starlight.terminal.size";
const ANSI = [
  "black",
  "red",
  "green",
  "yellow",
  "blue",
  "magenta",
  "cyan",
  "white",
  "brightBlack",
  "brightRed",
  "brightGreen",
  "brightYellow",
  "brightBlue",
  "brightMagenta",
  "brightCyan",
  "brightWhite",
] as const;

export function themeOfPage(): ITheme {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(name).trim();
  const theme: ITheme = {
    background: token("--term-page"),
    foreground: token("--term-text"),
    cursor: token("--term-cursor"),
    cursorAccent: token("--term-page"),
    selectionBackground: token("--term-chosen"),
  };
  ANSI.forEach((name, at) => (theme[name] = token(`--ansi-${at}`)));
  return theme;
}

export function fontOfPage(): string {
  return getComputedStyle(document.documentElement).getPropertyValue("--mono").trim();
}

export function readSize(): number {
  return clampSize(Number(localStorage.getItem(SIZE_KEY)) || 14);
}

export function keepSize(size: number): number {
  const kept = clampSize(size);
  localStorage.setItem(SIZE_KEY, String(kept));
  return kept;
}

function clampSize(size: number): number {
  return Math.max(9, Math.min(32, Math.round(size)));
}
