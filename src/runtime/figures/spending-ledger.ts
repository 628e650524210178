/**
 * Keeps what each session has spent, and sums it over a session with its sub-agents, and over the sessions of a
 * value in their metadata. It asks before each model call whether a limit would be passed. Its sums come from the
 * log: a snapshot of each session saves reading its events at the next start.
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
} from "../../context/index.ts";
import type {
  EventBody,
  EventLog,
  JsonObject,
  ModelName,
  ParentCall,
  Snapshot,
} from "../../events/index.ts";
import { toJson } from "../../shared/index.ts";
import {
  listSessions,
  problemOf,
  readSessionState,
  readSummary,
  withSnapshots,
  type ListedSession,
  type SessionState,
} from "../../state/index.ts";

/** Limits of spending. A turn that would pass one ends as `out-of-budget` before its next model call. */
export interface SpendingLimits {
  /** For each session together with its sub-agents. */
  readonly session?: Budget;
  /** For all sessions together that have the same value under a key of their metadata, by key. */
  readonly perKey?: Readonly<Record<string, Budget>>;
}

export interface LedgerOptions {
  readonly log: EventLog;
  readonly limits: SpendingLimits;
  readonly clock: () => number;
  /** The prices for a session that is not live. */
  readonly prices: (row: Pick<ListedSession, "agent">) => Promise<KnownLimits>;
}

const SNAPSHOT = { projection: "spending", version: 1 };

type Row = Pick<ListedSession, "session" | "revision" | "agent" | "metadata" | "parent">;

interface Entry {
  readonly metadata: JsonObject;
  /** The session that its limit is that of: its own, or the one whose sub-agent it is. */
  readonly root: string;
  readonly usage: SessionState["usage"] | undefined;
  readonly spent: Spent;
}

export class SpendingLedger {
  readonly #options: LedgerOptions;
  readonly #entries = new Map<string, Entry>();
  /** The sessions by key and value of their metadata, and by their root. */
  readonly #members = new Map<string, Set<string>>();
  /** What the running calls of sessions cost at least. */
  readonly #reserved = new Map<string, Amount>();
  /** What was read from the log, or is being read: all sessions of keys, and those of a root. */
  readonly #loaded = new Map<string, Promise<void>>();

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /** Reads what the sessions have spent whose sums a session counts for, once. Later calls do nothing. */
  async load(session: string, parent: ParentCall | undefined): Promise<void> {
    if (this.#keys.length > 0) await this.#once("", () => this.#ofKeys());
    if (this.#options.limits.session === undefined) return;
    const root = rootOf(session, parent);
    await this.#once(root, () => this.#ofRoot(root, session));
  }

  /** Notes the usage of a live session. @param known - Its prices */
  observe(session: string, { usage, summary }: SessionState, known: KnownLimits): void {
    const { metadata = {}, parent } = summary;
    const root = rootOf(session, parent);
    const before = this.#entries.get(session);
    if (before?.usage === undefined)
      return this.#set(session, { metadata, root, usage, spent: spentBy(usage, known) });
    const { steps, beside } = before.usage;
    const isBilled = steps !== usage.steps || beside !== usage.beside;
    if (!isBilled && before.metadata === metadata) return;
    if (isBilled) this.#reserved.delete(session);
    const spent = isBilled
      ? spentSince({ ...before, usage: before.usage }, usage, known)
      : before.spent;
    this.#set(session, { metadata, root, usage, spent });
  }

  forget(session: string): void {
    this.#leave(session);
    this.#entries.delete(session);
    this.#loaded.delete(session);
    this.#reserved.delete(session);
  }

  /** Forgets a session and its sub-agents once none is live, unless the sums of a key need what they spent. */
  passivated(session: string, isLive: (session: string) => boolean): void {
    const { root = session } = this.#entries.get(session) ?? {};
    const family = [...(this.#members.get(familyOf(root)) ?? [session])];
    if (family.some((one) => isLive(one)) || isLive(root)) return;
    this.#loaded.delete(root);
    for (const one of family) {
      const entry = this.#entries.get(one);
      this.forget(one);
      if (entry && this.#hasKey(entry.metadata)) this.#set(one, { ...entry, usage: undefined });
    }
  }

  get size(): number {
    return this.#entries.size;
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
      return {
        type: "turn.limit-reached",
        data: {
          turn: state.machine.context.turn,
          limit: "budget",
          lastStep: false,
          budget: reached,
        },
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

  #hasKey(metadata: JsonObject = {}): boolean {
    return this.#keys.some((key) => Object.hasOwn(metadata, key));
  }

  #budgetsOf(session: string): readonly {
    readonly of: string;
    readonly budget: Budget;
    readonly sessions: Iterable<string>;
  }[] {
    const { session: own, perKey = {} } = this.#options.limits;
    const { metadata = {}, root = session } = this.#entries.get(session) ?? {};
    const family = this.#members.get(familyOf(root)) ?? [session];
    return [
      ...(own === undefined ? [] : [{ of: "session", budget: own, sessions: family }]),
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
    this.#leave(session);
    this.#entries.set(session, entry);
    for (const place of this.#placesOf(entry)) {
      const sessions = this.#members.get(place) ?? new Set<string>();
      this.#members.set(place, sessions.add(session));
    }
  }

  #leave(session: string): void {
    const entry = this.#entries.get(session);
    if (entry === undefined) return;
    for (const place of this.#placesOf(entry)) {
      const sessions = this.#members.get(place);
      sessions?.delete(session);
      if (sessions?.size === 0) this.#members.delete(place);
    }
  }

  #placesOf({ metadata, root }: Entry): readonly string[] {
    const named = this.#keys.filter((key) => Object.hasOwn(metadata, key));
    return [familyOf(root), ...named.map((key) => member(key, metadata))];
  }

  async #once(name: string, read: () => Promise<void>): Promise<void> {
    const loading = this.#loaded.get(name) ?? read();
    this.#loaded.set(name, loading);
    try {
      await loading;
    } catch (error) {
      this.#loaded.delete(name);
      throw error;
    }
  }

  /** The sessions with a key of the limits. */
  async #ofKeys(): Promise<void> {
    await this.#readAll(listSessions(this.#options.log), ({ metadata }) => this.#hasKey(metadata));
  }

  /** A session and its sub-agents. */
  async #ofRoot(root: string, opened: string): Promise<void> {
    const { log } = this.#options;
    const below = listSessions(log, undefined, `${root}/`);
    await this.#readAll(below, ({ session, parent }) => rootOf(session, parent) === root);
    const revision = root === opened ? 0 : await log.revision(root);
    if (revision === 0) return;
    await this.#note({ ...(await readSummary(log, root, revision)), session: root, revision });
  }

  /** Those that are not known from their actors. */
  async #readAll(rows: AsyncIterable<ListedSession>, counts: (row: Row) => boolean): Promise<void> {
    const chosen = rowsOf(rows, (row) => !this.#entries.has(row.session) && counts(row));
    for await (const [row, stored] of withSnapshots(this.#options.log, chosen, SNAPSHOT.projection))
      await this.#note(row, stored);
  }

  async #note(row: Row, stored?: Snapshot): Promise<void> {
    const { metadata = {}, session, parent } = row;
    const root = rootOf(session, parent);
    try {
      const spent = await this.#read(row, stored);
      this.#set(session, { metadata, root, usage: undefined, spent });
    } catch (error) {
      // A session that cannot be read must not stop the others; its list row has the problem.
      problemOf(error);
    }
  }

  async #read(row: Row, known: Snapshot | undefined): Promise<Spent> {
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

async function* rowsOf(
  rows: AsyncIterable<ListedSession>,
  isChosen: (row: ListedSession) => boolean,
): AsyncGenerator<ListedSession> {
  for await (const row of rows) if (isChosen(row)) yield row;
}

// Names of what a limit of spending counts together: a session with its sub-agents, and the sessions of a key.

function member(key: string, metadata: JsonObject): string {
  return JSON.stringify([key, metadata[key]]);
}

function familyOf(root: string): string {
  return JSON.stringify([root]);
}

/** The session at the top: the id of a sub-agent has one segment more than its parent's. */
function rootOf(session: string, parent: ParentCall | undefined): string {
  return parent === undefined ? session : session.split("/").slice(0, -parent.depth).join("/");
}
