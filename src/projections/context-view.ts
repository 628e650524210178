/** Which part of the history the model is shown in full, and what stands for the rest. */

import { z } from "zod";
import { cutCallSchema, type CutCall } from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

/** A stretch of the log (positions, both included) and the summary that stands for it. */
export interface Compaction {
  /** The position of its `context.compacted`. */
  readonly position: number;
  readonly from: number;
  readonly to: number;
  readonly summary: string;
}

export interface Pruning {
  /** The position of its `context.pruned`. */
  readonly position: number;
  readonly calls: readonly { readonly step: number; readonly callId: string }[];
}

/** Results that are shown by their beginning and their end. */
export interface ResultCut {
  /** The position of its `context.cut`. */
  readonly position: number;
  readonly calls: readonly CutCall[];
  /** The tool that reads what is left out. */
  readonly reader?: string;
  /** It was undone: the results are shown whole, and are not cut again. */
  readonly undone?: true;
}

export interface ContextView {
  readonly compactions: readonly Compaction[];
  readonly prunings: readonly Pruning[];
  readonly cuts: readonly ResultCut[];
  /** The position of the last compaction, undoing or thinning, after which earlier figures say nothing; 0 before. */
  readonly changed: number;
}

const position = z.int().positive();

export const contextView: Projection<ContextView> = defineProjection<ContextView>({
  name: "context-view",
  version: 3,
  schema: z.object({
    compactions: z.array(z.object({ position, from: position, to: position, summary: z.string() })),
    prunings: z.array(
      z.object({
        position,
        calls: z.array(z.looseObject({ step: position, callId: z.string() })),
      }),
    ),
    cuts: z.array(
      z.object({
        position,
        calls: z.array(cutCallSchema),
        reader: z.string().exactOptional(),
        undone: z.literal(true).exactOptional(),
      }),
    ),
    changed: z.int().nonnegative(),
  }),
  initial: { compactions: [], prunings: [], cuts: [], changed: 0 },
  on: {
    "context.compacted": (view, { seq, data }) => ({
      ...view,
      compactions: [...view.compactions, { position: seq, ...data.covers, summary: data.summary }],
      changed: seq,
    }),
    "context.pruned": (view, { seq, data }) => ({
      ...view,
      prunings: [...view.prunings, { position: seq, calls: data.calls }],
    }),
    "context.cut": (view, { seq, data: { calls, reader } }) => ({
      ...view,
      cuts: [...view.cuts, { position: seq, calls, ...(reader === undefined ? {} : { reader }) }],
    }),
    // What was billed last had the reasoning in it.
    "session.thinned": (view, { seq, data }) =>
      data.shown === true ? { ...view, changed: seq } : view,
    "context.restored": (view, { seq, data }) => ({
      compactions: view.compactions.filter((one) => one.position !== data.position),
      prunings: view.prunings.filter((one) => one.position !== data.position),
      cuts: view.cuts.some((one) => one.position === data.position)
        ? view.cuts.map((one) => (one.position === data.position ? { ...one, undone: true } : one))
        : view.cuts,
      changed: seq,
    }),
  },
});
