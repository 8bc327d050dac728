/** One job and its status, kept true by the live line. */

import { onScopeDispose, ref, shallowRef, watch, type Ref } from "vue";
import { jobs as calls } from "@/api/calls";
import { listen } from "@/api/live";
import type { Job, JobStatus } from "@/api/types";

export function useJob(id: Ref<string>) {
  const job = ref<Job | null>(null);
  const status = shallowRef<JobStatus | null>(null);
  const problem = shallowRef<unknown>(null);
  const statusProblem = shallowRef<unknown>(null);
  let running = new AbortController();

  watch(id, () => {
    job.value = null;
    status.value = null;
    void load();
  }, { immediate: true });
  onScopeDispose(listen({ jobs: (changed) => changed.forEach(take), reset: () => void load() }));
  onScopeDispose(() => running.abort());

  async function load(): Promise<void> {
    running.abort();
    running = new AbortController();
    const signal = running.signal;
    try {
      job.value = await calls.read(id.value, signal);
      problem.value = null;
    } catch (fault) {
      if (!signal.aborted) problem.value = fault;
      return;
    }
    await loadStatus();
  }

  async function loadStatus(): Promise<void> {
    const signal = running.signal;
    try {
      status.value = await calls.status(id.value, signal);
      statusProblem.value = null;
    } catch (fault) {
      if (!signal.aborted) statusProblem.value = fault;
    }
  }

  function take(changed: Job): void {
    if (changed.id !== id.value || !job.value || changed.revision < job.value.revision) return;
    job.value = changed;
    void loadStatus();
  }

  return { job, status, problem, statusProblem, load, loadStatus, take };
}
