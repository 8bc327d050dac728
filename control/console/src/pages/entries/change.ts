/** Changing who may pass an entry, and saying honestly when a gateway has not confirmed yet. */

import { entries } from "@/api/calls";
import type { Entry, Level, Withdrawal } from "@/api/types";
import { t } from "@/i18n";
import { confirm } from "@/ui/confirm";
import { dateTime } from "@/ui/format";
import { toast } from "@/ui/toasts";

/** Opening an entry to everybody is asked about first; the other levels are set at once. */
export async function askForLevel(entry: Entry, level: Level, done: () => void): Promise<void> {
  const act = async () => {
    const answer = await entries.change(entry.id, { level });
    sayWithdrawn(answer, t("entry.levelSet", { name: entry.name, level: t(`level.${level}`) }));
    done();
  };
  if (level !== "open") return act();
  confirm({
    title: t("entry.openTitle"),
    text: t("entry.openText", { name: entry.name }),
    yes: t("entry.openYes"),
    danger: true,
    act,
  });
}

export function sayWithdrawn(answer: Withdrawal | undefined, good: string): void {
  if (!answer?.pending?.length) return toast(good);
  toast(t("entry.pending", { gateways: answer.pending.join(", "), time: answer.stops_by ? dateTime(answer.stops_by) : "–" }), true);
}
