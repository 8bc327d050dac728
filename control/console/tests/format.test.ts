/** Times, sizes and counts read well. */

import { expect, test } from "vitest";
import { bytes, coreHours, dateTime, duration } from "../src/ui/format";
import { ranSeconds, usedCoreHours } from "../src/pages/job/usage";
import type { Job } from "../src/api/types";

test.each([
  [0, "00:00:00"],
  [3725.9, "01:02:05"],
  [90061, "1 d 01:01:01"],
  [-5, "00:00:00"],
])("%d s is %s", (seconds, text) => {
  expect(duration(seconds, "d")).toBe(text);
});

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1536, "1.50 KiB"],
  [8 * 2 ** 30, "8 GiB"],
  [12.34 * 2 ** 20, "12.3 MiB"],
])("%d bytes are %s", (count, text) => {
  expect(bytes(count)).toBe(text);
});

test("core-hours have two decimals and thousands apart", () => {
  expect(coreHours(12345.678)).toBe("12,345.68");
});

test("a time that cannot be read stays as it came", () => {
  expect(dateTime("soon")).toBe("soon");
});

const HOUR = 3_600_000;
const at = (ms: number) => new Date(ms).toISOString();

test("core-hours run on from the server's count while resources are held", () => {
  const job = { scheduled_at: at(0), released_at: null, core_hours: 2, cpus: 4, nodes: 1 } as Job;
  expect(usedCoreHours(job, 10 * HOUR)).toBe(2);
  expect(usedCoreHours(job, 10.5 * HOUR)).toBe(4);
});

test("core-hours stand still before the start and after the release", () => {
  const job = { scheduled_at: at(0), released_at: at(HOUR), core_hours: 4, cpus: 4, nodes: 1 } as Job;
  expect(usedCoreHours(job, 10 * HOUR)).toBe(4);
  expect(usedCoreHours({ ...job, scheduled_at: null, core_hours: 0 }, 10 * HOUR)).toBe(0);
});

test("a job has run from its start to its end or to now", () => {
  expect(ranSeconds({ started_at: null } as Job, 0)).toBeNull();
  expect(ranSeconds({ started_at: at(0), ended_at: null } as Job, 5000)).toBe(5);
  expect(ranSeconds({ started_at: at(0), ended_at: at(2000) } as Job, 5000)).toBe(2);
});
