/** The list's whole state as an address: filters, sort and page to and from the URL's query. Pure. */

import type { LocationQuery, LocationQueryRaw } from "vue-router";
import type { Query } from "@/api/http";
import { STATES, type State, type View } from "@/api/types";

export const PER_PAGE = 50;
export const DEFAULT_SORT = "-submitted_at";

export interface ListQuery {
  cluster: string;
  name: string;
  id: string;
  partition: string;
  states: State[];
  /** Days as `2026-12-01`, in the browser's zone; both ends included. */
  from: string;
  to: string;
  sort: string;
  page: number;
}

export const EMPTY: ListQuery = {
  cluster: "",
  name: "",
  id: "",
  partition: "",
  states: [],
  from: "",
  to: "",
  sort: DEFAULT_SORT,
  page: 1,
};

export function readQuery(query: LocationQuery): ListQuery {
  const text = (key: string) => {
    const value = query[key];
    return (Array.isArray(value) ? value[0] : value) ?? "";
  };
  const states = ([] as (string | null)[]).concat(query.state ?? []);
  return {
    cluster: text("cluster"),
    name: text("name"),
    id: text("id"),
    partition: text("partition"),
    states: STATES.filter((state) => states.includes(state)),
    from: day(text("from")),
    to: day(text("to")),
    sort: /^-?[a-z_]+$/.test(text("sort")) ? text("sort") : DEFAULT_SORT,
    page: Math.max(1, Number.parseInt(text("page"), 10) || 1),
  };
}

/** Only what differs from the default stands in the URL. */
export function writeQuery(list: ListQuery): LocationQueryRaw {
  const query: LocationQueryRaw = {};
  for (const key of ["cluster", "name", "id", "partition", "from", "to"] as const) {
    if (list[key]) query[key] = list[key];
  }
  if (list.states.length) query.state = list.states;
  if (list.sort !== DEFAULT_SORT) query.sort = list.sort;
  if (list.page > 1) query.page = String(list.page);
  return query;
}

/** The same as the API asks for it. */
export function apiQuery(view: View, list: ListQuery): Query {
  return {
    view,
    cluster: list.cluster,
    name: list.name,
    id: list.id,
    partition: list.partition,
    state: list.states,
    submitted_after: list.from && startOf(list.from, 0),
    submitted_before: list.to && startOf(list.to, 1),
    sort: list.sort,
    page: list.page,
    per_page: PER_PAGE,
  };
}

export function filterCount(list: ListQuery): number {
  const texts = [list.cluster, list.name, list.id, list.partition, list.from, list.to];
  return texts.filter(Boolean).length + (list.states.length ? 1 : 0);
}

/** Ascending, descending, back to the default: what a click on a column's head does. */
export function nextSort(sort: string, field: string): string {
  if (sort === field) return `-${field}`;
  return sort === `-${field}` && field !== "submitted_at" ? DEFAULT_SORT : field;
}

function day(text: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? text : "";
}

function startOf(text: string, plusDays: number): string {
  const [year, month, date] = text.split("-").map(Number) as [number, number, number];
  return new Date(year, month - 1, date + plusDays).toISOString().replace(".000Z", "Z");
}
