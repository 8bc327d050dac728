/** Single-key shortcuts of the page that is shown. Silent in inputs, in dialogs, and while an IME composes. */

import { onScopeDispose, ref } from "vue";

type Keys = Record<string, () => void>;

const layers: Keys[] = [];
export const sheetIsOpen = ref(false);

export function useShortcuts(keys: Keys): void {
  layers.push(keys);
  onScopeDispose(() => layers.splice(layers.indexOf(keys), 1));
}

/** Listens for the whole page; called once. */
export function startShortcuts(): void {
  addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isBusy(event.target as HTMLElement | null)) return;
    if (event.key === "?") return void (sheetIsOpen.value = true);
    const action = layers.findLast((layer) => layer[event.key])?.[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function isBusy(target: HTMLElement | null): boolean {
  if (document.querySelector(".el-overlay:not([style*='display: none']) [role=dialog]")) return true;
  if (!target) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || !!target.closest("[role=combobox]");
}
