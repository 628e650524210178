/** A provider whose model stops in the middle of a reply until the test lets it go on: its turn cannot be over before. */

import { fakeServer, streamChunks } from "./fake-server.ts";

export interface HeldProvider extends AsyncDisposable {
  /** The options that choose it. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly goOn: () => void;
}

/** Its first reply is "I search" and a call of `search_files`, each later one "Here it is.". @param held - The reply that waits behind its words. */
export async function heldProvider(held = 1): Promise<HeldProvider> {
  const going = Promise.withResolvers<void>();
  const name = "search_files";
  const call = { index: 0, id: "c1", function: { name, arguments: '{"query":"zod"}' } };
  async function* reply(number: number): AsyncGenerator<object> {
    const isCall = number === 1;
    const content = isCall ? "I search" : "Here it is.";
    yield { delta: { role: "assistant", content }, finish_reason: null };
    if (number === held) await going.promise;
    if (isCall) yield { delta: { tool_calls: [call] } };
    yield { delta: {}, finish_reason: isCall ? "tool_calls" : "stop" };
  }
  const server = await fakeServer((_, response) =>
    streamChunks(response, reply(server.requests.length)),
  );
  return {
    args: ["--model", "openai:gpt-4o"],
    env: { OPENAI_BASE_URL: server.url },
    goOn: going.resolve,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
