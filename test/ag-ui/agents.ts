/** The official client of AG-UI against a server of a test: no other code reads the wire. */

import { HttpAgent, type AgentSubscriber, type BaseEvent } from "@ag-ui/client";
import type { Event, RunAgentInput } from "@ag-ui/core";

/** `HttpAgent` leaves `connect` to its users. */
export class TurnlogAgent extends HttpAgent {
  protected override connect(input: RunAgentInput): ReturnType<HttpAgent["run"]> {
    const { headers, fetch } = this;
    return new HttpAgent({ url: `${this.url}/connect`, headers, fetch }).run(input);
  }
}

interface Served {
  readonly url: string;
  readonly token?: string | undefined;
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** A page of thread t, and the events that it has seen. */
export function pageOf(served: Served, threadId = "t"): { agent: TurnlogAgent; seen: Event[] } {
  const { url, token, fetch } = served;
  const agent = new TurnlogAgent({
    url: `${url}/api/ag-ui`,
    threadId,
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    ...(fetch === undefined ? {} : { fetch: (to, init) => fetch(new Request(to, init)) }),
  });
  const seen: Event[] = [];
  const subscriber: AgentSubscriber = {
    onEvent: ({ event }: { readonly event: BaseEvent }) => {
      seen.push(event as Event);
    },
  };
  agent.subscribe(subscriber);
  return { agent, seen };
}

/** Says something, as a page does. */
export async function say(agent: HttpAgent, content: string, id = content): Promise<void> {
  agent.addMessage({ id, role: "user", content });
  await agent.runAgent();
}
