/**
 * The log of the session that is open: its last turns first, then all of it a page at a time, then live. Each event is folded
 * into the messages once; live events are folded together, ten times a second.
 */

import { createStore } from "@xstate/store";
import type { SessionEvent } from "../../../src/public/events.ts";
import { uiMessages } from "../../../src/public/ui.ts";
import type { UIMessagesState } from "../../../src/ui/index.ts";
import { codeOf, eventsUrl, isPassing, messageOf, read, RETRY_MS } from "./client.ts";
import { cutAt, indexAt, joined } from "./rows.ts";
import { StepList } from "./steps.ts";
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
  /** How often the log was read from its beginning: again after a redaction, which is about earlier events. */
  readonly reading: number;
  readonly messages: UIMessagesState;
  /** Whether the messages are those of the whole log; of its last turns otherwise. */
  readonly isWhole: boolean;
  readonly problems: readonly Problem[];
}

interface LogPage {
  readonly rows: readonly Row[];
  readonly revision: number;
  readonly next?: number;
  readonly problems: readonly Problem[];
}

interface NewestTurns {
  readonly rows: readonly Row[];
  readonly from: number;
  readonly revision: number;
}

/** An error as the server describes it. */
interface ServerProblem {
  readonly code?: string;
  readonly detail?: string;
}

/** Folded messages are kept at every so many rows: states share what did not change. */
const ROWS_PER_CHECKPOINT = 50;
/** Text that grows faster than this is no easier to read, and each time the page lays it out again. */
const LIVE_MS = 100;
const HIDDEN_MS = 1_000;

function newStore(messages: UIMessagesState) {
  const context: FeedState = {
    connection: "loading",
    position: 0,
    revision: 0,
    structure: 0,
    reading: 1,
    messages,
    isWhole: false,
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
  steps = new StepList();
  /** Why turns failed, by the position of their end. */
  readonly failures = new Map<number, string>();
  readonly store: ReturnType<typeof newStore>;
  readonly #fold: ReturnType<typeof uiMessages>;
  readonly #checkpoints: { readonly row: number; readonly state: UIMessagesState }[] = [];
  readonly #closing = new AbortController();
  /** Of all rows. */
  #state: UIMessagesState;
  #source: EventSource | undefined;
  #waiting: SessionEvent[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #structure = 0;

  constructor(id: string) {
    this.id = id;
    this.#fold = uiMessages({ session: id, errorText: ({ message }) => message });
    this.#state = this.#fold.initial;
    this.store = newStore(this.#state);
    void this.#run();
  }

  close(): void {
    this.#closing.abort();
    this.#source?.close();
    clearTimeout(this.#timer);
  }

  get #signal(): AbortSignal {
    return this.#closing.signal;
  }

  get position(): number {
    return this.store.getSnapshot().context.position;
  }

  get revision(): number {
    return this.store.getSnapshot().context.revision;
  }

  get isWhole(): boolean {
    return this.store.getSnapshot().context.isWhole;
  }

  /** Why the last turn before a position failed; undefined if it did not. */
  failureAt(position: number): string | undefined {
    // The newest turns are read first.
    return this.failures.get(
      Math.max(...[...this.failures.keys()].filter((end) => end <= position)),
    );
  }

  /** The messages at a position, which may be within a block. */
  messagesAt(position: number): UIMessagesState {
    const index = indexAt(this.rows, position);
    const row = this.rows[index];
    if (row === undefined) return this.#fold.initial;
    return this.#fold.fold(this.#foldedTo(index - 1), cutAt(row, position));
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
      const newest = this.position === 0 ? await this.#newest() : undefined;
      let from: number | undefined = this.position + 1;
      if (newest !== undefined && from === newest.from) from = undefined;
      const to = newest === undefined ? undefined : newest.from - 1;
      while (from !== undefined) {
        const page: LogPage = await read<LogPage>(this.id, "log", { from, to }, this.#signal);
        if (newest === undefined && page.rows.some(({ event }) => isRedaction(event)))
          return this.#readAgain();
        this.#add(page);
        from = page.next;
      }
      if (newest !== undefined) this.#add({ ...newest, problems: [] });
      this.#change({ messages: this.#state, isWhole: true });
      this.#follow();
    } catch (error) {
      if (this.#signal.aborted) return;
      if (isPassing(error)) this.#later();
      else
        this.#change({
          connection: "failed",
          error: { code: codeOf(error), message: messageOf(error) },
        });
    }
  }

  /** Shows the last turns, so that a long log can be read before all of it is here. */
  async #newest(): Promise<NewestTurns> {
    const newest = await read<NewestTurns>(this.id, "newest", {}, this.#signal);
    const { rows, revision } = newest;
    for (const { event } of rows) this.#note(event);
    const messages = rows.reduce(
      (state, { event }) => this.#fold.fold(state, event),
      this.#fold.initial,
    );
    if (newest.from > 1) this.#change({ messages, revision, structure: ++this.#structure });
    return newest;
  }

  #later(): void {
    this.#change({ connection: "reconnecting" });
    setTimeout(() => {
      if (!this.#signal.aborted) void this.#run();
    }, RETRY_MS);
  }

  #add({ rows, revision, problems }: LogPage): void {
    for (const row of rows) {
      this.#state = this.#fold.fold(this.#state, row.event);
      this.steps.add(row.event);
      this.#note(row.event);
      this.rows.push(row);
      this.#keep(this.#state);
    }
    this.#structure++;
    const last = this.rows.at(-1);
    this.#change({
      revision,
      structure: this.#structure,
      position: last === undefined ? 0 : Math.max(endOf(last), problems.at(-1)?.position ?? 0),
      problems: [...this.store.getSnapshot().context.problems, ...problems],
    });
  }

  #note({ type, position, data }: SessionEvent): void {
    if (type === "turn.ended" && data.error !== undefined)
      this.failures.set(position, data.error.message);
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
      if (this.#signal.aborted) return;
      // A refusal ends the source; a lost connection is opened again behind the last event.
      source.close();
      this.#flush();
      this.#later();
    });
  }

  /** What was shown goes at once, the answers to questions with the next ones. */
  #readAgain(): void {
    this.#source?.close();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting = [];
    this.rows.length = 0;
    this.#checkpoints.length = 0;
    this.steps = new StepList();
    this.failures.clear();
    this.#state = this.#fold.initial;
    const { reading } = this.store.getSnapshot().context;
    this.#change({
      position: 0,
      structure: ++this.#structure,
      reading: reading + 1,
      messages: this.#state,
      isWhole: false,
      problems: [],
    });
    void this.#run();
  }

  #take(event: SessionEvent): void {
    if (isRedaction(event)) return this.#readAgain();
    this.#waiting.push(event);
    this.#timer ??= setTimeout(() => this.#flush(), document.hidden ? HIDDEN_MS : LIVE_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const events = this.#waiting;
    if (events.length === 0) return;
    this.#waiting = [];
    let { position } = this;
    for (const event of events) {
      if (event.position <= position) continue;
      this.#state = this.#fold.fold(this.#state, event);
      this.steps.add(event);
      this.#note(event);
      position = event.position;
      const row = joined(this.rows.at(-1), event);
      if (row === undefined) {
        this.rows.push({ event });
        this.#structure++;
      } else this.rows[this.rows.length - 1] = row;
    }
    const messages = this.#state;
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

function isRedaction({ type }: SessionEvent): boolean {
  return type === "session.redacted";
}
