/** Who is signed in. State: the person, and whether the sign-in overlay is up because the session was lost. */

import { defineStore } from "pinia";
import { ref } from "vue";
import { me, sessions } from "@/api/calls";
import { ApiProblem, onSessionLost, pageSecret } from "@/api/http";
import { startLive, stopLive } from "@/api/live";
import type { User } from "@/api/types";
import { apiLanguage, languageIsChosen, speak } from "@/i18n";

export const useSession = defineStore("session", () => {
  const user = ref<User | null>(null);
  const lost = ref(false);
  let waiting: Promise<boolean> | null = null;
  let settle: (back: boolean) => void = () => undefined;
  let isLeaving = false;

  onSessionLost(askAgain);
  addEventListener("storage", followOtherTab);

  /** Finds out who is here. False when nobody is; throws when the platform does not answer. */
  async function resume(): Promise<boolean> {
    if (user.value) return true;
    if (!pageSecret.read()) return false;
    try {
      await welcome(await me.read());
      return true;
    } catch (problem) {
      if (problem instanceof ApiProblem && problem.status === 401) return false;
      throw problem;
    }
  }

  async function signIn(username: string, password: string): Promise<void> {
    const answer = await sessions.open(username, password);
    const another = user.value !== null && user.value.id !== answer.user.id;
    pageSecret.keep(answer.csrf);
    if (another) return location.assign("/");
    await welcome(answer.user);
    lost.value = false;
    settle(true);
  }

  async function signOut(): Promise<void> {
    isLeaving = true; // another call that fails meanwhile is no lost session: nobody is to be asked to sign in again
    await sessions.close().catch(() => undefined);
    leave();
    isLeaving = false;
  }

  /** The person gave up on mending the session: what waited for it fails. */
  function leave(): void {
    pageSecret.forget();
    stopLive();
    user.value = null;
    lost.value = false;
    settle(false);
  }

  async function welcome(found: User): Promise<void> {
    user.value = found;
    if (!languageIsChosen()) await speak(found.language === "en" ? "en" : "zh-CN");
    else if (found.language !== apiLanguage()) void me.setLanguage(apiLanguage()).catch(() => undefined);
    startLive(() => void askAgain(), () => void checkSession());
  }

  async function checkSession(): Promise<void> {
    const problem = await me.read().then(() => null, (fault: unknown) => fault);
    if (problem instanceof ApiProblem && problem.status === 401) void askAgain();
  }

  function askAgain(): Promise<boolean> {
    if (!user.value || isLeaving) return Promise.resolve(false);
    lost.value = true;
    waiting ??= new Promise<boolean>((resolve) => {
      settle = (back) => {
        waiting = null;
        settle = () => undefined;
        resolve(back);
      };
    });
    return waiting;
  }

  // Another tab signed in or out: this one follows instead of failing at its next call.
  async function followOtherTab(event: StorageEvent): Promise<void> {
    if (!pageSecret.isKey(event.key)) return;
    if (!event.newValue) return void (user.value && askAgain());
    const found = await me.read().catch(() => null);
    if (!found) return;
    if (user.value && user.value.id !== found.id) return location.assign("/");
    if (!lost.value) return;
    await welcome(found);
    lost.value = false;
    settle(true);
  }

  return { user, lost, resume, signIn, signOut, leave };
});
