/**
 * Sums what all sessions of a store spent, in cells by day and payer. A reader brings the sums up to date: it loads
 * the stored cells, folds the newer events, and stores the result from time to time. Several processes may do this.
 * The stored sums are a cache: the log and the tombstones of deleted sessions contain the same amounts.
 */

import { z } from "zod";
import {
  add,
  type Amount,
  BillCells,
  billCellsSchema,
  billDimensions,
  nothing,
  noPayer,
  paid,
  payerSchema,
  type BillCell,
  type KnownLimits,
  type Payer,
  billRows,
  modelCatalogue,
  type BillQuery,
  type BillRow,
} from "../../context/index.ts";
import {
  allReadableEvents,
  defined,
  readableEvents,
  TurnlogError,
  type EventLog,
  type GlobalEvent,
  type JsonValue,
  type SessionEvent,
  type Snapshot,
} from "../../events/index.ts";
import { toJson } from "../../shared/index.ts";
import { withSnapshots } from "../../state/index.ts";

interface BillModelOptions {
  readonly log: EventLog;
  /** The keys of the metadata that calls are summed by. */
  readonly keys: readonly string[];
  /** The prices of a payer's agent, once `ready` has resolved. */
  readonly prices: (payer: Payer) => KnownLimits;
  readonly ready: () => Promise<void>;
  readonly onWarning: (error: TurnlogError) => void;
  /** Whether nothing is stored: for a reader of a log that others write. */
  readonly isReadOnly?: boolean;
}

/** The name of snapshots over all sessions. */
const ALL = "";
const VERSION = 1;
/** Between two writes of the sums: as many events are folded again after a death. */
const EVENTS_PER_STORE = 2000;
/** The sessions whose payers stay in memory. */
const PAYERS_KEPT = 1000;
const WRITES_AT_ONCE = 100;
/** How often the sums of deleted sessions were removed: all that was stored before counts no longer. */
const FORGOTTEN = "bill-forgotten";

const daysSchema = z.lazy(() => z.array(z.string()));
const ownPayerSchema = z.lazy(() => z.object({ session: z.string(), payer: payerSchema }));

/** What cannot be read may not stop the bill of all others. */
const damages: ReadonlySet<string> = new Set([
  "LOG_DAMAGED",
  "EVENT_INVALID",
  "EVENT_TOO_NEW",
  "KEY_MISSING",
  "KEY_WRONG",
]);
const MOST_SKIPPED = 10_000;

/** Events that are folded together. */
const TOGETHER = 256;

/** The entries in lists that are not empty, also those before an error. */
async function* together(entries: AsyncIterable<GlobalEvent>): AsyncGenerator<GlobalEvent[]> {
  let list: GlobalEvent[] = [];
  try {
    for await (const entry of entries) {
      if (list.push(entry) < TOGETHER) continue;
      yield list;
      list = [];
    }
  } catch (error) {
    if (list.length > 0) yield list;
    throw error;
  }
  if (list.length > 0) yield list;
}

function payerIn(stored: Snapshot | undefined, session: string, before: number): Known | undefined {
  const known = ownPayerSchema.safeParse(stored?.state).data;
  if (stored === undefined || known?.session !== session || stored.position >= before)
    return undefined;
  return { payer: known.payer, position: stored.position, isChanged: false };
}

interface Day {
  /** The global position up to which its cells are complete. */
  position: number;
  readonly cells: BillCells;
  isChanged: boolean;
}

interface Known {
  payer: Payer;
  /** The last event of the session that changed it. */
  position: number;
  isChanged: boolean;
}

export class BillModel {
  readonly #options: BillModelOptions;
  readonly #days = new Map<string, Day>();
  readonly #payers = new Map<string, Known>();
  #isMade = false;
  #position = 0;
  /** The position of the last stored sums. New sums are stored at once, because a deletion looks for them. */
  #stored = -Infinity;
  #forgotten = 0;
  #running: Promise<unknown> = Promise.resolve();
  #next: Promise<void> | undefined;
  /** Called with the session of each call that is new here; without one if any may have had some. */
  onCall: (session?: string) => void = () => {};

  constructor(options: BillModelOptions) {
    this.#options = options;
  }

  /** @throws TurnlogError `INVALID_INPUT` for a name that calls are not summed by */
  assertNames(option: string, names: readonly string[]): void {
    const known = [...billDimensions, ...this.#options.keys];
    const unknown = names.find((name) => !known.includes(name));
    if (unknown === undefined) return;
    const listed = known.map((name) => `\`${name}\``).join(", ");
    throw new TurnlogError(
      "INVALID_INPUT",
      `bill: \`${option}\` has \`${unknown}\`, which calls are not summed by. They are by ${listed}; the runtime's option \`bill.keys\` adds keys of the metadata.`,
      { details: { option } },
    );
  }

  *cells(): Generator<BillCell> {
    for (const { cells } of this.#days.values()) yield* cells.all;
  }

  /** What was spent on the days that begin with a text, by sessions with a value (JSON) under a key. */
  spent(key: string, value: string, period: string): Amount {
    const days = [...this.#days].filter(([day]) => day.startsWith(period));
    return days.reduce((sum, [, { cells }]) => add(sum, cells.spent(key, value)), nothing);
  }

  /** Resolves when it has everything that was in the log when this was called. */
  caughtUp(): Promise<void> {
    // A run that has begun may have read past some of it.
    this.#next ??= this.#alone(async () => {
      this.#next = undefined;
      await this.#catchUp();
      const { isReadOnly = false } = this.#options;
      if (isReadOnly || this.#position - this.#stored < EVENTS_PER_STORE) return;
      await this.#store().catch((cause: unknown) => {
        const what =
          "The sums of what sessions spent could not be stored. They are right, and are stored later.";
        this.#options.onWarning(new TurnlogError("LOG_FAILED", what, { cause }));
      });
    });
    return this.#next;
  }

  /** What a session that is to be deleted leaves. Before that, the stored sums get what they lack. */
  async left(session: string): Promise<JsonValue | undefined> {
    return await this.#alone(async () => {
      const { stored } = await this.#lookUp();
      // Without sums, the first ones are made from what deleted sessions have left.
      if (stored !== undefined || this.#isMade) {
        await this.#catchUp();
        await this.#store();
      }
      const cells = await this.#cellsOf(session);
      return cells.length === 0 ? undefined : toJson(cells);
    });
  }

  /** Removes all sums, after the deletion of a session that left none: the next ones are made from the log. */
  async forget(): Promise<void> {
    await this.#alone(async () => {
      const { stored } = await this.#lookUp();
      const days = daysSchema.safeParse(stored?.state).data ?? [];
      const names = [this.#name(), ...days.map((day) => this.#name(day))];
      this.#clear(this.#forgotten + 1);
      await this.#save(FORGOTTEN, this.#forgotten, null);
      // Nobody reads these names again.
      for (const name of names) {
        const kept = await this.#options.log.loadSnapshot(ALL, name);
        if (kept !== undefined) await this.#save(name, kept.position, null);
      }
    });
  }

  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#running.then(work);
    this.#running = done.catch(() => {});
    return done;
  }

  async #catchUp(): Promise<void> {
    for (let before = await this.#lookUp(); ;) {
      const { stored } = before;
      if (stored !== undefined && !(this.#isMade && stored.position <= this.#position))
        await this.#takeStored(stored);
      if (this.#isMade) await this.#fold();
      else await this.#make();
      // What was read lacks a session that was deleted meanwhile. Whoever deletes one stores the sums before.
      const after = await this.#lookUp();
      if (after.mark === before.mark) return;
      before = after;
    }
  }

  async #lookUp(): Promise<{ readonly mark: string; readonly stored: Snapshot | undefined }> {
    const { log } = this.#options;
    const forgotten = (await log.loadSnapshot(ALL, FORGOTTEN))?.position ?? 0;
    if (forgotten !== this.#forgotten) this.#clear(forgotten);
    const stored = await log.loadSnapshot(ALL, this.#name());
    return { mark: `${forgotten} ${stored?.position}`, stored };
  }

  #clear(forgotten = this.#forgotten): void {
    this.#forgotten = forgotten;
    this.#days.clear();
    this.#payers.clear();
    this.#isMade = false;
    this.#position = 0;
    this.#stored = -Infinity;
    this.onCall();
  }

  async #takeStored({ state, position }: Snapshot): Promise<void> {
    const { log } = this.#options;
    this.#clear();
    const days = daysSchema.safeParse(state).data ?? [];
    const all = await Promise.all(days.map((day) => log.loadSnapshot(ALL, this.#name(day))));
    for (const [index, day] of days.entries()) {
      const stored = all[index];
      const known = billCellsSchema.safeParse(stored?.state).data;
      // Made again from the log.
      if (stored === undefined || known === undefined) return this.#clear();
      const cells = new BillCells(known);
      this.#days.set(day, { cells, position: stored.position, isChanged: false });
    }
    this.#position = this.#stored = position;
    this.#isMade = true;
  }

  async #make(): Promise<void> {
    while (!this.#isMade) {
      this.#clear();
      const deleted = await Array.fromAsync(this.#options.log.deleted());
      for (const { spent } of deleted)
        for (const cell of billCellsSchema.safeParse(spent).data ?? []) this.#add(cell, 1);
      await this.#fold();
      const since = await Array.fromAsync(this.#options.log.deleted());
      this.#isMade = since.length === deleted.length;
    }
  }

  /** Adds the events behind its position. One that cannot be read is left out. */
  async #fold(): Promise<void> {
    const { log, ready, onWarning } = this.#options;
    let isReady = false;
    for (let skipped = 0; ; skipped++) {
      try {
        const events = allReadableEvents(log, this.#position + 1, onWarning);
        for await (const entries of together(events)) {
          // Loading the catalogue of prices takes as long as reading all sums.
          if (!isReady) await ready();
          isReady = true;
          await this.#loadPayers(entries);
          for (const entry of entries) {
            if (!entry.event.type.startsWith("part.")) await this.#take(entry);
            this.#position = entry.position;
          }
        }
        return;
      } catch (error) {
        const isDamage = TurnlogError.isInstance(error) && damages.has(error.code);
        if (!isDamage || skipped > MOST_SKIPPED) throw error;
        onWarning(error);
        this.#position += 1;
      }
    }
  }

  /** Those of running sessions, by one look-up: where the log is far, each alone would take a round trip. */
  async #loadPayers(entries: readonly GlobalEvent[]): Promise<void> {
    const unknown = entries.filter(({ session }) => !this.#payers.has(session));
    const first = new Map(unknown.toReversed().map((entry) => [entry.session, entry]));
    const begun = [...first.values()].filter(({ event }) => event.position > 1);
    if (begun.length === 0) return;
    const read = withSnapshots(this.#options.log, begun, this.#payerName);
    for await (const [{ session, event }, stored] of read) {
      const known = payerIn(stored, session, event.position);
      if (known !== undefined) this.#payers.set(session, known);
    }
  }

  async #take({ session, event, position }: GlobalEvent): Promise<void> {
    const { keys, prices } = this.#options;
    const known = await this.#payerOf(session, event.position);
    const parent = event.type === "session.created" ? event.data.parent : undefined;
    const caller = parent && (await this.#payerOf(parent.session)).payer.actor;
    const { payer, cells } = paid(known.payer, event, { keys, caller, prices });
    this.#payers.set(session, { payer, position: event.position, isChanged: true });
    for (const cell of cells) this.#add(cell, position);
    if (cells.length > 0) this.onCall(session);
  }

  #add(cell: BillCell, position: number): void {
    const day = this.#day(cell.day);
    // A day may have been stored with more than the rest.
    if (position <= day.position) return;
    day.cells.add(cell);
    day.isChanged = true;
  }

  #day(day: string): Day {
    const known = this.#days.get(day);
    if (known !== undefined) return known;
    const made: Day = { cells: new BillCells(), position: 0, isChanged: false };
    this.#days.set(day, made);
    return made;
  }

  /** The payer of a session before one of its events; without a position, the last one that is known. */
  async #payerOf(session: string, before?: number): Promise<Known> {
    const known = this.#payers.get(session);
    if (known !== undefined) return known;
    const stored = await this.#storedPayer(session, before);
    if (stored !== undefined) return stored;
    const { keys, prices } = this.#options;
    let payer = noPayer;
    if (before !== undefined && before > 1)
      for await (const event of this.#eventsOf(session, before - 1))
        ({ payer } = paid(payer, event, { keys, caller: undefined, prices }));
    return { payer, position: 0, isChanged: false };
  }

  /** The stored one, which is of a fork's source as long as the fork has none, or newer if another process stored it. */
  async #storedPayer(session: string, before = Infinity): Promise<Known | undefined> {
    if (before === 1) return undefined;
    const stored = await this.#options.log.loadSnapshot(session, this.#payerName);
    return payerIn(stored, session, before);
  }

  async *#eventsOf(session: string, to?: number): AsyncGenerator<SessionEvent> {
    const { log, onWarning } = this.#options;
    try {
      yield* readableEvents(log, session, defined({ to }), onWarning);
    } catch (error) {
      if (!TurnlogError.isInstance(error) || !damages.has(error.code)) throw error;
      onWarning(error);
    }
  }

  /** What a session itself has spent. */
  async #cellsOf(session: string): Promise<readonly BillCell[]> {
    const { keys, prices, ready } = this.#options;
    await ready();
    const caller = (await this.#payerOf(session)).payer.actor;
    let sum = new BillCells();
    let payer = noPayer;
    for await (const event of this.#eventsOf(session)) {
      const after = paid(payer, event, { keys, caller, prices });
      ({ payer } = after);
      // Its source pays for what a fork shares.
      if (event.type === "session.forked") sum = new BillCells();
      for (const cell of after.cells) sum.add(cell);
    }
    return sum.all;
  }

  /** The payers first, and which days there are last: it never says more than is stored. */
  async #store(): Promise<void> {
    const position = this.#position;
    const changed = [...this.#payers].filter(([, { isChanged }]) => isChanged);
    for (let first = 0; first < changed.length; first += WRITES_AT_ONCE)
      await Promise.all(
        changed
          .slice(first, first + WRITES_AT_ONCE)
          .map(([session, known]) => this.#storePayer(session, known)),
      );
    for (const [day, own] of this.#days) {
      if (!own.isChanged) continue;
      await this.#save(this.#name(day), position, toJson(own.cells.all));
      Object.assign(own, { isChanged: false, position });
    }
    await this.#save(this.#name(), position, [...this.#days.keys()]);
    this.#stored = position;
    if (this.#payers.size > PAYERS_KEPT) this.#payers.clear();
  }

  async #storePayer(session: string, known: Known): Promise<void> {
    const { position, payer } = known;
    const snapshot = { projection: this.#payerName, version: VERSION, position };
    try {
      const state = toJson({ session, payer });
      await this.#options.log.saveSnapshot(session, { ...snapshot, state });
    } catch (error) {
      if (!TurnlogError.isInstance(error) || error.code !== "SESSION_DELETED") throw error;
    }
    known.isChanged = false;
  }

  async #save(projection: string, position: number, state: JsonValue): Promise<void> {
    await this.#options.log.saveSnapshot(ALL, { projection, version: VERSION, position, state });
  }

  // Other keys are another model.

  #name(day = ""): string {
    return `bill ${VERSION} ${this.#forgotten} ${JSON.stringify(this.#options.keys)} ${day}`;
  }

  get #payerName(): string {
    return `payer ${VERSION} ${JSON.stringify(this.#options.keys)}`;
  }
}

// The sums of `Runtime.bill` without a runtime, for the command line.

/** A name in `by` or `where` that is not a field of a call is a key of the metadata. */
export async function readStoreBill(
  log: EventLog,
  query: BillQuery,
  onWarning: (error: TurnlogError) => void,
): Promise<readonly BillRow[]> {
  const named = [...[query.by ?? []].flat(), ...Object.keys(query.where ?? {})];
  const own = named.filter((name) => !billDimensions.some((dimension) => dimension === name));
  const model = await modelOf(log, own, onWarning);
  await model.caughtUp();
  return billRows(model.cells(), query);
}

/**
 * Deletes a session of a store that no runtime has open, and keeps what it spent by day, agent, model and actor. The
 * stored sums of runtimes, which may sum by other keys, are made again.
 */
export async function keepingBill<Deleted>(
  log: EventLog,
  session: string,
  onWarning: (error: TurnlogError) => void,
  work: (spent: JsonValue | undefined) => Promise<Deleted>,
): Promise<Deleted> {
  const model = await modelOf(log, [], onWarning);
  const deleted = await work(await model.left(session));
  await model.forget();
  return deleted;
}

async function modelOf(
  log: EventLog,
  keys: readonly string[],
  onWarning: (error: TurnlogError) => void,
): Promise<BillModel> {
  const catalogue = await modelCatalogue();
  return new BillModel({
    log,
    keys: [...new Set(["tenant", ...keys])],
    prices: () => ({ catalogue }),
    ready: () => Promise.resolve(),
    onWarning,
    isReadOnly: true,
  });
}
