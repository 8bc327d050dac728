/** The time, once a second, shared by all who show a running clock. State: one timer while anybody looks. */

import { onScopeDispose, ref, type Ref } from "vue";

const now = ref(Date.now());
let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

export function useNow(): Ref<number> {
  if (watchers++ === 0) {
    now.value = Date.now();
    timer = setInterval(() => (now.value = Date.now()), 1000);
  }
  onScopeDispose(() => {
    if (--watchers === 0) clearInterval(timer);
  });
  return now;
}
