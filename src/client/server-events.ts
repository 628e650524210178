/** Server-sent events over one connection after another: a lost connection is opened again after a back-off. */

import {
  whenAborted,
  assertType,
  isTemporary,
  problemError,
  unreachable,
  type Asked,
  type Http,
} from "./http.ts";

/** One server-sent event. */
export interface ServerEvent {
  readonly id?: string;
  /** `message` unless the server names it. */
  readonly event: string;
  readonly data: string;
}

/** Milliseconds of the first and of the longest wait between two attempts. */
const FIRST_WAIT = 100;
const LONGEST_WAIT = 10_000;

/**
 * The events of a stream. `ask` makes the request of each attempt, so that it names the newest cursor. Ends
 * with an answer without content (204). The caller ends it where the stream says that it is complete.
 * @throws TurnlogError the server's refusal; `SERVER_UNREACHABLE` after `patienceMs` without an event
 */
export async function* followEvents(
  http: Http,
  ask: () => Asked,
  signal: AbortSignal | undefined,
  onAnswer?: () => void,
): AsyncGenerator<ServerEvent, void, void> {
  let attempts = 0;
  let reachedAt = Date.now();
  for (;;) {
    let lost: unknown;
    const connection = new Connection(http.silenceMs, signal);
    try {
      const answer = await http.open({ ...ask(), signal: connection.signal });
      onAnswer?.();
      if (answer.status === 204) return;
      assertType(answer, "text/event-stream");
      for await (const event of connection.read(answer)) {
        if (event.event === "problem") throw problemError(JSON.parse(event.data));
        attempts = 0;
        yield event;
      }
      reachedAt = Date.now();
    } catch (error) {
      signal?.throwIfAborted();
      if (connection.wasOpen) reachedAt = Date.now();
      if (!connection.isLost && !isTemporary(error)) throw error;
      lost = error;
    } finally {
      connection.close();
    }
    if (Date.now() - reachedAt >= http.patienceMs)
      throw unreachable(`The server could not be reached for ${http.patienceMs} ms.`, lost);
    await waitFor(FIRST_WAIT * 2 ** attempts++, signal);
  }
}

/**
 * One connection. It ends when its server is silent for too long, since a sleeping tab is never told that its
 * connection was lost.
 */
class Connection {
  readonly #silenceMs: number;
  readonly #end = new AbortController();
  readonly #release: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  wasOpen = false;
  /** Whether the connection broke: it had been answered, or was silent. */
  isLost = false;

  constructor(silenceMs: number, signal: AbortSignal | undefined) {
    this.#silenceMs = silenceMs;
    this.#release = whenAborted(signal, () => this.#end.abort(signal?.reason));
    this.#listen();
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  async *read({ body }: Response): AsyncGenerator<ServerEvent, void, void> {
    this.wasOpen = true;
    const reader = body?.getReader();
    const decoder = new TextDecoder();
    /** The lines of the event that comes, and the pieces of its last line. */
    let lines: string[] = [];
    let open: string[] = [];
    let endsWithCr = false;
    for (;;) {
      const bytes = await this.#bytes(reader);
      if (bytes === undefined) return;
      const decoded = decoder.decode(bytes, { stream: true });
      // A CR ends a line; the LF that may follow it belongs to it.
      const piece = endsWithCr ? decoded.replace(/^\n/, "") : decoded;
      if (decoded !== "") endsWithCr = decoded.endsWith("\r");
      const [first = "", ...others] = piece.replaceAll(/\r\n?/g, "\n").split("\n");
      open.push(first);
      for (const next of others) {
        // Joined once: a long line arrives in many pieces.
        const line = open.join("");
        open = [next];
        if (line !== "") {
          lines.push(line);
          continue;
        }
        const event = parsed(lines);
        lines = [];
        if (event !== undefined) yield event;
      }
    }
  }

  async #bytes(
    reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  ): Promise<Uint8Array | undefined> {
    this.#listen();
    try {
      return (await reader?.read())?.value;
    } catch (error) {
      this.isLost = true;
      throw error;
    } finally {
      clearTimeout(this.#timer);
    }
  }

  #listen(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.isLost = true;
      this.#end.abort(new Error(`The server was silent for ${this.#silenceMs} ms.`));
    }, this.#silenceMs);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#release();
    this.#end.abort();
  }
}

function parsed(lines: readonly string[]): ServerEvent | undefined {
  let id: string | undefined;
  let event = "message";
  const data: string[] = [];
  for (const line of lines) {
    const [, field, value = ""] = /^(\w+)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "id") id = value;
    else if (field === "event") event = value;
    else if (field === "data") data.push(value);
  }
  if (data.length === 0) return undefined;
  return { ...(id === undefined ? {} : { id }), event, data: data.join("\n") };
}

/**
 * Waits for about this long, so that the clients of a restarted server do not all come back at the same moment.
 * Rejects when aborted.
 */
export async function waitFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const over = Promise.withResolvers<void>();
  const time = setTimeout(over.resolve, Math.min(ms, LONGEST_WAIT) * (0.5 + Math.random() / 2));
  const release = whenAborted(signal, () => {
    clearTimeout(time);
    over.reject(signal?.reason);
  });
  await over.promise.finally(release);
}
