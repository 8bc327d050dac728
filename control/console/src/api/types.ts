/** The API's shapes, field for field. Times are RFC 3339 UTC, sizes bytes. */

export const STATES = [
  "queued",
  "creating",
  "running",
  "suspended",
  "finished",
  "failed",
  "create_failed",
  "cancelled",
  "abnormal_exit",
  "unknown",
  "fault",
] as const;
export type State = (typeof STATES)[number];
export type View = "running" | "history";
export type JobAction = "close" | "suspend" | "resume";
export type Protocol = "http" | "https" | "ssh" | "tcp";
export type Level = "private" | "login" | "open";

export interface Page<T> {
  items: T[];
  total: number;
  page: number;
  per_page: number;
}

export interface User {
  id: number;
  username: string;
  role: "user" | "admin";
  language: "zh" | "en";
  disabled: boolean;
  created_at: string;
}

export interface SignedIn {
  token: string;
  csrf: string;
  user: User;
  expires_at: string;
}

export interface Key {
  id: number;
  name: string;
  fingerprint: string;
  public_key: string;
  created_at: string;
}

export interface Token {
  id: number;
  name: string;
  scope: "api" | "entry:connect";
  entry_id: number | null;
  created_at: string;
  expires_at: string | null;
  token?: string;
}

export interface Platform {
  version: string;
  console_url: string;
  base_domain: string;
  ssh_host: string;
  public_address: string | null;
  ports: { http: number; https: number; ssh: number; tcp: number };
  random_ports: { first: number; last: number };
  authority: string | null;
  /** Null where no authority is set that gives certificates by itself. */
  acme: AcmeWay[] | null;
}

export interface Partition {
  name: string;
  nodes: number;
  cpus: number;
  gpus: number;
  memory_bytes: number;
  free_cpus: number | null;
  free_memory_bytes: number | null;
  default: boolean;
}

export interface Cluster {
  name: string;
  kind: string;
  healthy: boolean;
  message: string | null;
  default: boolean;
  partitions: Partition[];
  capabilities: Record<string, unknown>;
}

/** What an entry's owner allows at most; null: no limit of theirs. */
export interface Limits {
  connections: number | null;
  requests_per_minute: number | null;
  body_bytes: number | null;
}

export interface EntrySpec {
  name: string;
  protocol: Protocol;
  level?: Level;
  target_port?: number | "auto";
  port?: "fixed" | "random";
  service?: "port" | "terminal";
  app_protocol?: "http1" | "h2c" | "https";
  app_pin?: string | null;
  cors_origins?: string[];
  limits?: Partial<Limits>;
  domain?: string;
  certificate?: string;
  private_key?: string;
  private_key_password?: string;
  acme?: boolean;
  acme_challenge?: Challenge;
}

/** The certificate of an entry's own domain. `warning` from 30 days before its end. */
export interface Certificate {
  subject: string;
  sans: string[];
  not_after: string;
  issuer: string;
  days_left: number;
  warning: "expiring" | "expired" | null;
}

/** How an authority that gives certificates by itself (ACME) looks at a domain. */
export type Challenge = "http-01" | "tls-alpn-01" | "dns-01";

export interface AcmeWay {
  challenge: Challenge;
  /** The port that it calls, and ours that has to be behind it; null for dns-01. */
  world_port: number | null;
  our_port: number | null;
  message: string;
}

export interface AcmeState {
  challenge: Challenge;
  stage: "waiting" | "by_hand" | "looking" | "issuing" | "issued" | "failed";
  txt_name: string | null;
  txt_value: string | null;
  complaint: string | null;
  complained_at: string | null;
  next_try_at: string | null;
  renews_at: string | null;
  message: string;
}

/** How far an entry's own domain is; `proof` null: nobody knows yet whose it is. */
export interface DomainState {
  domain: string;
  proof: "chain" | "dns" | "admin" | "acme" | null;
  txt_name: string;
  txt_value: string | null;
  public_address: string | null;
  points: "yes" | "no" | "unknown";
  addresses: string[];
  checked_at: string | null;
  message: string | null;
  acme: AcmeState | null;
}

export interface DomainVerdict extends DomainState {
  certificate: Certificate | null;
}

export interface App {
  name: string;
  title: string;
  description: string;
  image: string | null;
  command: string[];
  entries: EntrySpec[];
  install: { state: "ready" | "absent" | "installing" | "failed"; progress: number | null; message: string | null };
}

export interface Entry {
  id: number;
  job_id: string;
  name: string;
  protocol: Protocol;
  level: Level;
  target_port: number | null;
  service: "port" | "terminal";
  app_protocol: "http1" | "h2c" | "https";
  app_pin: string | null;
  cors_origins: string[];
  limits: Limits;
  label: string;
  host: string;
  port: number | null;
  port_kind: "fixed" | "random";
  url: string | null;
  ssh_command: string | null;
  active: boolean;
  shared: boolean;
  message: string | null;
  domain: string | null;
  certificate: Certificate | null;
  domain_state: DomainState | null;
  owner: string;
  mine: boolean;
}

export interface ClientCertificate {
  id: number;
  entry_id: number;
  user: string;
  serial: string;
  fingerprint: string;
  created_at: string;
  expires_at: string;
}

export interface MadeClientCertificate extends ClientCertificate {
  certificate: string;
  private_key: string;
  authority: string;
  pem: string;
  file_name: string;
}

export interface Job {
  id: string;
  name: string;
  owner: string;
  app: string | null;
  cluster: string;
  partition: string;
  state: State;
  reason: string | null;
  message: string | null;
  node: string | null;
  nodes: number;
  cpus: number;
  gpus: number;
  memory_bytes: number | null;
  time_limit_s: number | null;
  core_hours: number;
  submitted_at: string;
  scheduled_at: string | null;
  started_at: string | null;
  released_at: string | null;
  ended_at: string | null;
  exit_code: number | null;
  work_dir: string;
  image: string | null;
  command: string[];
  view: View;
  actions: JobAction[];
  closing: boolean;
  revision: number;
  entries: Entry[];
}

export interface JobSpec {
  name?: string;
  app?: string;
  cluster?: string;
  partition?: string;
  command?: string[];
  cpus?: number;
  memory_bytes?: number;
  time_limit_s?: number;
  entries?: EntrySpec[];
  ssh_default?: boolean;
  client_key?: string;
}

export interface Condition {
  type: string;
  ok: boolean;
  reason: string | null;
  message: string | null;
  since: string | null;
}

export interface JobEvent {
  at: string;
  kind: "Normal" | "Warning";
  reason: string;
  message: string;
}

export interface JobStatus {
  status: string;
  conditions: Condition[];
  events: JobEvent[];
  text: string;
}

export interface JobRef {
  id: string;
  name: string;
  owner: string;
  state: State;
}

export interface SharedEntry {
  entry: Entry;
  job: JobRef;
  granted_at: string;
  expires_at: string | null;
}

export interface Share {
  code: string;
  generated: boolean;
  link: string;
  expires_at: string | null;
  max_uses: number | null;
  uses: number;
  created_at: string;
}

export interface NewShare {
  code?: string;
  expires_at?: string;
  max_uses?: number;
}

export interface Grant {
  id: number;
  user: { id: number; username: string };
  created_at: string;
  expires_at: string | null;
}

/** What a withdrawal answers: gateways that had not confirmed within a second, and when they stop at the latest. */
export interface Withdrawal {
  pending: string[];
  stops_by: string | null;
}

/** A live connection through an entry; `user` null: somebody who did not sign in. */
export interface Visit {
  id: string;
  entry_id: number;
  user: { id: number; username: string } | null;
  address: string;
  protocol: string;
  since: string;
  bytes_in: number;
  bytes_out: number;
  gateway: string;
}
