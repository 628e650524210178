/**
 * Says before each model call whether a limit of spending would be passed. What a session and its sub-agents have
 * spent comes from their states, as long as one of them is live; what the sessions of a key have spent comes from
 * the sums over all sessions.
 */

import {
  add,
  type Amount,
  type Budget,
  callsSince,
  dayOf,
  type KnownLimits,
  leastCost,
  nothing,
  passedLimit,
  periodOf,
  type PricedCall,
} from "../../context/index.ts";
import type { EventBody, EventLog, JsonObject, ModelName, ParentCall } from "../../events/index.ts";
import { problemOf, readSessionState, type SessionState } from "../../state/index.ts";
import type { BillModel } from "./bill-model.ts";

/**
 * Limits of spending. A turn that would pass one ends as `out-of-budget` before its next model call, or waits until a
 * person allows more.
 */
export interface SpendingLimits {
  /** For each turn together with the sub-agents that it calls. */
  readonly turn?: Omit<Budget, "per">;
  /** For each session together with its sub-agents. */
  readonly session?: Budget;
  /** For all sessions together that have the same value under a key of their metadata, by key. */
  readonly perKey?: Readonly<Record<string, Budget>>;
}

export interface LedgerOptions {
  readonly log: EventLog;
  readonly limits: SpendingLimits;
  readonly bill: BillModel;
  readonly clock: () => number;
  /** The prices for a session that is not live. */
  readonly prices: (agent: string | undefined) => KnownLimits;
  readonly ready: () => Promise<void>;
}

interface Entry {
  /** The session at the top: its own, or the one whose sub-agent it is. */
  readonly root: string;
  readonly metadata: JsonObject;
  readonly usage: SessionState["usage"];
  readonly calls: readonly PricedCall[];
  /** When its turn began; undefined between turns. */
  readonly since: number | undefined;
  /** When its last turn began. */
  readonly began: number;
  /** What people allowed that turn. */
  readonly allowed: NonNullable<SessionState["machine"]["context"]["allowed"]>;
}

/** What a call costs at least, until its bill is in the sums that it counts for. */
interface Reserved extends Amount {
  readonly metadata: JsonObject;
  /** Its bill is in its session's state. */
  isBilled: boolean;
}

export class SpendingLedger {
  readonly #options: LedgerOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #reserved = new Map<string, Reserved>();
  readonly #loaded = new Map<string, Promise<void>>();

  constructor(options: LedgerOptions) {
    this.#options = options;
    options.bill.onCall = (session) => {
      for (const [name, { isBilled }] of this.#reserved)
        if (isBilled && (session === undefined || session === name)) this.#reserved.delete(name);
    };
  }

  /** Reads once what a session and its sub-agents have spent. */
  async load(session: string, parent: ParentCall | undefined): Promise<void> {
    const { turn, session: own } = this.#options.limits;
    if (turn === undefined && own === undefined) return;
    const root = rootOf(session, parent);
    const loading = this.#loaded.get(root) ?? this.#load(root);
    this.#loaded.set(root, loading);
    try {
      await loading;
    } catch (error) {
      this.#loaded.delete(root);
      throw error;
    }
  }

  /** Whether a limit counts what other sessions spend: then {@link read} comes before each call. */
  get readsOthers(): boolean {
    return this.#keys.length > 0;
  }

  async read(): Promise<void> {
    await this.#options.bill.caughtUp();
  }

  /** Notes the usage of a live session. @param known - Its prices */
  observe(session: string, { usage, summary, machine }: SessionState, known: KnownLimits): void {
    const { metadata = {}, parent, lastTurnAt = 0 } = summary;
    const before = this.#entries.get(session);
    const calls = callsSince(before?.usage, usage, known);
    this.#entries.set(session, {
      root: rootOf(session, parent),
      metadata,
      usage,
      calls: [...(before?.calls ?? []), ...calls],
      since: usage.turn === 0 ? undefined : lastTurnAt,
      began: lastTurnAt,
      allowed: machine.context.allowed ?? [],
    });
    const reserved = this.#reserved.get(session);
    if (calls.length === 0 || reserved === undefined) return;
    if (!this.readsOthers) this.#reserved.delete(session);
    else reserved.isBilled = true;
  }

  forget(session: string): void {
    this.#entries.delete(session);
    this.#loaded.delete(session);
    this.#reserved.delete(session);
  }

  /** Forgets a session and its sub-agents once none is live. */
  passivated(session: string, isLive: (session: string) => boolean): void {
    const { root = session } = this.#entries.get(session) ?? {};
    const family = [...this.#entries].filter(([, entry]) => entry.root === root);
    const names = [root, session, ...family.map(([name]) => name)];
    if (!names.some((name) => isLive(name))) for (const name of names) this.forget(name);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The event that ends or holds a turn before its next call; undefined if the call may be made. */
  limitReached(
    { session, state }: { readonly session: string; readonly state: SessionState },
    call: { readonly model: ModelName; readonly promptTokens: number | undefined },
    known: KnownLimits,
  ): EventBody<"turn.limit-reached" | "turn.held"> | undefined {
    this.observe(session, state, known);
    const time = this.#options.clock();
    const next = leastCost({ ...call, time }, known);
    const { metadata = {} } = state.summary;
    for (const { of, budget, spent } of this.#spentOf(session, metadata, time)) {
      const reached = passedLimit(of, budget, spent, next, this.#allowed(session, of));
      if (reached === undefined) continue;
      const { turn } = state.machine.context;
      // No amount would allow a call without a price.
      if (budget.hold === true && reached.unpriced === undefined)
        return { type: "turn.held", data: { turn, budget: reached } };
      const data = { turn, limit: "budget", lastStep: false, budget: reached } as const;
      return { type: "turn.limit-reached", data };
    }
    const reserved = { tokens: next.tokens, dollars: next.dollars ?? 0, metadata, isBilled: false };
    if (call.promptTokens !== undefined) this.#reserved.set(session, reserved);
    return undefined;
  }

  get #keys(): readonly string[] {
    return Object.keys(this.#options.limits.perKey ?? {});
  }

  *#spentOf(session: string, metadata: JsonObject, time: number) {
    const { turn, session: own, perKey = {} } = this.#options.limits;
    const root = this.#entries.get(session)?.root ?? session;
    if (own !== undefined)
      yield {
        of: "session",
        budget: own,
        spent: this.#spentBelow(root, root, session, ({ time: at }) =>
          dayOf(at).startsWith(periodOf(own.per, time)),
        ),
      };
    // A sub-agent spends for its own turn, and for each turn above it that waits for it.
    for (const [above, { since }] of this.#entries)
      if (turn !== undefined && since !== undefined && isBelow(session, above))
        yield {
          of: "turn",
          budget: turn,
          spent: this.#spentBelow(above, root, session, ({ time: at }) => at >= since),
        };
    for (const [key, budget] of Object.entries(perKey))
      if (Object.hasOwn(metadata, key))
        yield {
          of: key,
          budget,
          spent: this.#spentOfKey(key, metadata, budget.per, time, session),
        };
  }

  /** What people allowed on top of a limit: in this turn, and in those of the sessions that call it or that it calls. */
  #allowed(session: string, of: string): Amount {
    const { root = session, began = 0 } = this.#entries.get(session) ?? {};
    const since = this.#entries.get(root)?.since ?? began;
    const family = [...this.#entries.values()].filter(
      (entry) => entry.root === root && entry.began >= since,
    );
    return family
      .flatMap(({ allowed }) => allowed.filter((one) => one.of === of))
      .reduce<Amount>(add, nothing);
  }

  #spentBelow(
    top: string,
    root: string,
    asking: string,
    counts: (call: PricedCall) => boolean,
  ): Amount {
    let sum = nothing;
    for (const [name, entry] of this.#entries) {
      if (entry.root !== root || !isBelow(name, top)) continue;
      for (const call of entry.calls) if (counts(call)) sum = add(sum, call);
      const reserved = this.#reserved.get(name);
      if (name !== asking && reserved?.isBilled === false) sum = add(sum, reserved);
    }
    return sum;
  }

  #spentOfKey(
    key: string,
    metadata: JsonObject,
    per: Budget["per"],
    time: number,
    asking: string,
  ): Amount {
    const value = JSON.stringify(metadata[key]);
    const reserved = [...this.#reserved].filter(
      ([name, one]) =>
        (name !== asking || one.isBilled) &&
        Object.hasOwn(one.metadata, key) &&
        JSON.stringify(one.metadata[key]) === value,
    );
    const spent = this.#options.bill.spent(key, value, periodOf(per, time));
    return reserved.reduce((sum, [, one]) => add(sum, one), spent);
  }

  async #load(root: string): Promise<void> {
    const { log, prices, ready } = this.#options;
    await ready();
    for await (const { session } of log.list({ prefix: root })) {
      if (!isBelow(session, root) || this.#entries.has(session)) continue;
      try {
        const state = await readSessionState(log, session);
        if (rootOf(session, state.summary.parent) !== root) continue;
        // An actor may have told of it meanwhile.
        if (!this.#entries.has(session)) this.observe(session, state, prices(state.summary.agent));
      } catch (error) {
        // A session that cannot be read must not stop the others; its list row has the problem.
        problemOf(error);
      }
    }
  }
}

/** The id of a sub-agent has one segment more than its parent's. */
function rootOf(session: string, parent: ParentCall | undefined): string {
  return parent === undefined ? session : session.split("/").slice(0, -parent.depth).join("/");
}

function isBelow(session: string, top: string): boolean {
  return session === top || session.startsWith(`${top}/`);
}
