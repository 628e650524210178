import type { SessionChunk } from "../../src/ui/index.ts";
/** A server of a test: it answers each request as the next of its script says, and keeps what it was asked. */

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly headers: Headers;
}

type Answerer = (request: Request) => Response | Promise<Response>;

export class ScriptedServer {
  readonly seen: Seen[] = [];
  readonly #answers: readonly Answerer[];

  /** The last answer is given again and again. */
  constructor(...answers: readonly Answerer[]) {
    this.#answers = answers;
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const text = await request.text();
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    const { method, headers } = request;
    this.seen.push({ method, path: pathname + search, body, headers });
    const answer = this.#answers[this.seen.length - 1] ?? this.#answers.at(-1);
    if (answer === undefined) throw new TypeError("fetch failed");
    return await answer(request);
  };

  get paths(): readonly string[] {
    return this.seen.map(({ method, path }) => `${method} ${path}`);
  }
}

export const protocol = { "turnlog-protocol": "1" };

export const json =
  (value: unknown): Answerer =>
  () =>
    Response.json(value, { headers: protocol });

export const problem =
  (status: number, code: string, fields: object = {}): Answerer =>
  () =>
    new Response(JSON.stringify({ status, code, detail: `It is ${code}.`, ...fields }), {
      status,
      headers: { ...protocol, "content-type": "application/problem+json" },
    });

export const unreachable: Answerer = () => {
  throw new TypeError("fetch failed");
};

export interface Ending {
  /** How the stream ends after its pieces. Default: it closes. */
  readonly end?: "close" | "break" | "hang";
}

/** An answer of server-sent events, piece by piece. */
export const stream =
  (pieces: readonly string[], { end = "close" }: Ending = {}): Answerer =>
  ({ signal }) => {
    // `shift` would move all that are left each time.
    const left = pieces.values();
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        signal.addEventListener("abort", () => {
          controller.error(signal.reason);
        });
      },
      pull(controller) {
        const piece = left.next().value;
        if (piece !== undefined) controller.enqueue(encoder.encode(piece));
        else if (end === "close") controller.close();
        else if (end === "break") controller.error(new TypeError("terminated"));
        else return new Promise<void>(() => {});
        return undefined;
      },
    });
    return new Response(body, { headers: { ...protocol, "content-type": "text/event-stream" } });
  };

/** A frame of a chunk; the last one of an event has the event's position. */
export const frame = (chunk: SessionChunk, position?: number): string =>
  `${position === undefined ? "" : `id: ${position}\n`}data: ${JSON.stringify(chunk)}\n\n`;
