/** A digest of each part of a session's state at every position, so that a change of a fold is seen. */

import { createHash } from "node:crypto";
import { z } from "zod";
import { projectionNames, promptMessages } from "../../src/projections/index.ts";
import type { SessionState } from "../../src/state/index.ts";

/** What is looked at, one by one. */
export function partsOf(state: SessionState): Readonly<Record<string, unknown>> {
  const { machine, history, view, usage, toolCalls, queue, approvals, summary } = state;
  const { value, context } = machine;
  const prompt = promptMessages(history, view);
  const known = { history, view, usage, toolCalls, queue, approvals, summary };
  return { machine: { value, context }, ...known, prompt };
}

/** All parts, those too that are guesses of this release and have no digest. */
export function allPartsOf(state: SessionState): Readonly<Record<string, unknown>> {
  const projected: Readonly<Record<string, unknown>> = Object.fromEntries(
    projectionNames.map((name) => [name, state[name]]),
  );
  return { ...projected, ...partsOf(state) };
}

/** For each part: the positions at which it changed, with the digest from there on. */
export type SessionDigests = Readonly<Record<string, readonly (readonly [number, string])[]>>;

export const digestsSchema: z.ZodType<SessionDigests> = z.record(
  z.string(),
  z.array(z.tuple([z.int(), z.string()])),
);

export function sessionDigests(states: readonly SessionState[]): SessionDigests {
  const digests: Record<string, [number, string][]> = {};
  for (const state of states) {
    for (const [name, part] of Object.entries(partsOf(state))) {
      const digest = digestOf(part);
      const column = (digests[name] ??= []);
      if (column.at(-1)?.[1] !== digest) column.push([state.position, digest]);
    }
  }
  return digests;
}

/** Twelve digits are enough to see a change. */
function digestOf(part: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(part)))
    .digest("hex")
    .slice(0, 12);
}

/** Keys in order: in which order a fold names its fields is not what it says. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
