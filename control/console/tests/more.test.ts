/** The folded part of the entry form: what is said, what is refused, and what an entry shows again. */

import { expect, test } from "vitest";
import type { Entry } from "../src/api/types";
import { newDraft, specOf } from "../src/pages/entries/draft";
import { faultsOfMore, limitsOf, moreOf, noMore, originsOf, specOfMore, type More } from "../src/pages/entries/more";

const more = (change: Partial<More>): More => ({ ...noMore(), ...change });

test("nothing set says nothing", () => {
  expect(faultsOfMore(noMore(), true)).toEqual({});
  expect(specOfMore(noMore(), true, false)).toEqual({});
});

test("all of it reaches the API", () => {
  const whole = more({ appProtocol: "h2c", origins: "https://a.example\n http://b.example:3000 ", connections: "5", requests: "60", bodyMib: "1.5" });
  expect(specOf({ ...newDraft(), name: "app", port: "1", more: whole })).toMatchObject({
    app_protocol: "h2c",
    cors_origins: ["https://a.example", "http://b.example:3000"],
    limits: { connections: 5, requests_per_minute: 60, body_bytes: 1572864 },
  });
  expect(specOfMore(whole, true, true)).not.toHaveProperty("app_protocol");
});

test("only connections are counted where nobody speaks HTTP", () => {
  const whole = more({ origins: "x", connections: "5", requests: "no", bodyMib: "no" });
  expect(faultsOfMore(whole, false)).toEqual({});
  expect(specOfMore(whole, false, false)).toEqual({ limits: { connections: 5 } });
});

test.each<[Partial<More>, object]>([
  [{ origins: "a.example" }, { cors_origins: "originForm" }],
  [{ origins: "https://a.example/path" }, { cors_origins: "originForm" }],
  [{ origins: "*" }, { cors_origins: "originForm" }],
  [{ origins: Array.from({ length: 21 }, (_, at) => `https://a${at}.example`).join("\n") }, { cors_origins: "originsMany" }],
  [{ appProtocol: "https", pin: "ab" }, { app_pin: "pinForm" }],
  [{ connections: "0" }, { "limits.connections": "limitForm" }],
  [{ requests: "1.5" }, { "limits.requests_per_minute": "limitForm" }],
  [{ bodyMib: "-1" }, { "limits.body_bytes": "sizeForm" }],
])("%j is refused", (change, faults) => {
  expect(faultsOfMore(more(change), true)).toEqual(faults);
});

test("an entry is shown as it was filled in", () => {
  const entry = {
    app_protocol: "https",
    app_pin: "ab".repeat(32),
    cors_origins: ["https://a.example"],
    limits: { connections: 5, requests_per_minute: null, body_bytes: 1572864 },
  } as Entry;
  const shown = moreOf(entry);
  expect(shown).toEqual({ appProtocol: "https", pin: "ab".repeat(32), origins: "https://a.example", connections: "5", requests: "", bodyMib: "1.5" });
  expect(originsOf(shown)).toEqual(entry.cors_origins);
  expect(limitsOf(shown, true)).toEqual({ connections: 5, body_bytes: 1572864 });
});

test("a pin is for https apps, in any spelling of openssl", () => {
  const colons = Array(32).fill("AB").join(":");
  for (const pin of ["ab".repeat(32), colons, `sha256 Fingerprint=${colons}`, `SHA256 Fingerprint=${colons}`]) {
    expect(faultsOfMore(more({ appProtocol: "https", pin }), true)).toEqual({});
    expect(specOfMore(more({ appProtocol: "https", pin }), true, false)).toMatchObject({ app_protocol: "https", app_pin: pin });
  }
  expect(specOfMore(more({ appProtocol: "h2c", pin: colons }), true, false)).toEqual({ app_protocol: "h2c" });
});
