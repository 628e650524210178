/** A server of Node on a free port of this machine, with a runtime in memory, for tests of its routes. */

import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import {
  createRuntime,
  type Agent,
  type BlobStore,
  type EventLog,
  type Runtime,
  type RuntimeOptions,
} from "../../src/public/index.ts";
import { serveNode, type NodeServer } from "../../src/public/server.ts";
import type { ServeOptions } from "../../src/server/index.ts";

export interface Serving extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly server: NodeServer;
  /** Sends a request with the token. */
  readonly ask: (path: string, init?: AskInit) => Promise<Response>;
  /** The JSON that a request answers. */
  readonly json: (path: string, init?: AskInit) => Promise<unknown>;
}

interface AskInit {
  readonly method?: string;
  /** Sent as JSON; a request with a body is a POST. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export async function serving(
  agent: Agent,
  options: ServeOptions = {},
  {
    log,
    ...runtimeOptions
  }: Partial<Pick<RuntimeOptions, "blobs" | "graceMs" | "idleAfterMs">> & {
    /** Default: a new one in memory. */
    readonly log?: EventLog;
  } = {},
): Promise<Serving> {
  const kept = log === undefined ? ({ memory: true } as const) : { log };
  const runtime = await createRuntime({ graceMs: 1, ...runtimeOptions, ...kept, agent });
  const server = await serveNode(runtime, { port: 0, ...options });
  const ask = async (path: string, { body, headers, method, signal }: AskInit = {}) =>
    await fetch(`${server.url}${path}`, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        ...(server.token === undefined ? {} : { authorization: `Bearer ${server.token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  return {
    runtime,
    server,
    ask,
    json: async (path, init) => await (await ask(path, init)).json(),
    async [Symbol.asyncDispose]() {
      await server.close("the test is over", 200);
      await runtime.close();
    },
  };
}

/** A session `s` that has a file, and the path of the file. */
export async function storedFile(
  { runtime }: Serving,
  store: BlobStore,
  content: Uint8Array,
): Promise<string> {
  await runtime.session("s");
  const { sha256 } = await store.put(content);
  const data = { sha256, mediaType: "image/png", bytes: content.byteLength };
  const { id, time } = { id: "stored", time: 0 };
  await runtime.log.append("s", "any", [{ id, time, type: "blob.stored", data }]);
  return `/api/sessions/s/blobs/${sha256}`;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A request whose headers `fetch` would not send, such as another `Host`. */
export async function rawRequest(
  { url, token }: NodeServer,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = "GET",
): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
  const known = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const sent = httpRequest(`${url}${path}`, { method, headers: { ...known, ...headers } });
  sent.on("error", reject);
  sent.on("response", (answer) => {
    let text = "";
    answer.setEncoding("utf8");
    answer.on("data", (chunk: string) => (text += chunk));
    answer.on("error", reject);
    answer.on("end", () => {
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text });
    });
  });
  sent.end();
  return await promise;
}

export interface ReadEvent {
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

/** The server-sent events of an answer. Comments are left out. */
export async function* readEvents({ body }: Response): AsyncGenerator<ReadEvent> {
  let rest = "";
  for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = block.split("\n").filter((line) => !line.startsWith(":"));
      if (fields.length === 0) continue;
      const valuesOf = (name: string): readonly string[] =>
        fields.flatMap((line) =>
          line.startsWith(`${name}: `) ? [line.slice(name.length + 2)] : [],
        );
      const [id] = valuesOf("id");
      const [event] = valuesOf("event");
      yield {
        ...(id === undefined ? {} : { id }),
        ...(event === undefined ? {} : { event }),
        data: valuesOf("data").join("\n"),
      };
    }
  }
}

/** Takes events until one fits, that one included. */
export async function eventsUntil(
  events: AsyncIterable<ReadEvent>,
  isLast: (event: ReadEvent) => boolean,
): Promise<readonly ReadEvent[]> {
  const taken: ReadEvent[] = [];
  for await (const event of events) {
    taken.push(event);
    if (isLast(event)) break;
  }
  return taken;
}
