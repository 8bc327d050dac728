/**
 * The jobs that the address asks for, kept true by the live line.
 * Rows change in place; rows that would come or go wait until the pointer is elsewhere, so nothing jumps under it.
 */

import { computed, onScopeDispose, ref, shallowRef, watch, type Ref } from "vue";
import { jobs as calls } from "@/api/calls";
import { listen } from "@/api/live";
import type { Job, View } from "@/api/types";
import { apiQuery, type ListQuery } from "./listQuery";

const SETTLE_MS = 1200;
const PATIENCE_MS = 200;

export function useJobList(view: Ref<View>, query: Ref<ListQuery>) {
  const rows = ref<Job[]>([]);
  const total = ref(0);
  const problem = shallowRef<unknown>(null);
  const loaded = ref(false);
  const slow = ref(false);
  const hovered = ref(false);
  const moved = ref(new Set<string>());
  let running: AbortController | null = null;
  let settle: ReturnType<typeof setTimeout> | undefined;

  const asked = computed(() => JSON.stringify(apiQuery(view.value, query.value)));
  watch(view, () => {
    rows.value = [];
    loaded.value = false;
  });
  watch(asked, () => void load(), { immediate: true });
  watch(hovered, () => plan());
  onScopeDispose(listen({ jobs: hear, reset: () => void load() }));
  onScopeDispose(() => {
    running?.abort();
    clearTimeout(settle);
  });

  async function load(): Promise<void> {
    running?.abort();
    const mine = (running = new AbortController());
    const patience = setTimeout(() => (slow.value = !loaded.value), PATIENCE_MS);
    try {
      const page = await calls.list(apiQuery(view.value, query.value), mine.signal);
      rows.value = page.items;
      total.value = page.total;
      problem.value = null;
      loaded.value = true;
      moved.value = new Set();
    } catch (fault) {
      if (!mine.signal.aborted) problem.value = fault;
    } finally {
      clearTimeout(patience);
      if (running === mine) slow.value = false;
    }
  }

  function hear(changed: Job[]): void {
    for (const job of changed) {
      const at = rows.value.findIndex((row) => row.id === job.id);
      if (at >= 0) patch(job);
      if (at >= 0 ? job.view !== view.value : job.view === view.value) moved.value.add(job.id);
    }
    plan();
  }

  function patch(job: Job): void {
    const at = rows.value.findIndex((row) => row.id === job.id);
    if (at >= 0 && rows.value[at]!.revision <= job.revision) rows.value[at] = job;
  }

  function plan(): void {
    clearTimeout(settle);
    if (moved.value.size && !hovered.value) settle = setTimeout(() => void load(), SETTLE_MS);
  }

  return { rows, total, problem, loaded, slow, hovered, moved, load, patch };
}
