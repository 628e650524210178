/** The bill of the open session up to its position, and what it says in words. */

import type { SessionClient } from "../../../src/public/client.ts";
import type { Seen } from "../shell/seen.ts";
import { positionOf } from "../shell/seen.ts";
import { read } from "./client.ts";
import { indexAt } from "./rows.ts";
import type { Bill, BilledCall, BilledPart, CacheMiss, Row } from "./types.ts";
import { useAsked, type Asked } from "./use-asked.ts";
import { dollars, figure, tokens } from "./words.ts";

export type WhatIf = NonNullable<NonNullable<Parameters<SessionClient["bill"]>[0]>["whatIf"]>;

/** The last position that was paid for: a bill is the same until the next one. */
function lastPaid(rows: readonly Row[], position: number): number | undefined {
  for (let index = indexAt(rows, position); index >= 0; index--) {
    const { event } = rows[index] ?? {};
    if (event !== undefined && "usage" in event.data && event.data.usage !== undefined)
      return event.position;
  }
  return undefined;
}

/** Undefined before the first call was paid for. */
export function useBill(
  seen: Seen,
  { whatIf, isAsked = true }: { readonly whatIf?: WhatIf; readonly isAsked?: boolean } = {},
): Asked<Bill> & { readonly at?: number } {
  const { feed, reading, isWhole } = seen;
  const at = isWhole && isAsked ? lastPaid(feed.rows, positionOf(seen)) : undefined;
  const asked = whatIf === undefined ? undefined : JSON.stringify(whatIf);
  const key = at === undefined ? undefined : `${at} ${reading} ${asked}`;
  const bill = useAsked(key, (signal) =>
    read<Bill>(feed.id, "bill", { position: at, whatIf: asked }, signal),
  );
  return at === undefined ? {} : { ...bill, at };
}

export interface BilledTurn {
  /** 0 between turns. */
  readonly turn: number;
  readonly calls: readonly BilledCall[];
  readonly dollars: number;
}

export function turnsOf({ calls }: Bill): readonly BilledTurn[] {
  return [...Map.groupBy(calls, ({ turn }) => turn)].map(([turn, ofTurn]) => ({
    turn,
    calls: ofTurn,
    dollars: paid(ofTurn),
  }));
}

export function paid(
  calls: readonly BilledCall[],
  kind: keyof NonNullable<BilledCall["dollars"]> = "total",
): number {
  return calls.reduce((sum, call) => sum + (call.dollars?.[kind] ?? 0), 0);
}

/** The share of the input that the cache read. */
export function readShare(calls: readonly BilledCall[]): string {
  const sum = (of: (call: BilledCall) => number): number =>
    calls.reduce((all, call) => all + of(call), 0);
  const input = sum(({ usage }) => usage.inputTokens);
  const read = sum(({ usage }) => usage.cacheReadTokens ?? 0);
  return `${input === 0 ? 0 : Math.round((read / input) * 100)} %`;
}

export const turnName = (turn: number): string => (turn === 0 ? "Between turns" : `Turn ${turn}`);

export function callName({ step, attempt = 1, purpose }: BilledCall): string {
  if (purpose === "summary") return "Summary";
  return `Step ${step}${attempt === 1 ? "" : `, attempt ${attempt}`}`;
}

/** The number of a call's tokens by how they were paid. */
export function tokensOf({
  usage,
}: BilledCall): Readonly<Record<"read" | "written" | "plain" | "output", number>> {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  const read = Math.min(cacheReadTokens, inputTokens);
  const written = Math.min(cacheWriteTokens, inputTokens - read);
  return { read, written, plain: inputTokens - read - written, output: outputTokens };
}

type Named = Pick<BilledPart, "kind" | "position" | "step" | "callId" | "toolName">;

export function partName({ kind, position, step, toolName = "a tool" }: Named): string {
  const at = figure(position);
  switch (kind) {
    case "standing":
      return "Instructions and tools";
    case "instructions":
      return "Instructions";
    case "tool":
      return `Definition of ${toolName}`;
    case "message":
      return `Message at ${at}`;
    case "media":
      return `Media of the message at ${at}`;
    case "reply":
      return step === undefined ? `Reply at ${at}` : `Reply of step ${step}`;
    case "result":
      return `Result of ${toolName}${step === undefined ? "" : `, step ${step}`}`;
    case "summary":
      return `Summary at ${at}`;
    case "other":
      return `Note at ${at}`;
    case "summarizing":
      return `Making the summary at ${at}`;
  }
}

/** Where a part is in the log: a result at the end of its call. */
export function partPosition(rows: readonly Row[], { callId, step, position }: Named): number {
  const ended = rows.find(({ event: { type, data } }) => {
    switch (type) {
      case "tool.succeeded":
      case "tool.failed":
      case "tool.denied":
      case "tool.skipped":
      case "tool.unknown":
        return data.callId === callId && data.step === (step ?? data.step);
      default:
        return false;
    }
  });
  return ended?.event.position ?? position;
}

const causes: Readonly<Record<CacheMiss["cause"], string>> = {
  tools: "the tools changed",
  instructions: "the instructions changed",
  settings: "the settings of the call changed",
  model: "another model was called",
  edit: "earlier messages changed",
  pruning: "old results were pruned",
  compaction: "the session was compacted",
  cut: "long results or media were cut",
  reasoning: "the reasoning of an ended turn is not sent again",
  expired: "the pause was longer than the cache keeps a prompt",
  unexplained: "nothing changed: the provider lost it",
};

export const causeName = ({ cause }: CacheMiss): string => causes[cause];

/** Whether the prompts differ. */
export const isDifference = ({ cause }: CacheMiss): boolean =>
  cause !== "expired" && cause !== "unexplained";

export function lossOf({ dollars: lost, tokens: missed }: CacheMiss): string {
  return `${tokens(missed)} tokens not read${lost === undefined ? "" : `, ${dollars(lost)} more`}`;
}
