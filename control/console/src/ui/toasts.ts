/** Short good news at the corner, gone after four seconds. State: the messages that are up. */

import { ref } from "vue";

const STAY_MS = 4000;
let next = 1;

export const toasts = ref<{ id: number; text: string; bad: boolean }[]>([]);

export function toast(text: string, bad = false): void {
  const id = next++;
  toasts.value.push({ id, text, bad });
  setTimeout(() => dismiss(id), bad ? STAY_MS * 2 : STAY_MS);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}
