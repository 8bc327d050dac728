/** Closing a job: one question that names what ends, then the call. */

import { jobs } from "@/api/calls";
import type { Job } from "@/api/types";
import { t } from "@/i18n";
import { confirm } from "@/ui/confirm";
import { duration } from "@/ui/format";
import { toast } from "@/ui/toasts";
import { ranSeconds } from "./usage";

export function askToClose(job: Job, done: (job: Job) => void): void {
  const ran = ranSeconds(job, Date.now());
  const facts = [t("close.nodes", { n: job.nodes })];
  if (ran !== null) facts.push(t("close.ran", { time: duration(ran, t("time.day")) }));
  const ended = job.ended_at !== null;
  confirm({
    title: t("close.title"),
    text: t(ended ? "close.textEnded" : "close.text", { name: job.name, id: job.id }),
    facts: ended ? [] : facts,
    yes: t("close.yes"),
    danger: true,
    act: async () => {
      done(await jobs.act(job.id, "close"));
      toast(t("close.done", { name: job.name }));
    },
  });
}
