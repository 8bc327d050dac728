/** Which columns the two lists show, in the manual's order. */

import type { View } from "@/api/types";

export type ColumnKey =
  | "name"
  | "id"
  | "partition"
  | "app"
  | "core_hours"
  | "state"
  | "submitted_at"
  | "started_at"
  | "ended_at"
  | "node";

export interface Column {
  key: ColumnKey;
  /** The field that the server sorts by; none where it cannot. */
  sort?: string;
  number?: boolean;
}

const ALL: Record<ColumnKey, Column> = {
  name: { key: "name", sort: "name" },
  id: { key: "id", sort: "id" },
  partition: { key: "partition", sort: "partition" },
  app: { key: "app", sort: "app" },
  core_hours: { key: "core_hours", number: true },
  state: { key: "state", sort: "state" },
  submitted_at: { key: "submitted_at", sort: "submitted_at" },
  started_at: { key: "started_at", sort: "started_at" },
  ended_at: { key: "ended_at", sort: "ended_at" },
  node: { key: "node", sort: "node" },
};
const RUNNING: ColumnKey[] = ["name", "id", "partition", "app", "core_hours", "state", "node"];
const HISTORY: ColumnKey[] = ["name", "id", "partition", "core_hours", "state", "submitted_at", "started_at", "ended_at", "node"];

export function columnsOf(view: View): Column[] {
  return (view === "running" ? RUNNING : HISTORY).map((key) => ALL[key]);
}
