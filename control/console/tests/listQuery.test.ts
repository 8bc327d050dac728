/** The list's state survives the address bar. */

import { expect, test } from "vitest";
import { apiQuery, EMPTY, filterCount, nextSort, readQuery, writeQuery } from "../src/pages/jobs/listQuery";

test("an empty address is the default list", () => {
  expect(readQuery({})).toEqual(EMPTY);
  expect(writeQuery(EMPTY)).toEqual({});
});

test("what is written is read back", () => {
  const list = {
    cluster: "local",
    name: "训练",
    id: "jupyter-1",
    partition: "gpu",
    states: ["queued", "running"] as const,
    from: "2026-11-01",
    to: "2026-11-30",
    sort: "name",
    page: 3,
  };
  const written = writeQuery({ ...list, states: [...list.states] });
  expect(readQuery(written as never)).toEqual(list);
});

test("nonsense in the address is left out", () => {
  const list = readQuery({ state: ["running", "nonsense"], page: "-4", from: "yesterday", sort: "a;b" });
  expect(list).toEqual({ ...EMPTY, states: ["running"] });
});

test("days become moments, the last day whole", () => {
  const query = apiQuery("history", { ...EMPTY, from: "2026-11-30", to: "2026-11-30" });
  const span = Date.parse(String(query.submitted_before)) - Date.parse(String(query.submitted_after));
  expect(span).toBe(86_400_000);
});

test("filters are counted as people see them", () => {
  expect(filterCount({ ...EMPTY, name: "a", states: ["running", "queued"] })).toBe(2);
});

test("a click on a column sorts up, then down, then as before", () => {
  expect(nextSort("-submitted_at", "name")).toBe("name");
  expect(nextSort("name", "name")).toBe("-name");
  expect(nextSort("-name", "name")).toBe("-submitted_at");
  expect(nextSort("-submitted_at", "submitted_at")).toBe("submitted_at");
  expect(nextSort("submitted_at", "submitted_at")).toBe("-submitted_at");
});
