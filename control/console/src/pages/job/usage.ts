/** Core-hours of a job right now: what the server counted, and the seconds since. Pure. */

import type { Job } from "@/api/types";

const received = new WeakMap<object, number>();

/** Counting starts when resources are assigned (scheduled) and stops when they are released. */
export function usedCoreHours(job: Job, now: number): number {
  if (!job.scheduled_at || job.released_at) return job.core_hours;
  const since = Math.max(Date.parse(job.scheduled_at), seen(job, now));
  return job.core_hours + (Math.max(0, now - since) / 3_600_000) * job.cpus * Math.max(1, job.nodes);
}

/** Seconds that the job has run or ran; null before its start. */
export function ranSeconds(job: Job, now: number): number | null {
  if (!job.started_at) return null;
  const end = job.ended_at ? Date.parse(job.ended_at) : now;
  return Math.max(0, (end - Date.parse(job.started_at)) / 1000);
}

function seen(job: Job, now: number): number {
  const at = received.get(job) ?? now;
  received.set(job, at);
  return at;
}
