/** The submit form's facts: what is wrong while typing, and the JobSpec that it makes. Pure. */

import type { App, EntrySpec, Job, JobSpec } from "@/api/types";
import { joinCommand, needsShell, splitCommand } from "@/ui/command";
import { faultsOf, specOf, takenBy, type Draft, type Taken } from "../entries/draft";

export const GIB = 2 ** 30;

export interface SubmitForm {
  /** An app's name, or "" for a command of one's own. */
  app: string;
  name: string;
  command: string;
  cluster: string;
  partition: string;
  cpus: number;
  /** Empty: the partition's default. */
  memoryGib: number | undefined;
  hours: number | undefined;
  entries: Draft[];
  sshDefault: boolean;
}

export type SubmitField = "name" | "command";

export function newForm(app: string): SubmitForm {
  return {
    app,
    name: "",
    command: "",
    cluster: "",
    partition: "",
    cpus: 1,
    memoryGib: undefined,
    hours: undefined,
    entries: [],
    sshDefault: true,
  };
}

/** Submitting again: the same wish as an earlier job's. Its entries come from its app; others are added again by hand. */
export function formLike(job: Job): SubmitForm {
  const shell = job.command[0] === "bash" && job.command[1] === "-c" && job.command.length === 3;
  return {
    ...newForm(job.app ?? ""),
    name: job.name,
    command: job.app ? "" : shell ? job.command[2]! : joinCommand(job.command),
    cluster: job.cluster,
    partition: job.partition,
    cpus: job.cpus,
    memoryGib: job.memory_bytes ? Math.round((job.memory_bytes / GIB) * 100) / 100 : undefined,
    hours: job.time_limit_s ? Math.round((job.time_limit_s / 3600) * 100) / 100 : undefined,
  };
}

export function submitFaults(form: SubmitForm): Partial<Record<SubmitField, string>> {
  const faults: Partial<Record<SubmitField, string>> = {};
  const name = form.name.trim();
  if (name.length > 128) faults.name = "nameLong";
  // eslint-disable-next-line no-control-regex
  else if (/[+%#@:/\u0000-\u001f\u007f]/.test(name)) faults.name = "nameForm";
  else if (name === "home") faults.name = "nameHome";
  if (form.app) return faults;
  if (!form.command.trim()) faults.command = "commandMissing";
  else if (commandOf(form.command) === null) faults.command = "commandQuote";
  return faults;
}

/** The words to run; a line that needs a shell is given to one. Null when a quote stays open. */
export function commandOf(line: string): string[] | null {
  if (needsShell(line.trim())) return ["bash", "-c", line.trim()];
  return splitCommand(line.trim());
}

/** Names and ports that the entry at `index` may not use: the app's, ssh-default's, the other drafts'. */
export function takenFor(form: SubmitForm, app: App | undefined, index: number): Taken {
  const others = form.entries.filter((_, at) => at !== index);
  const own = takenBy(app?.entries ?? []);
  const ports = others.filter((draft) => !draft.terminal && !draft.auto).map((draft) => Number(draft.port));
  return { names: [...own.names, ...others.map((draft) => draft.name.trim())], ports: [...own.ports, ...ports] };
}

export function isReady(form: SubmitForm, app: App | undefined): boolean {
  if (Object.keys(submitFaults(form)).length) return false;
  return form.entries.every((draft, at) => !Object.keys(faultsOf(draft, takenFor(form, app, at))).length);
}

export function specFrom(form: SubmitForm, app: App | undefined, clientKey: string): JobSpec {
  const extra: EntrySpec[] = form.entries.map(specOf);
  const spec: JobSpec = { cpus: form.cpus, client_key: clientKey };
  if (form.name.trim()) spec.name = form.name.trim();
  if (form.app) spec.app = form.app;
  else spec.command = commandOf(form.command) ?? [];
  if (form.cluster) spec.cluster = form.cluster;
  if (form.partition) spec.partition = form.partition;
  if (form.memoryGib) spec.memory_bytes = Math.round(form.memoryGib * GIB);
  if (form.hours) spec.time_limit_s = Math.round(form.hours * 3600);
  if (extra.length) spec.entries = [...(app?.entries ?? []), ...extra];
  if (!form.sshDefault) spec.ssh_default = false;
  return spec;
}
