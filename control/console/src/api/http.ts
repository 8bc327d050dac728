/**
 * One call of the API: JSON in and out, problems as ApiProblem, a lost session mended in place.
 * State: the page's secret (CSRF), kept in localStorage; the cookie beside it authorises nothing alone.
 */

import { apiLanguage } from "@/i18n";

const SECRET_KEY = "starlight.csrf";

export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly title: string,
    readonly detail: string,
    readonly fields: Record<string, string> = {},
    readonly retryAfterS: number | null = null,
  ) {
    super(detail || title);
  }
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type Query = Record<string, string | number | string[] | null | undefined>;
export interface CallOptions {
  body?: unknown;
  query?: Query;
  signal?: AbortSignal;
  /** A call that is itself the way in (sign-in, "who am I") does not ask the person to sign in again. */
  anonymous?: boolean;
}

let signInAgain: () => Promise<boolean> = async () => false;

/** Names who mends a lost session: resolves true when the person is back and the call may be tried again. */
export function onSessionLost(mend: () => Promise<boolean>): void {
  signInAgain = mend;
}

export const pageSecret = {
  read: () => localStorage.getItem(SECRET_KEY),
  keep: (secret: string) => localStorage.setItem(SECRET_KEY, secret),
  forget: () => localStorage.removeItem(SECRET_KEY),
  isKey: (key: string | null) => key === SECRET_KEY,
};

/** The parsed answer. Throws ApiProblem for every answer >= 400 and when the network is away (status 0). */
export async function api<T>(method: Method, path: string, options: CallOptions = {}): Promise<T> {
  const answer = await raw(method, path, options);
  const text = await answer.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** The answer itself, for bytes. Throws as `api` does. */
export async function raw(method: Method, path: string, options: CallOptions = {}): Promise<Response> {
  let answer = await send(method, path, options);
  if (answer.status === 401 && !options.anonymous && (await signInAgain())) answer = await send(method, path, options);
  if (!answer.ok) throw await problemOf(answer);
  return answer;
}

async function send(method: Method, path: string, options: CallOptions): Promise<Response> {
  const headers: Record<string, string> = { "Accept-Language": apiLanguage() };
  const secret = pageSecret.read();
  if (secret) headers["X-CSRF-Token"] = secret;
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  const body = options.body === undefined ? undefined : JSON.stringify(options.body);
  try {
    return await fetch(urlOf(path, options.query), { method, headers, body, signal: options.signal });
  } catch (fault) {
    if (options.signal?.aborted) throw fault;
    throw new ApiProblem(0, "network", "", "");
  }
}

export function urlOf(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") search.append(name, String(one));
    }
  }
  const text = search.toString();
  return `/api/v1${path}${text ? `?${text}` : ""}`;
}

async function problemOf(answer: Response): Promise<ApiProblem> {
  try {
    const plain = await answer.json();
    return new ApiProblem(
      answer.status,
      String(plain.code ?? "unexpected"),
      String(plain.title ?? ""),
      String(plain.detail ?? ""),
      plain.fields ?? {},
      typeof plain.retry_after_s === "number" ? plain.retry_after_s : null,
    );
  } catch {
    return new ApiProblem(answer.status, "unexpected", "", "");
  }
}

/** A WebSocket of the API, opened with the page's secret; browsers send the cookie and the Origin themselves. */
export function openSocket(path: string, query: Query = {}): WebSocket {
  const url = new URL(urlOf(path, { ...query, language: apiLanguage() }), location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(url, ["starlight", `csrf.${pageSecret.read() ?? ""}`]);
}
