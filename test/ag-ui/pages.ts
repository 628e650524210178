/** Pages with the official client of AG-UI, on servers of a test. */

import { HttpAgent, type BaseEvent, type RunAgentInput } from "@ag-ui/client";

/** `HttpAgent` leaves `connect` to its users. */
class Page extends HttpAgent {
  /** What has come, of all runs. */
  readonly seen: BaseEvent[] = [];

  protected override connect(input: RunAgentInput): ReturnType<HttpAgent["run"]> {
    const { url, headers, fetch } = this;
    return new HttpAgent({ url: `${url}/connect`, headers, fetch }).run(input);
  }

  /** Says something. */
  async say(content: string, id = content): Promise<void> {
    this.addMessage({ id, role: "user", content });
    await this.runAgent();
  }

  get has(): { readonly messages: unknown; readonly state: unknown } {
    const { messages } = this;
    const state: unknown = this.state;
    return { messages, state };
  }

  get said(): readonly unknown[] {
    return this.messages.map(({ content }) => content);
  }

  get types(): readonly string[] {
    return this.seen.map(({ type }) => type);
  }
}
export type { Page };

/** What answers requests: a server, or a listening one. */
export interface Served {
  readonly url?: string;
  readonly token?: string | undefined;
  readonly fetch?: (request: Request) => Promise<Response>;
  readonly headers?: Readonly<Record<string, string>>;
}

export function pageOf(
  { url = "http://localhost", token, fetch, headers = {} }: Served,
  threadId = "t",
): Page {
  const login = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const page = new Page({
    url: `${url}/api/ag-ui`,
    threadId,
    headers: { ...login, ...headers },
    ...(fetch === undefined ? {} : { fetch: (to, init) => fetch(new Request(to, init)) }),
  });
  page.subscribe({ onEvent: ({ event }) => void page.seen.push(event) });
  return page;
}

/** A request without the client, which would refuse to send some. */
export async function posted(
  { url = "http://localhost", token, fetch = globalThis.fetch, headers = {} }: Served,
  body: object,
  path = "/api/ag-ui",
): Promise<Response> {
  const login = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const input = { threadId: "t", runId: "r", messages: [], ...body };
  return await fetch(
    new Request(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...login, ...headers },
      body: JSON.stringify(input),
    }),
  );
}

export const user = (content: unknown, id = String(content)): object => ({
  id,
  role: "user",
  content,
});
