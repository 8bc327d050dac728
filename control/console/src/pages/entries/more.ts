/** What few entries need: how the app speaks, which sites' pages may call it, limits. Checked and printed here. Pure. */

import type { Entry, EntrySpec, Limits, Protocol } from "@/api/types";

export type AppProtocol = "http1" | "h2c" | "https";

/** As typed; empty where nothing is set. */
export interface More {
  appProtocol: AppProtocol;
  /** The certificate that an https app must show. */
  pin: string;
  /** One origin a line. */
  origins: string;
  connections: string;
  requests: string;
  bodyMib: string;
}

export type MoreField =
  | "app_protocol"
  | "app_pin"
  | "cors_origins"
  | "limits.connections"
  | "limits.requests_per_minute"
  | "limits.body_bytes";

export const APP_PROTOCOLS: AppProtocol[] = ["http1", "h2c", "https"];
const MIB = 2 ** 20;
const ORIGIN = /^https?:\/\/(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[1-9]\d{0,4})?$/i;
const ORIGINS = 20;
/** As `openssl x509 -noout -fingerprint -sha256` prints it, or only its digits. */
const PIN = /^(?:sha256(?: fingerprint)?\s*[:=]\s*)?(?:[0-9a-f]{64}|(?:[0-9a-f]{2}:){31}[0-9a-f]{2})$/i;

export function noMore(): More {
  return { appProtocol: "http1", pin: "", origins: "", connections: "", requests: "", bodyMib: "" };
}

export function isWeb(protocol: Protocol): boolean {
  return protocol === "http" || protocol === "https";
}

/** What an entry that exists holds, as a form shows it. */
export function moreOf(entry: Entry): More {
  const { connections, requests_per_minute, body_bytes } = entry.limits;
  return {
    appProtocol: entry.app_protocol,
    pin: entry.app_pin ?? "",
    origins: entry.cors_origins.join("\n"),
    connections: written(connections),
    requests: written(requests_per_minute),
    bodyMib: body_bytes === null ? "" : String(Math.round((body_bytes / MIB) * 1e6) / 1e6),
  };
}

export function originsOf(more: More): string[] {
  return more.origins.split(/[\s,]+/).filter(Boolean);
}

/** The limits that are set; only connections are counted where nobody speaks HTTP. */
export function limitsOf(more: More, web: boolean): Partial<Limits> {
  const limits: Partial<Limits> = {};
  if (more.connections.trim()) limits.connections = Number(more.connections);
  if (web && more.requests.trim()) limits.requests_per_minute = Number(more.requests);
  if (web && more.bodyMib.trim()) limits.body_bytes = Math.max(1, Math.round(Number(more.bodyMib) * MIB));
  return limits;
}

/** Words below `entryFault` in the i18n files, by field. */
export function faultsOfMore(more: More, web: boolean): Partial<Record<MoreField, string>> {
  const faults: Partial<Record<MoreField, string>> = {};
  const origins = originsOf(more);
  if (web && origins.length > ORIGINS) faults.cors_origins = "originsMany";
  else if (web && !origins.every((one) => ORIGIN.test(one))) faults.cors_origins = "originForm";
  if (web && more.appProtocol === "https" && more.pin.trim() && !PIN.test(more.pin.trim())) faults.app_pin = "pinForm";
  if (!counted(more.connections)) faults["limits.connections"] = "limitForm";
  if (web && !counted(more.requests)) faults["limits.requests_per_minute"] = "limitForm";
  if (web && more.bodyMib.trim() && !(Number(more.bodyMib) > 0 && Number(more.bodyMib) <= 2 ** 30))
    faults["limits.body_bytes"] = "sizeForm";
  return faults;
}

/** The fields of an EntrySpec, without those that say nothing. */
export function specOfMore(more: More, web: boolean, terminal: boolean): Partial<EntrySpec> {
  const spec: Partial<EntrySpec> = {};
  if (web && !terminal && more.appProtocol !== "http1") spec.app_protocol = more.appProtocol;
  if (spec.app_protocol === "https" && more.pin.trim()) spec.app_pin = more.pin.trim();
  if (web && originsOf(more).length) spec.cors_origins = originsOf(more);
  const limits = limitsOf(more, web);
  if (Object.keys(limits).length) spec.limits = limits;
  return spec;
}

function counted(text: string): boolean {
  return !text.trim() || (/^\d{1,7}$/.test(text.trim()) && Number(text) > 0);
}

function written(value: number | null): string {
  return value === null ? "" : String(value);
}
