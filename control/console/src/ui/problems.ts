/** The faults of one form: the server's sentences at their fields, the rest as a whole. */

import { nextTick, ref } from "vue";
import { ApiProblem } from "@/api/http";

export function useProblems() {
  const fields = ref<Record<string, string>>({});
  const whole = ref<unknown>(null);
  const busy = ref(false);

  function clear(): void {
    fields.value = {};
    whole.value = null;
  }

  /** Runs `act`; true when it went well. `known` are the fields that the form shows; others count as the whole. */
  async function run(act: () => Promise<void>, known: (path: string) => boolean = () => true): Promise<boolean> {
    if (busy.value) return false;
    clear();
    busy.value = true;
    try {
      await act();
      return true;
    } catch (problem) {
      take(problem, known);
      return false;
    } finally {
      busy.value = false;
    }
  }

  function take(problem: unknown, known: (path: string) => boolean): void {
    const named = problem instanceof ApiProblem ? Object.entries(problem.fields) : [];
    fields.value = Object.fromEntries(named.filter(([path]) => known(path)));
    if (!Object.keys(fields.value).length) whole.value = problem;
    void nextTick(focusFirst);
  }

  return { fields, whole, busy, clear, run };
}

function focusFirst(): void {
  const faulty = document.querySelector<HTMLElement>(".el-form-item.is-error :is(input, textarea, select)");
  faulty?.focus();
}
