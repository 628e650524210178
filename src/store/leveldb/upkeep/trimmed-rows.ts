/** Computes the rows that trimming rules change and their replacements. Reads, writes nothing. */

import { decodeRow, eventsIn, replacingRows } from "../../event-rows/index.ts";
import { damagedAt } from "../../log-rules/index.ts";
import { Buffer } from "node:buffer";
import {
  type SessionEvent,
  type Codec,
  boundsTrimming,
  trimmed,
  type TrimRule,
} from "../../../events/index.ts";
import { allRows, type Database, eventKey, numberOf } from "../rows/index.ts";

/** A part that can be written alone: a reader finds each block of it complete or trimmed. */
export interface TrimmedRows {
  readonly replaced: readonly string[];
  readonly rows: readonly (readonly [key: string, row: string])[];
  readonly events: number;
  /** Bytes of keys and rows, uncompressed. */
  readonly before: number;
  readonly after: number;
}

export interface TrimRange {
  readonly session: string;
  readonly from: number;
  readonly to: number;
}

interface OldRow {
  readonly key: string;
  readonly row: string;
  readonly events: readonly SessionEvent[];
}

/**
 * The changed rows, from one bounding event to the next. `isCut`: as for {@link trimmed}.
 * @throws TurnlogError `LOG_DAMAGED` and what the codec throws
 */
export async function* trimmedRows(
  database: Database,
  codec: Codec,
  { session, from, to }: TrimRange,
  rules: readonly TrimRule[],
  isCut: (position: number) => boolean,
): AsyncGenerator<TrimmedRows> {
  const spans = rules.flatMap((rule) => rule.spans);
  const concerns = (first: number, last: number): boolean =>
    spans.some((span) => span.from <= last && first <= span.to);
  let rows: OldRow[] = [];
  let next = from;
  const change = function* (): Generator<TrimmedRows> {
    const changed = changedRows(codec, session, rows, rules, isCut);
    rows = [];
    if (changed !== undefined) yield changed;
  };
  for await (const [key, row] of allRows(database, {
    gte: eventKey(session, from),
    lte: eventKey(session, to),
  })) {
    const position = numberOf(key);
    const first = position - eventsIn(row) + 1;
    if (first !== next) throw damagedAt(session, next, "the event is missing");
    next = position + 1;
    if (!concerns(first, position)) {
      yield* change();
      continue;
    }
    const events = decodeRow(codec, row, { session, position });
    if (events.some(boundsTrimming)) yield* change();
    else rows.push({ key, row, events });
  }
  yield* change();
}

function changedRows(
  codec: Codec,
  session: string,
  old: readonly OldRow[],
  rules: readonly TrimRule[],
  isCut: (position: number) => boolean,
): TrimmedRows | undefined {
  const rest = trimmed(
    old.flatMap(({ events }) => events),
    rules,
    isCut,
  );
  const change = new RowChange(codec, session);
  let index = 0;
  for (const row of old) {
    change.take(row, rest.slice(index, index + row.events.length));
    index += row.events.length;
  }
  return change.finish();
}

class RowChange {
  readonly #codec: Codec;
  readonly #session: string;
  readonly #replaced = new Set<string>();
  readonly #rows: [key: string, row: string][] = [];
  #run: SessionEvent[] = [];
  #events = 0;
  #before = 0;
  #after = 0;

  constructor(codec: Codec, session: string) {
    this.#codec = codec;
    this.#session = session;
  }

  take({ key, row, events }: OldRow, rest: readonly SessionEvent[]): void {
    const changed = rest.filter((event, index) => event !== events[index]).length;
    if (changed === 0) return this.#write();
    this.#events += changed;
    this.#replaced.add(key);
    this.#before += key.length + Buffer.byteLength(row);
    this.#run.push(...rest);
  }

  finish(): TrimmedRows | undefined {
    this.#write();
    if (this.#events === 0) return undefined;
    return {
      replaced: [...this.#replaced],
      rows: this.#rows,
      events: this.#events,
      before: this.#before,
      after: this.#after,
    };
  }

  #write(): void {
    const [first] = this.#run;
    if (first === undefined) return;
    const rows = replacingRows(this.#codec, this.#session, first.position - 1, this.#run);
    for (const { position, row } of rows) {
      const key = eventKey(this.#session, position);
      this.#replaced.delete(key);
      this.#rows.push([key, row]);
      this.#after += key.length + Buffer.byteLength(row);
    }
    this.#run = [];
  }
}
