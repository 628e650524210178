/**
 * Who pays for the calls of all sessions. A payer is what a session's bill needs of its events; a cell sums the calls
 * of one day that have the same payer, model and purpose. Pure.
 */

import { z } from "zod";
import {
  defined,
  jsonObjectSchema,
  type AgentDescription,
  type JsonObject,
  type JsonValue,
  type SessionEvent,
  type EventBody,
  type ModelName,
  isRecord,
} from "../../events/index.ts";
import {
  runningStepSchema,
  usage,
  type UsageState,
  ownBeside,
  ownSteps,
} from "../../projections/index.ts";
import { uncheckedCallCost, type KnownLimits, callCost } from "../models/model-limits.ts";

/** The most that may be spent. */
export interface Budget {
  /** Tokens of prompts and replies, summaries and retries included. */
  readonly tokens?: number;
  /** US dollars. A model without a known price cannot be called under this limit. */
  readonly dollars?: number;
  /** Starts counting again each UTC day or month. Default: counts everything that was ever spent. */
  readonly per?: "day" | "month";
  /** The turn waits until a person allows more, instead of ending. Default: false. */
  readonly hold?: boolean;
}

export interface Amount {
  readonly tokens: number;
  readonly dollars: number;
}

/** A call with what it cost; a price that is not known counts as 0. */
export interface PricedCall extends Amount {
  readonly time: number;
}

export const nothing: Amount = { tokens: 0, dollars: 0 };

/** What a session itself has spent since an earlier usage, with the prices at the time of each call. */
export function callsSince(
  before: UsageState | undefined,
  usage: UsageState,
  known: KnownLimits,
): readonly PricedCall[] {
  const calls =
    before === undefined
      ? [...ownSteps(usage), ...ownBeside(usage)]
      : [...usage.steps.slice(before.steps.length), ...usage.beside.slice(before.beside.length)];
  return calls.map(({ model, time, usage: used }) => ({
    time,
    tokens: used.inputTokens + used.outputTokens,
    dollars: (model && callCost(model, used, time, known)) ?? 0,
  }));
}

/** What the days of the period of a time begin with: nothing for all time. */
export function periodOf(per: Budget["per"], time: number): string {
  return per === undefined ? "" : dayOf(time).slice(0, per === "day" ? 10 : 7);
}

export function add(one: Amount, other: Amount): Amount {
  return { tokens: one.tokens + other.tokens, dollars: one.dollars + other.dollars };
}

/** The UTC day of a time, as `2026-01-31`. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/**
 * The next call as far as it is known: its model, and the tokens of its prompt if they are already estimated.
 */
interface NextCall {
  readonly model: ModelName;
  readonly promptTokens: number | undefined;
  readonly time: number;
}

/** The lowest amount that the next call costs: its prompt without a cache. Undefined dollars: no price is known. */
export function leastCost(
  { model, promptTokens = 0, time }: NextCall,
  known: KnownLimits,
): { readonly tokens: number; readonly dollars: number | undefined } {
  const usage = { basis: "estimated", inputTokens: promptTokens, outputTokens: 0 } as const;
  return { tokens: promptTokens, dollars: callCost(model, usage, time, known) };
}

type Reached = NonNullable<EventBody<"turn.limit-reached">["data"]["budget"]>;

/**
 * The limit that a call would exceed; undefined if it may be made. `of`: `turn`, `session`, or a key of the metadata.
 * `allowed`: what people allowed on top of it.
 */
export function passedLimit(
  of: string,
  budget: Budget,
  spent: Amount,
  next: ReturnType<typeof leastCost>,
  allowed = nothing,
): Reached | undefined {
  for (const unit of ["tokens", "dollars"] as const) {
    const own = budget[unit];
    if (own === undefined) continue;
    const limit = own + allowed[unit];
    const reached = { of, unit, limit, spent: spent[unit] };
    const cost = next[unit];
    if (cost === undefined) return { ...reached, unpriced: true };
    if (spent[unit] >= limit || spent[unit] + cost > limit) return reached;
  }
  return undefined;
}

/** What calls cost together. */
export interface BillSums {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the input: read from the provider's cache, and written to it. */
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** US dollars, by the prices at the time of each call, as far as they are known. */
  readonly dollars: number;
  /** Calls without a known price. */
  readonly unpriced: number;
}

/** What was spent by calls of one day, model, purpose and payer. */
export interface BillCell extends BillSums {
  /** UTC, as `2026-01-31`. */
  readonly day: string;
  readonly actor?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly purpose: "answer" | "retry" | "summary";
  readonly subAgent: boolean;
  /** The values of the declared keys. */
  readonly metadata: JsonObject;
}

/** Selects the calls to sum, and the values to group them by. */
export interface BillQuery {
  /**
   * One or more of `day`, `actor`, `agent`, `model`, `purpose`, `subAgent`, and keys of the metadata: `tenant` and
   * those of the runtime's `bill.keys` and `limits.perKey`. Default: one row for all.
   */
  readonly by?: string | readonly string[];
  /** The first and the last UTC day, as `2026-01-31`. */
  readonly from?: string;
  readonly to?: string;
  /** Values that the calls must have, by the same names as `by`. */
  readonly where?: JsonObject;
}

/** The sums of the calls that have the same values. */
export interface BillRow extends BillSums {
  /** By the names of `by`. A value that the calls do not have is left out. */
  readonly of: JsonObject;
}

/** Checked by hand: a process reads thousands for its first question, when zod is slowest. */
export const billCellsSchema: z.ZodType<readonly BillCell[]> = z.custom<readonly BillCell[]>(
  (value) => Array.isArray(value) && value.every(isCell),
);

const cellTypes = {
  day: "string",
  purpose: "string",
  subAgent: "boolean",
  metadata: "object",
  calls: "number",
  inputTokens: "number",
  outputTokens: "number",
  cacheReadTokens: "number",
  cacheWriteTokens: "number",
  dollars: "number",
  unpriced: "number",
} satisfies Partial<Record<keyof BillCell, string>>;

function isCell(value: unknown): value is BillCell {
  return (
    isRecord(value) && Object.entries(cellTypes).every(([key, type]) => typeof value[key] === type)
  );
}

/** A session at a position, as far as later calls need it. */
export interface Payer {
  readonly agent?: string | undefined;
  readonly subAgent: boolean;
  readonly metadata: JsonObject;
  /** Who began its turn; of a sub-agent, who began the turn that called it. */
  readonly actor?: string | undefined;
  /** The senders of waiting messages, by the ids of these. */
  readonly senders: readonly (readonly [message: string, by: string])[];
  readonly turn: number;
  readonly running?: UsageState["running"];
}

export const payerSchema: z.ZodType<Payer> = z.lazy(() =>
  z.object({
    agent: z.string().optional(),
    subAgent: z.boolean(),
    metadata: jsonObjectSchema,
    actor: z.string().optional(),
    senders: z.array(z.tuple([z.string(), z.string()])),
    turn: z.int(),
    running: runningStepSchema.exactOptional(),
  }),
);

export const noPayer: Payer = { subAgent: false, metadata: {}, senders: [], turn: 0 };

interface PayerOptions {
  /** The keys of the metadata that calls are summed by. */
  readonly keys: readonly string[];
  /** For a new sub-agent: who began the turn that calls it. */
  readonly caller: string | undefined;
  readonly prices: (payer: Payer) => KnownLimits;
}

/** The payer after an event, and what the event says was spent. */
export function paid(
  before: Payer,
  event: SessionEvent,
  options: PayerOptions,
): { readonly payer: Payer; readonly cells: readonly BillCell[] } {
  const payer = payerAfter(before, event, options);
  const { turn, running } = payer;
  const state = usage.fold({ ...usage.initial, turn, ...defined({ running }) }, event);
  const { running: _, ...rest } = payer;
  const after = { ...rest, turn: state.turn, ...defined({ running: state.running }) };
  const spent: readonly SpentBy[] = [
    ...state.steps.map((call) => ({ ...call, purpose: "answer" as const })),
    ...state.beside.map((call) => ({ ...call, purpose: besides[call.kind] })),
  ];
  if (spent.length === 0) return { payer: after, cells: [] };
  const known = options.prices(payer);
  return { payer: after, cells: spent.map((call) => cellOf(payer, call, known)) };
}

const besides = { retry: "retry", compaction: "summary" } as const;

type SpentBy = Pick<UsageState["beside"][number], "time" | "usage" | "model"> &
  Pick<BillCell, "purpose">;

function payerAfter(payer: Payer, event: SessionEvent, { keys, caller }: PayerOptions): Payer {
  const picked = (metadata: JsonObject = {}): JsonObject =>
    Object.fromEntries(
      keys.flatMap((key) => (Object.hasOwn(metadata, key) ? [[key, metadata[key] ?? null]] : [])),
    );
  switch (event.type) {
    case "session.created": {
      const { agent, metadata, parent } = event.data;
      const subAgent = parent !== undefined;
      const named = agentName(agent) ?? parent?.toolName;
      const actor = parent && caller;
      return { ...noPayer, agent: named, subAgent, metadata: picked(metadata), actor };
    }
    case "session.forked": {
      // The source pays for what runs at that moment.
      const { running: _, actor: __, ...shared } = payer;
      const agent = event.data.agent ? agentName(event.data.agent) : payer.agent;
      return { ...shared, agent, subAgent: false, turn: 0 };
    }
    case "session.configured":
      return { ...payer, agent: agentName(event.data.agent) ?? payer.agent };
    case "session.metadata-set":
      return { ...payer, metadata: picked(event.data.metadata) };
    case "message.queued": {
      const { id, by } = event.data;
      return by === undefined ? payer : { ...payer, senders: [...payer.senders, [id, by]] };
    }
    case "message.delivered": {
      const { ids, boundary } = event.data;
      const sender = payer.senders.find(([id]) => id === ids[0])?.[1];
      const senders = payer.senders.filter(([id]) => !ids.includes(id));
      return boundary === "turn" && !payer.subAgent
        ? { ...payer, senders, actor: sender }
        : { ...payer, senders };
    }
    case "message.withdrawn": {
      const { ids } = event.data;
      return { ...payer, senders: payer.senders.filter(([id]) => !ids.includes(id)) };
    }
    case "session.rewound": {
      const { again = [], by } = event.data;
      if (by === undefined || again.length === 0) return payer;
      return { ...payer, senders: [...payer.senders, ...again.map((id) => [id, by] as const)] };
    }
    default:
      return payer;
  }
}

function agentName({ name, id }: AgentDescription): string | undefined {
  return name ?? id;
}

function cellOf(
  { agent, actor, subAgent, metadata }: Payer,
  { time, usage: used, model, purpose }: SpentBy,
  known: KnownLimits,
): BillCell {
  const dollars = model === undefined ? undefined : uncheckedCallCost(model, used, time, known);
  return {
    day: dayOf(time),
    ...defined({ actor, agent, model: model && `${model.provider}:${model.modelId}` }),
    purpose,
    subAgent,
    metadata,
    calls: 1,
    inputTokens: used.inputTokens,
    outputTokens: used.outputTokens,
    cacheReadTokens: used.cacheReadTokens ?? 0,
    cacheWriteTokens: used.cacheWriteTokens ?? 0,
    dollars: dollars ?? 0,
    unpriced: dollars === undefined ? 1 : 0,
  };
}

/**
 * Cells, one for each day, payer, model and purpose. Most are read from a store and never added to: what finds a cell
 * by its values, and the sums of a key, are made when they are needed.
 */
export class BillCells {
  readonly #cells: BillCell[];
  #places: Map<string, number> | undefined;
  #spent: Map<string, Amount> | undefined;

  constructor(cells: readonly BillCell[] = []) {
    this.#cells = [...cells];
  }

  get all(): readonly BillCell[] {
    return this.#cells;
  }

  add(cell: BillCell): void {
    this.#places ??= new Map(this.#cells.map((one, place) => [valuesOf(one), place]));
    const values = valuesOf(cell);
    const place = this.#places.get(values) ?? this.#cells.length;
    const before = this.#cells[place];
    this.#cells[place] = before === undefined ? cell : { ...cell, ...sumOf([before, cell]) };
    this.#places.set(values, place);
    if (this.#spent !== undefined) spend(this.#spent, cell);
  }

  /** What those with a value (JSON) under a key of the metadata sum to. */
  spent(key: string, value: string): Amount {
    if (this.#spent === undefined) {
      this.#spent = new Map();
      for (const cell of this.#cells) spend(this.#spent, cell);
    }
    return this.#spent.get(`${key} ${value}`) ?? nothing;
  }
}

function valuesOf({ day, actor, agent, model, purpose, subAgent, metadata }: BillCell): string {
  return JSON.stringify([day, actor, agent, model, purpose, subAgent, metadata]);
}

function spend(spent: Map<string, Amount>, { metadata, dollars, ...cell }: BillCell): void {
  const tokens = cell.inputTokens + cell.outputTokens;
  for (const [key, value] of Object.entries(metadata)) {
    const name = `${key} ${JSON.stringify(value)}`;
    spent.set(name, add(spent.get(name) ?? nothing, { tokens, dollars }));
  }
}

function sumOf(all: readonly BillSums[]): BillSums {
  const of = (name: keyof BillSums): number => all.reduce((sum, one) => sum + one[name], 0);
  return {
    calls: of("calls"),
    inputTokens: of("inputTokens"),
    outputTokens: of("outputTokens"),
    cacheReadTokens: of("cacheReadTokens"),
    cacheWriteTokens: of("cacheWriteTokens"),
    dollars: of("dollars"),
    unpriced: of("unpriced"),
  };
}

/** The rows of a query, the dearest first. */
export function billRows(cells: Iterable<BillCell>, query: BillQuery): readonly BillRow[] {
  const { by = [], from = "", to = "9999", where = {} } = query;
  const names = [by].flat();
  const wanted = Object.entries(where).map(
    ([name, value]) => [name, JSON.stringify(value)] as const,
  );
  const rows = new Map<string, { readonly of: JsonObject; readonly cells: BillCell[] }>();
  for (const cell of cells) {
    if (cell.day < from || cell.day > to) continue;
    if (wanted.some(([name, value]) => JSON.stringify(valueOf(cell, name)) !== value)) continue;
    const values = names.map((name) => valueOf(cell, name));
    const key = JSON.stringify(values);
    const row = rows.get(key);
    if (row !== undefined) {
      row.cells.push(cell);
      continue;
    }
    const of = names.flatMap((name, index) => {
      const value = values[index];
      return value === undefined ? [] : [[name, value] as const];
    });
    rows.set(key, { of: Object.fromEntries(of), cells: [cell] });
  }
  return [...rows.values()]
    .map((row) => ({ of: row.of, ...sumOf(row.cells) }))
    .toSorted((one, other) => other.dollars - one.dollars || other.inputTokens - one.inputTokens);
}

export const billDimensions = ["day", "actor", "agent", "model", "purpose", "subAgent"] as const;

function valueOf(cell: BillCell, name: string): JsonValue | undefined {
  const own = billDimensions.find((dimension) => dimension === name);
  if (own !== undefined) return cell[own];
  return Object.hasOwn(cell.metadata, name) ? cell.metadata[name] : undefined;
}
