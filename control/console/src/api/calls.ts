/** Every call that the pages make, by noun. */

import { api, type Query } from "./http";
import type * as T from "./types";

export const sessions = {
  open: (username: string, password: string) =>
    api<T.SignedIn>("POST", "/sessions", { body: { username, password }, anonymous: true }),
  close: () => api<void>("DELETE", "/sessions/current", { anonymous: true }),
};

export const me = {
  read: () => api<T.User>("GET", "/me", { anonymous: true }),
  setLanguage: (language: "zh" | "en") => api<T.User>("PATCH", "/me", { body: { language } }),
  setPassword: (current: string, next: string) => api<void>("PUT", "/me/password", { body: { current, new: next } }),
  keys: () => api<T.Page<T.Key>>("GET", "/me/keys"),
  addKey: (body: { name?: string; public_key: string }) => api<T.Key>("POST", "/me/keys", { body }),
  removeKey: (id: number) => api<void>("DELETE", `/me/keys/${id}`),
  tokens: () => api<T.Page<T.Token>>("GET", "/me/tokens"),
  addToken: (body: { name: string; scope: T.Token["scope"]; expires_at?: string }) =>
    api<T.Token>("POST", "/me/tokens", { body }),
  removeToken: (id: number) => api<void>("DELETE", `/me/tokens/${id}`),
};

export const users = {
  list: (query: Query) => api<T.Page<T.User>>("GET", "/users", { query }),
  add: (body: { username: string; password: string; role: string }) => api<T.User>("POST", "/users", { body }),
  change: (id: number, body: { disabled?: boolean; password?: string }) =>
    api<T.User>("PATCH", `/users/${id}`, { body }),
};

export const platform = {
  read: () => api<T.Platform>("GET", "/platform", { anonymous: true }),
  clusters: () => api<T.Cluster[]>("GET", "/clusters"),
  apps: () => api<T.App[]>("GET", "/apps"),
};

export const jobs = {
  list: (query: Query, signal?: AbortSignal) => api<T.Page<T.Job>>("GET", "/jobs", { query, signal }),
  read: (id: string, signal?: AbortSignal) => api<T.Job>("GET", `/jobs/${seg(id)}`, { signal }),
  submit: (body: T.JobSpec) => api<T.Job>("POST", "/jobs", { body }),
  act: (id: string, action: T.JobAction) => api<T.Job>("POST", `/jobs/${seg(id)}/${action}`),
  status: (id: string, signal?: AbortSignal) => api<T.JobStatus>("GET", `/jobs/${seg(id)}/status`, { signal }),
};

export const entries = {
  add: (job: string, body: T.EntrySpec) => api<T.Entry>("POST", `/jobs/${seg(job)}/entries`, { body }),
  change: (id: number, body: { level?: T.Level } & Pick<T.EntrySpec, "app_pin" | "cors_origins" | "limits" | "certificate" | "private_key" | "private_key_password">) =>
    api<T.Entry & T.Withdrawal>("PATCH", `/entries/${id}`, { body }),
  remove: (id: number) => api<T.Withdrawal>("DELETE", `/entries/${id}`),
  read: (label: string) => api<T.Entry>("GET", `/entries/${seg(label)}`),
  shared: () => api<T.Page<T.SharedEntry>>("GET", "/entries", { query: { view: "shared" } }),
};

export const clients = {
  issue: (entry: number) => api<T.MadeClientCertificate>("POST", `/entries/${entry}/client-certificate`),
  list: (entry: number) => api<T.Page<T.ClientCertificate>>("GET", `/entries/${entry}/client-certificates`),
  withdraw: (id: number) => api<T.Withdrawal>("DELETE", `/client-certificates/${id}`),
};

export const domains = {
  check: (body: Pick<T.EntrySpec, "domain" | "certificate" | "private_key" | "private_key_password" | "acme">) =>
    api<T.DomainVerdict>("POST", "/domains/check", { body }),
  look: (entry: number) => api<T.Entry>("POST", `/entries/${entry}/domain/check`),
  goOn: (entry: number) => api<T.Entry>("POST", `/entries/${entry}/domain/continue`),
  approve: (entry: number) => api<T.Entry>("POST", `/entries/${entry}/domain/approve`),
};

export const shares = {
  set: (entry: number, body: T.NewShare) => api<T.Share>("PUT", `/entries/${entry}/share`, { body }),
  read: (entry: number) => api<T.Share>("GET", `/entries/${entry}/share`),
  cancel: (entry: number) => api<T.Withdrawal>("DELETE", `/entries/${entry}/share`),
  grants: (entry: number) => api<T.Page<T.Grant>>("GET", `/entries/${entry}/share/grants`),
  removeGrant: (entry: number, grant: number) =>
    api<T.Withdrawal>("DELETE", `/entries/${entry}/share/grants/${grant}`),
  redeem: (code: string, entry?: string) =>
    api<{ entry: T.Entry; job: T.JobRef }>("POST", "/shares/redeem", { body: { code, entry } }),
};

export const hops = {
  open: (body: { entry: string; state: string; challenge: string }) => api<{ url: string }>("POST", "/hops", { body }),
};

function seg(text: string): string {
  return encodeURIComponent(text);
}

export const visits = {
  list: (entry: number) => api<T.Page<T.Visit>>("GET", `/entries/${entry}/visits`),
  cut: (id: string) => api<T.Withdrawal>("DELETE", `/visits/${encodeURIComponent(id)}`),
};
