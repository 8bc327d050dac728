/** The entry form knows the platform's rules before the platform is asked. */

import { expect, test } from "vitest";
import { faultsOf, newDraft, noPair, settle, specOf, takenBy, type Draft } from "../src/pages/entries/draft";

const FREE = { names: [], ports: [] };
const draft = (change: Partial<Draft>): Draft => ({ ...newDraft(), name: "app", port: "8888", ...change });

test("a good draft has no faults", () => {
  expect(faultsOf(draft({}), FREE)).toEqual({});
});

test.each<[Partial<Draft>, object]>([
  [{ name: " " }, { name: "nameMissing" }],
  [{ name: "a/b" }, { name: "nameForm" }],
  [{ name: "-x" }, { name: "nameForm" }],
  [{ name: "x".repeat(64) }, { name: "nameLong" }],
  [{ port: "" }, { target_port: "portMissing" }],
  [{ port: "0" }, { target_port: "portForm" }],
  [{ port: "65536" }, { target_port: "portForm" }],
  [{ port: "80.5" }, { target_port: "portForm" }],
  [{ protocol: "ssh", level: "open" }, { level: "sshOpen" }],
])("%j is refused", (change, faults) => {
  expect(faultsOf(draft(change), FREE)).toEqual(faults);
});

test("Chinese names are names", () => {
  expect(faultsOf(draft({ name: "监控 面板" }), FREE)).toEqual({});
});

test("names and target ports of the job's other entries are taken", () => {
  const taken = takenBy([{ name: "app", target_port: 8888 }, { name: "web-terminal", target_port: null }]);
  expect(faultsOf(draft({}), taken)).toEqual({ name: "nameTaken", target_port: "portTaken" });
});

test("a terminal and an automatic port need no target port", () => {
  expect(faultsOf(draft({ terminal: true, port: "" }), FREE)).toEqual({});
  expect(faultsOf(draft({ auto: true, port: "" }), FREE)).toEqual({});
});

test("a tcp entry may have any level, on any port", () => {
  expect(settle(draft({ protocol: "tcp" }))).toMatchObject({ random: false, level: "private" });
  expect(settle(draft({ protocol: "tcp", random: true, level: "login" }))).toMatchObject({ random: true, level: "login" });
});

test("a terminal is a web page and never open", () => {
  expect(settle(draft({ terminal: true, protocol: "ssh" })).terminal).toBe(false);
  expect(settle(draft({ terminal: true, level: "open" })).level).toBe("private");
});

test("the API gets what the form shows", () => {
  expect(specOf(draft({ name: " app ", random: true }))).toEqual({
    name: "app",
    protocol: "http",
    level: "private",
    port: "random",
    target_port: 8888,
  });
  expect(specOf(draft({ terminal: true }))).toEqual({
    name: "app",
    protocol: "http",
    level: "private",
    port: "fixed",
    service: "terminal",
  });
  expect(specOf(draft({ auto: true }))).toMatchObject({ target_port: "auto" });
});

test("a domain whose certificate is made by itself brings no files", () => {
  const own = { ...noPair(), domain: "lab.example.org", certificate: "left over", acme: "dns-01" as const };
  expect(faultsOf(draft({ protocol: "https", own }), FREE)).toEqual({});
  const spec = specOf(draft({ protocol: "https", own }));
  expect(spec).toMatchObject({ domain: "lab.example.org", acme: true, acme_challenge: "dns-01" });
  expect(spec).not.toHaveProperty("certificate");
});

test("a domain of one's own brings its two files, on https only", () => {
  const own = { ...noPair(), domain: " lab.example.org " };
  expect(faultsOf(draft({ protocol: "https", own }), FREE)).toEqual({
    certificate: "certificateMissing",
    private_key: "privateKeyMissing",
  });
  expect(faultsOf(draft({ own }), FREE)).toEqual({});
  const whole = { ...own, certificate: "c", privateKey: "k" };
  expect(specOf(draft({ protocol: "https", own: whole }))).toMatchObject({
    domain: "lab.example.org",
    certificate: "c",
    private_key: "k",
  });
  expect(specOf(draft({ protocol: "https", own: { ...whole, password: "p" } })).private_key_password).toBe("p");
  expect(specOf(draft({ own: whole }))).not.toHaveProperty("domain");
});
