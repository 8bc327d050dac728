/** Share links, and the way back to the entry from which a person came to redeem a code. */

import { expect, test } from "vitest";
import { readRedeemLink, wayBack } from "../src/pages/share/redeemLink";

test("a link is read from a fragment or pasted whole", () => {
  expect(readRedeemLink("#code=AB-12&entry=ff")).toEqual({ code: "AB-12", entry: "ff", back: "" });
  expect(readRedeemLink("https://c/redeem#code=AB&entry=ff&back=%2Flab%3Fx%3D1")).toEqual({ code: "AB", entry: "ff", back: "/lab?x=1" });
  expect(readRedeemLink("AB-12")).toBeNull();
  expect(readRedeemLink("#entry=ff")).toBeNull();
  expect(readRedeemLink("")).toBeNull();
});

test("the way back leads to the entry's own host and nowhere else", () => {
  const home = "http://ff.proxy.localhost:8888/";
  expect(wayBack(home, "/lab?x=1")).toBe("http://ff.proxy.localhost:8888/lab?x=1");
  expect(wayBack(home, "//evil.example/x")).toBe("http://ff.proxy.localhost:8888/evil.example/x");
  expect(wayBack(home, "/\\evil.example")).toBe("http://ff.proxy.localhost:8888/evil.example");
  expect(wayBack(home, "/\t/evil.example")).toBeNull();
  for (const bad of ["", "https://evil.example/", "javascript:alert(1)", "x"]) expect(wayBack(home, bad)).toBeNull();
  expect(wayBack(null, "/")).toBeNull();
  expect(wayBack("tls://ff:8999", "/")).toBeNull();
});
