/**
 * Keeps what each session has spent, and sums it over the sessions of a value in their metadata. It asks
 * before each model call whether a limit would be passed. Its sums come from the log: a snapshot of each session
 * saves reading its events at the next start.
 */

import {
  add,
  leastCost,
  nothingSpent,
  passedLimit,
  spentBy,
  spentSchema,
  spentSince,
  spentWithin,
  type Amount,
  type Budget,
  type KnownLimits,
  type Spent,
} from "../context/index.ts";
import type { EventBody, EventLog, JsonObject, ModelName, Snapshot } from "../events/index.ts";
import { toJson } from "../shared/index.ts";
import {
  listSessions,
  problemOf,
  readSessionState,
  withSnapshots,
  type ListedSession,
  type SessionState,
} from "../state/index.ts";

/** Limits of spending. A turn that would pass one ends as `out-of-budget` before its next model call. */
export interface SpendingLimits {
  /** For each session. */
  readonly session?: Budget;
  /** For all sessions together that have the same value under a key of their metadata, by key. */
  readonly perKey?: Readonly<Record<string, Budget>>;
}

export interface LedgerOptions {
  readonly log: EventLog;
  readonly limits: SpendingLimits;
  readonly clock: () => number;
  /** The prices for a session that is not live. */
  readonly prices: (row: ListedSession) => Promise<KnownLimits>;
}

const SNAPSHOT = { projection: "spending", version: 1 };

interface Entry {
  readonly metadata: JsonObject;
  readonly usage: SessionState["usage"] | undefined;
  readonly spent: Spent;
}

export class SpendingLedger {
  readonly #options: LedgerOptions;
  readonly #entries = new Map<string, Entry>();
  /** The sessions by key and value of their metadata. */
  readonly #members = new Map<string, Set<string>>();
  /** What the running calls of sessions cost at least. */
  readonly #reserved = new Map<string, Amount>();
  #loading: Promise<void> | undefined;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /** Reads what all sessions have spent, once, if limits depend on it. Later calls do nothing. */
  async load(): Promise<void> {
    if (this.#keys.length === 0) return;
    this.#loading ??= this.#load();
    try {
      await this.#loading;
    } catch (error) {
      this.#loading = undefined;
      throw error;
    }
  }

  /** Notes the usage of a live session. @param known - Its prices */
  observe(session: string, { usage, summary }: SessionState, known: KnownLimits): void {
    const { metadata = {} } = summary;
    const before = this.#entries.get(session);
    if (before?.usage === undefined)
      return this.#set(session, { metadata, usage, spent: spentBy(usage, known) });
    const { steps, beside } = before.usage;
    const isBilled = steps !== usage.steps || beside !== usage.beside;
    if (!isBilled && before.metadata === metadata) return;
    if (isBilled) this.#reserved.delete(session);
    const spent = isBilled
      ? spentSince({ ...before, usage: before.usage }, usage, known)
      : before.spent;
    this.#set(session, { metadata, usage, spent });
  }

  forget(session: string): void {
    this.#leave(session);
    this.#entries.delete(session);
    this.#reserved.delete(session);
  }

  /** The event that ends a turn before its next call; undefined if the call may be made. */
  limitReached(
    { session, state }: { readonly session: string; readonly state: SessionState },
    call: { readonly model: ModelName; readonly promptTokens: number | undefined },
    known: KnownLimits,
  ): EventBody<"turn.limit-reached"> | undefined {
    this.observe(session, state, known);
    const time = this.#options.clock();
    const next = leastCost({ ...call, time }, known);
    for (const { of, budget, sessions } of this.#budgetsOf(session)) {
      const spent = this.#sum(sessions, budget.per, time, session);
      const reached = passedLimit(of, budget, spent, next);
      if (reached === undefined) continue;
      const { turn } = state.machine.context;
      return {
        type: "turn.limit-reached",
        data: { turn, limit: "budget", lastStep: false, budget: reached },
      };
    }
    if (call.promptTokens !== undefined)
      this.#reserved.set(session, { tokens: next.tokens, dollars: next.dollars ?? 0 });
    return undefined;
  }

  /** Stores what a session has spent up to a position. */
  async save(session: string, position: number): Promise<void> {
    const spent = this.#entries.get(session)?.spent;
    if (spent === undefined) return;
    const snapshot = { ...SNAPSHOT, position, state: toJson(spent) };
    await this.#options.log.saveSnapshot(session, snapshot);
  }

  get #keys(): readonly string[] {
    return Object.keys(this.#options.limits.perKey ?? {});
  }

  #budgetsOf(session: string): readonly {
    readonly of: string;
    readonly budget: Budget;
    readonly sessions: Iterable<string>;
  }[] {
    const { session: own, perKey = {} } = this.#options.limits;
    const metadata = this.#entries.get(session)?.metadata ?? {};
    return [
      ...(own === undefined ? [] : [{ of: "session", budget: own, sessions: [session] }]),
      ...Object.entries(perKey).flatMap(([of, budget]) => {
        const sessions = this.#members.get(member(of, metadata));
        return sessions === undefined ? [] : [{ of, budget, sessions }];
      }),
    ];
  }

  #sum(sessions: Iterable<string>, per: Budget["per"], time: number, asking: string): Amount {
    let sum = nothingSpent.total;
    for (const session of sessions) {
      const { spent = nothingSpent } = this.#entries.get(session) ?? {};
      sum = add(sum, spentWithin(spent, per, time));
      const reserved = session === asking ? undefined : this.#reserved.get(session);
      if (reserved !== undefined) sum = add(sum, reserved);
    }
    return sum;
  }

  #set(session: string, entry: Entry): void {
    if (this.#entries.get(session)?.metadata !== entry.metadata) this.#leave(session);
    this.#entries.set(session, entry);
    for (const key of this.#keys) {
      if (!Object.hasOwn(entry.metadata, key)) continue;
      const place = member(key, entry.metadata);
      const sessions = this.#members.get(place) ?? new Set<string>();
      this.#members.set(place, sessions.add(session));
    }
  }

  #leave(session: string): void {
    const { metadata = {} } = this.#entries.get(session) ?? {};
    for (const key of this.#keys) this.#members.get(member(key, metadata))?.delete(session);
  }

  async #load(): Promise<void> {
    const { log } = this.#options;
    for await (const [row, stored] of withSnapshots(log, this.#rows(), SNAPSHOT.projection)) {
      const { metadata = {}, session } = row;
      try {
        this.#set(session, { metadata, usage: undefined, spent: await this.#read(row, stored) });
      } catch (error) {
        // A session that cannot be read must not stop the others; its list row has the problem.
        problemOf(error);
      }
    }
  }

  /** The sessions that count for a key, and are not known from their actors. */
  async *#rows(): AsyncGenerator<ListedSession> {
    for await (const row of listSessions(this.#options.log)) {
      const { metadata = {}, session } = row;
      const counts = this.#keys.some((key) => Object.hasOwn(metadata, key));
      if (counts && !this.#entries.has(session)) yield row;
    }
  }

  async #read(row: ListedSession, known: Snapshot | undefined): Promise<Spent> {
    const { log, prices } = this.#options;
    const { session, revision } = row;
    const stored = known ?? (await log.loadSnapshot(session, SNAPSHOT.projection));
    if (stored?.version === SNAPSHOT.version && stored.position === revision) {
      const spent = spentSchema.safeParse(stored.state);
      if (spent.success) return spent.data;
    }
    const { usage } = await readSessionState(log, session);
    const spent = spentBy(usage, await prices(row));
    await log.saveSnapshot(session, { ...SNAPSHOT, position: revision, state: toJson(spent) });
    return spent;
  }
}

function member(key: string, metadata: JsonObject): string {
  return JSON.stringify([key, metadata[key]]);
}
