/** Which part of the history the model is shown in full, and what stands for the rest. */

import { z } from "zod";
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

export interface ContextView {
  readonly compactions: readonly Compaction[];
  readonly prunings: readonly Pruning[];
  /** The position of the last compaction or undoing, after which earlier figures say nothing; 0 before. */
  readonly changed: number;
}

const position = z.int().positive();

export const contextView: Projection<ContextView> = defineProjection<ContextView>({
  name: "context-view",
  version: 2,
  schema: z.object({
    compactions: z.array(z.object({ position, from: position, to: position, summary: z.string() })),
    prunings: z.array(
      z.object({
        position,
        calls: z.array(z.looseObject({ step: position, callId: z.string() })),
      }),
    ),
    changed: z.int().nonnegative(),
  }),
  initial: { compactions: [], prunings: [], changed: 0 },
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
    "context.restored": (view, { seq, data }) => ({
      compactions: view.compactions.filter((one) => one.position !== data.position),
      prunings: view.prunings.filter((one) => one.position !== data.position),
      changed: seq,
    }),
  },
});
