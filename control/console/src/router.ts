/** The pages and who may see them. Everything a person looks at has an address. */

import { createRouter, createWebHistory, type RouteLocationNormalized, type Router } from "vue-router";
import { t } from "./i18n";
import JobsPage from "./pages/jobs/JobsPage.vue";
import SignInPage from "./pages/signin/SignInPage.vue";
import { useSession } from "./stores/session";

declare module "vue-router" {
  interface RouteMeta {
    title: string;
    public?: boolean;
    admin?: boolean;
    /** Shown alone, without the navigation. */
    bare?: boolean;
  }
}

export function makeRouter(): Router {
  const router = createRouter({
    history: createWebHistory(),
    routes: [
      { path: "/", redirect: "/jobs" },
      { path: "/sign-in", name: "sign-in", component: SignInPage, meta: { title: "signIn.title", public: true, bare: true } },
      { path: "/jobs", name: "jobs", component: JobsPage, meta: { title: "jobs.title" } },
      { path: "/jobs/history", name: "history", component: JobsPage, meta: { title: "jobs.history" } },
      { path: "/jobs/:id", name: "job", component: () => import("./pages/job/JobPage.vue"), meta: { title: "job.title" } },
      { path: "/redeem", name: "redeem", component: () => import("./pages/share/RedeemPage.vue"), meta: { title: "redeem.title" } },
      { path: "/hop", name: "hop", component: () => import("./pages/share/HopPage.vue"), meta: { title: "hop.title", bare: true } },
      { path: "/profile", name: "profile", component: () => import("./pages/profile/ProfilePage.vue"), meta: { title: "profile.title" } },
      { path: "/users", name: "users", component: () => import("./pages/users/UsersPage.vue"), meta: { title: "users.title", admin: true } },
      { path: "/:rest(.*)*", name: "lost", component: () => import("./pages/LostPage.vue"), meta: { title: "lost.title" } },
    ],
    scrollBehavior: (to, from, saved) => saved ?? (to.path === from.path ? undefined : { top: 0 }),
  });
  router.beforeEach(admit);
  router.afterEach((to) => {
    const subject = typeof to.params.id === "string" ? to.params.id : t(to.meta.title);
    document.title = `${subject} · ${t("brand")}`;
  });
  return router;
}

async function admit(to: RouteLocationNormalized) {
  const session = useSession();
  if (to.meta.public) return true;
  const known = await session.resume().catch(() => null);
  // The platform does not answer: the page may still show, and says so itself.
  // The way back rides in the fragment: a share code in it must not reach a server's log.
  if (known === false) return { name: "sign-in", hash: to.fullPath === "/jobs" ? "" : `#next=${encodeURIComponent(to.fullPath)}` };
  if (to.meta.admin && session.user?.role !== "admin") return { name: "lost", params: { rest: to.path.slice(1).split("/") } };
  return true;
}
