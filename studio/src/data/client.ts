/** The client of this page's server. The browser is known by its cookie; our header says that we sent it. */

import { createClient, type Client } from "../../../src/public/client.ts";

export const client: Client = createClient({
  baseUrl: "",
  fetch: (request) => {
    const headers = new Headers(request.headers);
    headers.set("turnlog-client", "studio");
    return fetch(new Request(request, { headers }));
  },
});

const base = "/api/studio/sessions/";

/** The JSON of one of the studio's own routes about a session. */
export async function read<Answer>(
  session: string,
  path: string,
  query: Readonly<Record<string, number | string | undefined>> = {},
  signal?: AbortSignal,
): Promise<Answer> {
  return await client.http.json<Answer>({
    path: `${base}${encodeURIComponent(session)}/${path}`,
    query,
    signal,
  });
}

export function eventsUrl(session: string, from: number): string {
  return `${base}${encodeURIComponent(session)}/events?from=${from}`;
}

/** Gives the browser its cookie for a token that a person typed. */
export async function signIn(token: string): Promise<void> {
  await client.http.open({
    method: "POST",
    path: "/api/studio/sign-in",
    headers: { authorization: `Bearer ${token}` },
  });
}

/** The stable code of a refusal; undefined for other errors. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}

/** Errors of a server, or of the application that has the store open, that is not there now. */
const passing: ReadonlySet<string | undefined> = new Set([
  "SERVER_UNREACHABLE",
  "RUNTIME_CLOSED",
  "LOG_CLOSED",
]);

export const isPassing = (error: unknown): boolean => passing.has(codeOf(error));

/** Until what failed in passing is asked again. */
export const RETRY_MS = 1_500;

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
