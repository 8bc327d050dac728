/** The lines on a tcp entry's card are those that the programs really take. */

import { expect, test } from "vitest";
import type { Entry, Platform } from "../src/api/types";
import { asksCertificate, fileOf, speaksTls, waysOf } from "../src/pages/entries/ways";

const LABEL = "0123456789abcdef0123456789abcdef";
const PLATFORM = { ssh_host: "127.0.0.1", ports: { http: 8888, https: 8443, ssh: 8022, tcp: 8999 } } as Platform;
const entry = (change: Partial<Entry>): Entry =>
  ({
    id: 7,
    job_id: "pg-3",
    name: "db",
    protocol: "tcp",
    level: "private",
    target_port: 5432,
    label: LABEL,
    host: `${LABEL}.proxy.localhost`,
    port: 8999,
    port_kind: "fixed",
    mine: true,
    ...change,
  }) as Entry;
const line = (one: Entry, kind: string): string | undefined =>
  waysOf(one, PLATFORM, "alice").find((way) => way.kind === kind)?.line;

test("a private entry: names, certificate and key in every line", () => {
  const one = entry({});
  const tls = `--cacert 01234567.pem --cert 01234567.pem --key 01234567.pem`;
  expect(line(one, "redis")).toBe(`redis-cli -h 127.0.0.1 -p 8999 --tls --sni ${one.host} ${tls}`);
  expect(line(one, "psql")).toBe(
    `psql "host=${one.host} hostaddr=127.0.0.1 port=8999 user=postgres dbname=postgres sslmode=verify-full sslrootcert=01234567.pem sslcert=01234567.pem sslkey=01234567.pem"`,
  );
  expect(line(one, "mqtt")).toContain("--cafile 01234567.pem --cert 01234567.pem --key 01234567.pem");
  expect(line(one, "openssl")).toContain(`-connect 127.0.0.1:8999 -servername ${one.host} -CAfile`);
});

test("a name that programs can resolve is used as it is", () => {
  const one = entry({ host: "x.apps.example.com" });
  expect(line(one, "redis")).toContain("-h x.apps.example.com ");
  expect(line(one, "psql")).not.toContain("hostaddr");
});

test("an open entry on the fixed port needs nobody's certificate, one on its own port no TLS", () => {
  const fixed = entry({ level: "open" });
  expect(speaksTls(fixed)).toBe(true);
  expect(asksCertificate(fixed)).toBe(false);
  expect(fileOf(fixed)).toBe("starlight-ca.pem");
  expect(line(fixed, "redis")).toContain("--cacert starlight-ca.pem");
  expect(line(fixed, "redis")).not.toContain("--key");
  const own = entry({ level: "open", port_kind: "random", port: 40001 });
  expect(speaksTls(own)).toBe(false);
  expect(line(own, "redis")).toBe("redis-cli -h 127.0.0.1 -p 40001");
  expect(line(own, "openssl")).toBeUndefined();
});

test("tunnels carry everything else; ssh is for the owner", () => {
  expect(line(entry({}), "forward")).toBe("starlight forward 7 5432");
  expect(line(entry({ target_port: 80 }), "forward")).toBe("starlight forward 7 10080");
  expect(line(entry({}), "ssh")).toBe("ssh -N -L 5432:127.0.0.1:5432 -p 8022 alice+pg-3@127.0.0.1");
  expect(line(entry({ mine: false }), "ssh")).toBeUndefined();
});

test("MySQL and VNC go through a tunnel where the entry speaks TLS, and directly where it does not", () => {
  const through = entry({ target_port: 3306 });
  expect(line(through, "mysql")).toBe("mysql -h 127.0.0.1 -P 3306 -u root -p");
  expect(line(entry({ target_port: 5901, mine: false }), "vnc")).toBe("vncviewer 127.0.0.1::5901");
  const own = entry({ level: "open", port_kind: "random", port: 40001 });
  expect(line(own, "mysql")).toBe("mysql -h 127.0.0.1 -P 40001 -u root -p");
  expect(waysOf(own, PLATFORM, "alice").filter((way) => way.kind === "vnc")).toHaveLength(1);
});
