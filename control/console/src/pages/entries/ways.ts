/** The exact lines by which programs reach a tcp entry. Pure. */

import type { Entry, Platform } from "@/api/types";

export interface Way {
  /** A word below `entry.way` in the i18n files. */
  kind: "redis" | "psql" | "mqtt" | "openssl" | "netcat" | "forward" | "ssh" | "mysql" | "vnc";
  line: string;
}

/** Whether the entry is reached through TLS: all but an open one on a port of its own. */
export function speaksTls(entry: Entry): boolean {
  return entry.protocol === "tcp" && !(entry.level === "open" && entry.port_kind === "random");
}

/** Whether who comes must show a client certificate. */
export function asksCertificate(entry: Entry): boolean {
  return entry.protocol === "tcp" && entry.level !== "open";
}

/** The file that the download button gives: certificate, key, and the authority to trust, in one. */
export function fileOf(entry: Entry): string {
  return asksCertificate(entry) ? `${entry.label.slice(0, 8)}.pem` : "starlight-ca.pem";
}

/** Every line, in the order of the card. `user` is who reads it. */
export function waysOf(entry: Entry, platform: Platform, user: string): Way[] {
  const direct = speaksTls(entry) ? tlsWays(entry, platform) : plainWays(entry, platform);
  return [...direct, ...tunnels(entry, platform, user)];
}

function tlsWays(entry: Entry, platform: Platform): Way[] {
  const { host, port } = entry;
  const file = fileOf(entry);
  // Programs other than browsers do not resolve names below .localhost: they are told the address apart.
  const local = host.endsWith(".localhost");
  const address = local ? platform.ssh_host : host;
  const proof = asksCertificate(entry);
  const options = (ca: string, cert: string, key: string) =>
    [`${ca} ${file}`, ...(proof ? [`${cert} ${file}`, `${key} ${file}`] : [])].join(" ");
  const told = [
    `host=${host}`,
    ...(local ? [`hostaddr=${address}`] : []),
    `port=${port} user=postgres dbname=postgres sslmode=verify-full sslrootcert=${file}`,
    ...(proof ? [`sslcert=${file} sslkey=${file}`] : []),
  ];
  return [
    { kind: "redis", line: `redis-cli -h ${address} -p ${port} --tls --sni ${host} ${options("--cacert", "--cert", "--key")}` },
    { kind: "psql", line: `psql "${told.join(" ")}"` },
    { kind: "mqtt", line: `mosquitto_pub -h ${host} -p ${port} ${options("--cafile", "--cert", "--key")} -t test -m hello` },
    { kind: "openssl", line: `openssl s_client -connect ${address}:${port} -servername ${host} ${options("-CAfile", "-cert", "-key")}` },
  ];
}

function plainWays(entry: Entry, platform: Platform): Way[] {
  const at = { host: platform.ssh_host, port: entry.port };
  return [
    { kind: "redis", line: `redis-cli -h ${at.host} -p ${at.port}` },
    { kind: "psql", line: `psql "host=${at.host} port=${at.port} user=postgres dbname=postgres"` },
    { kind: "mqtt", line: `mosquitto_pub -h ${at.host} -p ${at.port} -t test -m hello` },
    { kind: "netcat", line: `nc -N ${at.host} ${at.port}` },
    ...nameless(at.host, at.port),
  ];
}

/** Programs that cannot name an entry through TLS: the server speaks first (MySQL), or there is no TLS (VNC). */
function nameless(host: string, port: number | null): Way[] {
  return [
    { kind: "mysql", line: `mysql -h ${host} -P ${port} -u root -p` },
    { kind: "vnc", line: `vncviewer ${host}::${port}` },
  ];
}

/** What carries any protocol to a port of the reader's machine, and the programs that need just that. */
function tunnels(entry: Entry, platform: Platform, user: string): Way[] {
  const target = entry.target_port ?? 0;
  const port = target >= 1024 ? target : 10000 + target;
  const forward: Way = { kind: "forward", line: `starlight forward ${entry.id} ${port}` };
  const login = `${user}+${entry.job_id}@${platform.ssh_host}`;
  const ssh: Way = { kind: "ssh", line: `ssh -N -L ${port}:127.0.0.1:${target} -p ${platform.ports.ssh} ${login}` };
  const after = speaksTls(entry) ? nameless("127.0.0.1", port) : [];
  return [forward, ...(entry.mine ? [ssh] : []), ...after];
}
