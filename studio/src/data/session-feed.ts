/**
 * The log of the session that is open: loaded a page at a time, then followed live. Each event is folded
 * into the messages once; live events are folded together once a frame.
 */

import { createStore } from "@xstate/store";
import type { SessionEvent } from "../../../src/public/events.ts";
import { uiMessages, type UIMessagesState } from "../../../src/public/ui.ts";
import { codeOf, eventsUrl, messageOf, read } from "./client.ts";
import { indexAt, joined } from "./rows.ts";
import { endOf, type Problem, type Row } from "./types.ts";

export type Connection = "loading" | "live" | "reconnecting" | "failed";

interface FeedState {
  readonly connection: Connection;
  readonly error?: { readonly code: string | undefined; readonly message: string };
  /** The last position that was folded. */
  readonly position: number;
  /** The last position of the log when loading began, for the progress. */
  readonly revision: number;
  /** Changes with each structural event, not with deltas. */
  readonly structure: number;
  readonly messages: UIMessagesState;
  readonly problems: readonly Problem[];
}

interface LogPage {
  readonly rows: readonly Row[];
  readonly revision: number;
  readonly next?: number;
  readonly problems: readonly Problem[];
}

/** An error as the server describes it. */
interface ServerProblem {
  readonly code?: string;
  readonly detail?: string;
}

/** Folded messages are kept at every so many rows: states share what did not change. */
const ROWS_PER_CHECKPOINT = 200;
const RETRY_MS = 1_500;

function newStore(messages: UIMessagesState) {
  const context: FeedState = {
    connection: "loading",
    position: 0,
    revision: 0,
    structure: 0,
    messages,
    problems: [],
  };
  return createStore({
    context,
    on: {
      changed: (state, { change }: { readonly change: Partial<FeedState> }) => ({
        ...state,
        ...change,
      }),
    },
  });
}

export class SessionFeed {
  readonly id: string;
  /** Grows, and its last row is replaced; `position` of the store says when. */
  readonly rows: Row[] = [];
  readonly store: ReturnType<typeof newStore>;
  readonly #fold: ReturnType<typeof uiMessages>;
  readonly #checkpoints: { readonly row: number; readonly state: UIMessagesState }[] = [];
  readonly #closing = new AbortController();
  #source: EventSource | undefined;
  #waiting: SessionEvent[] = [];
  #frame: number | undefined;
  #structure = 0;

  constructor(id: string) {
    this.id = id;
    this.#fold = uiMessages({ session: id });
    this.store = newStore(this.#fold.initial);
    void this.#run();
  }

  close(): void {
    this.#closing.abort();
    this.#source?.close();
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }

  get position(): number {
    return this.store.getSnapshot().context.position;
  }

  /** The messages at a position. Asks the server for the text so far if a block was being written. */
  async messagesAt(position: number): Promise<UIMessagesState> {
    const index = indexAt(this.rows, position);
    const row = this.rows[index];
    if (row === undefined) return this.#fold.initial;
    if (endOf(row) <= position) return this.#foldedTo(index);
    const { rows } = await read<LogPage>(this.id, "log", {
      from: row.event.position,
      to: position,
    });
    return rows.reduce(
      (state, { event }) => this.#fold.fold(state, event),
      this.#foldedTo(index - 1),
    );
  }

  #foldedTo(index: number): UIMessagesState {
    const near = this.#checkpoints.findLast(({ row }) => row <= index);
    let state = near?.state ?? this.#fold.initial;
    for (const { event } of this.rows.slice((near?.row ?? -1) + 1, index + 1))
      state = this.#fold.fold(state, event);
    return state;
  }

  async #run(): Promise<void> {
    try {
      let from: number | undefined = this.position + 1;
      while (from !== undefined) {
        const page: LogPage = await read<LogPage>(this.id, "log", { from }, this.#closing.signal);
        this.#add(page);
        from = page.next;
      }
      this.#follow();
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      const code = codeOf(error);
      if (code === "SERVER_UNREACHABLE" || code === "RUNTIME_CLOSED") this.#later();
      else this.#change({ connection: "failed", error: { code, message: messageOf(error) } });
    }
  }

  #later(): void {
    this.#change({ connection: "reconnecting" });
    setTimeout(() => {
      if (!this.#closing.signal.aborted) void this.#run();
    }, RETRY_MS);
  }

  #add({ rows, revision, problems }: LogPage): void {
    let state = this.store.getSnapshot().context.messages;
    for (const row of rows) {
      state = this.#fold.fold(state, row.event);
      this.rows.push(row);
      this.#keep(state);
    }
    this.#structure++;
    const last = this.rows.at(-1);
    this.#change({
      messages: state,
      revision,
      structure: this.#structure,
      position: last === undefined ? 0 : Math.max(endOf(last), problems.at(-1)?.position ?? 0),
      problems: [...this.store.getSnapshot().context.problems, ...problems],
    });
  }

  #follow(): void {
    const source = new EventSource(eventsUrl(this.id, this.position + 1));
    this.#source = source;
    source.addEventListener("open", () => this.#change({ connection: "live" }));
    source.addEventListener("message", ({ data }: MessageEvent<string>) => {
      // The server checked it when it was recorded.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      this.#take(JSON.parse(data) as SessionEvent);
    });
    source.addEventListener("problem", ({ data }: MessageEvent<string>) => {
      source.close();
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const { code, detail } = JSON.parse(data) as ServerProblem;
      this.#change({
        connection: "failed",
        error: { code, message: detail ?? "The server failed." },
      });
    });
    source.addEventListener("error", () => {
      if (this.#closing.signal.aborted) return;
      // A refusal ends the source; a lost connection is opened again behind the last event.
      source.close();
      this.#flush();
      this.#later();
    });
  }

  #take(event: SessionEvent): void {
    this.#waiting.push(event);
    if (document.hidden) this.#frame ??= window.setTimeout(() => this.#flush(), 250);
    else this.#frame ??= requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    this.#frame = undefined;
    const events = this.#waiting;
    if (events.length === 0) return;
    this.#waiting = [];
    let { messages, position } = this.store.getSnapshot().context;
    for (const event of events) {
      if (event.position <= position) continue;
      messages = this.#fold.fold(messages, event);
      position = event.position;
      const row = joined(this.rows.at(-1), event);
      if (row === undefined) {
        this.rows.push({ event });
        this.#structure++;
      } else this.rows[this.rows.length - 1] = row;
    }
    this.#change({ messages, position, revision: position, structure: this.#structure });
  }

  /** Only where a row has ended: a delta may join the last one. */
  #keep(state: UIMessagesState): void {
    const row = this.rows.length - 1;
    if (row % ROWS_PER_CHECKPOINT === 0) this.#checkpoints.push({ row, state });
  }

  #change(change: Partial<FeedState>): void {
    this.store.trigger.changed({ change });
  }
}
