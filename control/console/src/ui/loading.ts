/** What a page fetches: the last asking wins, the old answer stays while a new one is on its way. */

import { ref, shallowRef, type Ref } from "vue";

export function useLoading<T>(fetch: () => Promise<T>) {
  const value = ref(null) as Ref<T | null>;
  const problem = shallowRef<unknown>(null);
  let asked = 0;

  async function load(): Promise<void> {
    const mine = ++asked;
    try {
      const found = await fetch();
      if (mine !== asked) return;
      value.value = found;
      problem.value = null;
    } catch (fault) {
      if (mine === asked) problem.value = fault;
    }
  }

  return { value, problem, load };
}
