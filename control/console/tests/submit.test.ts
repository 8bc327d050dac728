/** The submit form becomes the job that was meant. */

import { expect, test } from "vitest";
import type { App, Job } from "../src/api/types";
import { newDraft } from "../src/pages/entries/draft";
import { commandOf, formLike, isReady, newForm, specFrom, submitFaults, takenFor } from "../src/pages/submit/form";

const APP = { name: "jupyterlab", entries: [{ name: "jupyter", protocol: "http", target_port: "auto" }] } as App;

test("an app needs nothing else", () => {
  const form = newForm("jupyterlab");
  expect(isReady(form, APP)).toBe(true);
  expect(specFrom(form, APP, "k")).toEqual({ app: "jupyterlab", cpus: 1, client_key: "k" });
});

test("a command of one's own must be there and closed", () => {
  expect(submitFaults(newForm(""))).toEqual({ command: "commandMissing" });
  expect(submitFaults({ ...newForm(""), command: `echo "x` })).toEqual({ command: "commandQuote" });
});

test.each(["a/b", "a:b", "a@b", "a+b", "a%b", "a#b", "a\tb"])("the name %j is refused", (name) => {
  expect(submitFaults({ ...newForm("jupyterlab"), name })).toEqual({ name: "nameForm" });
});

test("home is nobody's name", () => {
  expect(submitFaults({ ...newForm("jupyterlab"), name: "home" })).toEqual({ name: "nameHome" });
});

test("a line for a shell is given to one", () => {
  expect(commandOf("python x.py")).toEqual(["python", "x.py"]);
  expect(commandOf("cat *.txt | wc -l")).toEqual(["bash", "-c", "cat *.txt | wc -l"]);
});

test("sizes and limits are in the API's units", () => {
  const form = { ...newForm(""), command: "sleep 1", memoryGib: 1.5, hours: 0.5, cpus: 2, sshDefault: false };
  expect(specFrom(form, undefined, "k")).toMatchObject({
    command: ["sleep", "1"],
    memory_bytes: 1.5 * 2 ** 30,
    time_limit_s: 1800,
    cpus: 2,
    ssh_default: false,
  });
});

test("added entries stand beside the app's own and may not clash with them", () => {
  const form = { ...newForm("jupyterlab"), entries: [{ ...newDraft(), name: "jupyter", port: "6006" }] };
  expect(isReady(form, APP)).toBe(false);
  form.entries[0]!.name = "tensorboard";
  expect(isReady(form, APP)).toBe(true);
  expect(specFrom(form, APP, "k").entries?.map((entry) => entry.name)).toEqual(["jupyter", "tensorboard"]);
  expect(takenFor({ ...form, entries: [...form.entries, newDraft()] }, APP, 1).ports).toEqual([6006]);
});

test("submitting again asks for the same", () => {
  const job = {
    app: null,
    name: "train",
    command: ["bash", "-c", "a | b"],
    cluster: "local",
    partition: "default",
    cpus: 4,
    memory_bytes: 2 ** 31,
    time_limit_s: 5400,
  } as Job;
  expect(formLike(job)).toMatchObject({ app: "", name: "train", command: "a | b", cpus: 4, memoryGib: 2, hours: 1.5 });
  expect(formLike({ ...job, command: ["echo", "a b"] }).command).toBe("echo 'a b'");
});
