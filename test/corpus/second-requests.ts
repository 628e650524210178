// What a provider is sent while it answers with given streams: by a session, and by the AI SDK's own loop over
// its own `responseMessages`. Both over HTTP, in the JSON that the real client posts.
import { isStepCount, streamText } from "ai";
import { createRuntime, memoryBlobs, type Agent } from "../../src/public/index.ts";
import { wireMessages } from "./expected-parts.ts";
import { wireModel, type WireSubject } from "./wire-model.ts";
import { serveStreams } from "./wire-server.ts";

const next = "And then?";

/** A conversation to be held: the streams that answer its requests, one after the other. */
export interface Conversation {
  readonly row: WireSubject;
  readonly streams: readonly Uint8Array[];
  readonly providerOptions?: NonNullable<Agent["providerOptions"]>;
}

/** The bodies of a request for each stream and of the one after them: a session's, of two turns at most. */
export async function ourRequests(conversation: Conversation): Promise<readonly unknown[]> {
  const { row, streams, providerOptions } = conversation;
  const count = streams.length + 1;
  await using server = await serveStreams(row, streams, { seed: 3 });
  const { model, tools } = wireModel(row, server.url);
  await using runtime = await createRuntime({
    memory: true,
    blobs: { store: memoryBlobs() },
    agent: {
      model,
      tools,
      maxSteps: count,
      maxRetries: 0,
      // The SDK marks nothing by itself.
      promptCache: "off",
      context: { cut: { reader: false } },
      ...(providerOptions === undefined ? {} : { providerOptions }),
    },
  });
  const session = await runtime.session("s");
  for (const text of ["Please go on.", next]) {
    const { result } = await session.send(text);
    // What becomes of the answer to the last request is of no concern here.
    await result.catch((error: unknown) => {
      if (server.requests.length < count) throw error;
    });
  }
  return bodies(server.requests.slice(0, count));
}

/** The same of `streamText`, which is given what it has said before another message. */
export async function sdkRequests(conversation: Conversation): Promise<readonly unknown[]> {
  const { row, streams, providerOptions } = conversation;
  const count = streams.length + 1;
  await using server = await serveStreams(row, streams, { seed: 3 });
  const { model, tools } = wireModel(row, server.url);
  const call = {
    model,
    tools,
    maxRetries: 0,
    onError: () => {},
    ...(providerOptions === undefined ? {} : { providerOptions }),
  };
  const loop = streamText({ ...call, messages: [...wireMessages], stopWhen: isStepCount(count) });
  await loop.consumeStream();
  if (server.requests.length < count) {
    const said = await loop.responseMessages;
    const messages = [...wireMessages, ...said, { role: "user", content: next } as const];
    await streamText({ ...call, messages }).consumeStream({ onError: () => {} });
  }
  return bodies(server.requests);
}

function bodies(requests: readonly { readonly body: unknown }[]): readonly unknown[] {
  return requests.map(({ body }) => body);
}
