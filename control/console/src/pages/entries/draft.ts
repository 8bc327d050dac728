/** An entry as it is being filled in: checked while typing, and turned into the API's EntrySpec. Pure. */

import type { Challenge, EntrySpec, Level, Protocol } from "@/api/types";
import { faultsOfMore, isWeb, noMore, specOfMore, type More, type MoreField } from "./more";

export interface Draft {
  name: string;
  protocol: Protocol;
  /** A port of its own instead of the protocol's fixed one. */
  random: boolean;
  level: Level;
  port: string;
  /** The platform picks the target port and tells the job (only before it starts). */
  auto: boolean;
  terminal: boolean;
  more: More;
  /** A domain of one's own with its certificate; https only. */
  own: Pair;
}

/** A domain and the texts of its files; empty where nothing was chosen. */
export interface Pair {
  domain: string;
  certificate: string;
  certificateName: string;
  privateKey: string;
  privateKeyName: string;
  password: string;
  /** How an authority that is asked for the certificate looks at the domain; null where its owner brings the files. */
  acme: Challenge | null;
}

export type Field =
  | "name"
  | "protocol"
  | "level"
  | "port"
  | "target_port"
  | "domain"
  | "certificate"
  | "private_key"
  | "private_key_password"
  | "acme"
  | "acme_challenge"
  | MoreField;
/** Words below `entryFault` in the i18n files, by field. */
export type Faults = Partial<Record<Field, string>>;
export interface Taken {
  names: string[];
  ports: number[];
}

const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N}_. -]*[\p{L}\p{N}_.-])?$/u;

export function newDraft(): Draft {
  return {
    name: "",
    protocol: "http",
    random: false,
    level: "private",
    port: "",
    auto: false,
    terminal: false,
    more: noMore(),
    own: noPair(),
  };
}

export function noPair(): Pair {
  return { domain: "", certificate: "", certificateName: "", privateKey: "", privateKeyName: "", password: "", acme: null };
}

/** What the rules of the platform make of a draft: a terminal is a web page, and never open. */
export function settle(draft: Draft): Draft {
  const next = { ...draft, terminal: draft.terminal && isWeb(draft.protocol) };
  if (next.terminal && next.level === "open") next.level = "private";
  return next;
}

export function faultsOf(draft: Draft, taken: Taken): Faults {
  const faults: Faults = {};
  const name = draft.name.trim();
  if (!name) faults.name = "nameMissing";
  else if (name.length > 63) faults.name = "nameLong";
  else if (!NAME.test(name)) faults.name = "nameForm";
  else if (taken.names.includes(name)) faults.name = "nameTaken";
  if (draft.protocol === "ssh" && draft.level === "open" && !draft.random) faults.level = "sshOpen";
  if (draft.protocol === "https" && draft.own.domain.trim() && !draft.own.acme) {
    if (!draft.own.certificate) faults.certificate = "certificateMissing";
    if (!draft.own.privateKey) faults.private_key = "privateKeyMissing";
  }
  Object.assign(faults, faultsOfMore(draft.more, isWeb(draft.protocol)));
  if (draft.terminal || draft.auto) return faults;
  const port = Number(draft.port);
  if (!draft.port.trim()) faults.target_port = "portMissing";
  else if (!/^\d+$/.test(draft.port.trim()) || port < 1 || port > 65535) faults.target_port = "portForm";
  else if (taken.ports.includes(port)) faults.target_port = "portTaken";
  return faults;
}

export function specOf(draft: Draft): EntrySpec {
  const spec: EntrySpec = {
    name: draft.name.trim(),
    protocol: draft.protocol,
    level: draft.level,
    port: draft.random ? "random" : "fixed",
  };
  if (draft.terminal) spec.service = "terminal";
  else spec.target_port = draft.auto ? "auto" : Number(draft.port);
  Object.assign(spec, specOfMore(draft.more, isWeb(draft.protocol), draft.terminal));
  const domain = draft.own.domain.trim();
  if (draft.protocol === "https" && domain) Object.assign(spec, { domain }, pairOf(draft.own));
  return spec;
}

/** What serves the domain, for the API: the files, or the wish that an authority is asked for them. */
export function pairOf(own: Pair): Partial<EntrySpec> {
  if (own.acme) return { acme: true, acme_challenge: own.acme };
  const files = { certificate: own.certificate, private_key: own.privateKey };
  return own.password ? { ...files, private_key_password: own.password } : files;
}

export function takenBy(entries: { name: string; target_port?: number | "auto" | null }[]): Taken {
  const ports = entries.map((entry) => entry.target_port).filter((port) => typeof port === "number");
  return { names: entries.map((entry) => entry.name), ports };
}
