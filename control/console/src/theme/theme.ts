/** The colour theme: follows the system unless the person chose one. State: the choice, kept in localStorage. */

import { ref } from "vue";

export type ThemeChoice = "system" | "light" | "dark";

const KEY = "starlight.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export const themeChoice = ref<ThemeChoice>(readChoice());

export function chooseTheme(choice: ThemeChoice): void {
  themeChoice.value = choice;
  if (choice === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, choice);
  paint();
}

/** Keeps the page in step with the system and with the choice made in another tab. */
export function followTheme(): void {
  system.addEventListener("change", paint);
  addEventListener("storage", (event) => {
    if (event.key !== KEY) return;
    themeChoice.value = readChoice();
    paint();
  });
}

function paint(): void {
  const dark = themeChoice.value === "dark" || (themeChoice.value === "system" && system.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function readChoice(): ThemeChoice {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}
