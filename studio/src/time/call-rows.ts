/** The events of one call as one row of the list, until a person opens it: the events of several calls mix. Pure. */

import type { SessionEvent } from "../../../src/public/events.ts";
import type { Row } from "../data/types.ts";
import { oneLine, shortJson } from "../data/words.ts";
import { gistOf } from "./event-words.ts";

export interface CallRows {
  readonly key: string;
  readonly rows: readonly Row[];
}

export interface ListedRow {
  readonly row: Row;
  /** Of the first row of a call that has several. */
  readonly call?: CallRows;
}

export interface Listed {
  readonly rows: readonly ListedRow[];
  /** The index of the row that stands for an event, by the event's position. */
  readonly hidden: ReadonlyMap<number, number>;
}

/** @param open - The keys of the calls whose rows are all listed; undefined lists all rows of all. */
export function listedRows(rows: readonly Row[], open: ReadonlySet<string> | undefined): Listed {
  const hidden = new Map<number, number>();
  if (open === undefined) return { rows: rows.map((row) => ({ row })), hidden };
  let step = 0;
  const keys = rows.map(({ event }) => {
    if (event.type === "step.started") step = event.data.step;
    return callOf(event, step);
  });
  const calls = Map.groupBy(rows.keys(), (index) => keys[index]);
  const listed: ListedRow[] = [];
  const heads = new Map<string, number>();
  for (const [index, row] of rows.entries()) {
    const key = keys[index];
    const of = key === undefined ? [] : (calls.get(key) ?? []);
    const head = key === undefined ? undefined : heads.get(key);
    if (key === undefined || of.length < 2) listed.push({ row });
    else if (head === undefined) {
      heads.set(key, listed.length);
      listed.push({ row, call: { key, rows: of.flatMap((one) => rows[one] ?? []) } });
    } else if (open.has(key)) listed.push({ row });
    else hidden.set(row.event.position, head);
  }
  return { rows: listed, hidden };
}

/** A provider may use the id of a call again in a later step. */
function callOf({ type, data }: SessionEvent, step: number): string | undefined {
  const id =
    "callId" in data
      ? data.callId
      : "toolCallId" in data
        ? data.toolCallId
        : type.startsWith("part.tool-input-") && "id" in data
          ? data.id
          : undefined;
  const of = "callId" in data && "step" in data ? data.step : step;
  return id === undefined ? undefined : JSON.stringify([of, id]);
}

/** What is called with what, and what came of it. */
export function callGist({ rows }: CallRows): string {
  const call = rows.find(({ event }) => event.type === "part.tool-call")?.event;
  const last = rows.at(-1);
  const called =
    call?.type === "part.tool-call"
      ? `${call.data.toolName} ${oneLine(shortJson(call.data.input), 120)}`
      : "input";
  if (last === undefined || last.event === call) return called;
  return `${called} → ${last.event.type.slice(last.event.type.indexOf(".") + 1)} ${gistOf(last)}`;
}
