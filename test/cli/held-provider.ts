/** A provider whose model stops in the middle of a reply: its turn does not end by itself. */

import { fakeServer, streamChunks } from "./fake-server.ts";

export interface HeldProvider extends AsyncDisposable {
  /** The options that choose it. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Its first reply is "I search" and a call of `search_files`, each later one "Here it is.". @param held - The reply that waits behind its words. */
export async function heldProvider(held = 1): Promise<HeldProvider> {
  const name = "search_files";
  const call = { index: 0, id: "c1", function: { name, arguments: '{"query":"zod"}' } };
  async function* reply(number: number): AsyncGenerator<object> {
    const isCall = number === 1;
    const content = isCall ? "I search" : "Here it is.";
    yield { delta: { role: "assistant", content }, finish_reason: null };
    if (number === held) await new Promise<never>(() => {});
    if (isCall) yield { delta: { tool_calls: [call] } };
    yield { delta: {}, finish_reason: isCall ? "tool_calls" : "stop" };
  }
  const server = await fakeServer((_, response) =>
    streamChunks(response, reply(server.requests.length)),
  );
  return {
    args: ["--model", "openai:gpt-4o"],
    env: { OPENAI_BASE_URL: server.url },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
