/** What the child processes tell, and what a whole comparison is made of. */

import { z } from "zod";
import type { Contender } from "./contenders.ts";
import type { Pace } from "./script.ts";

/** Of the first ten steps and of the last ten, and of a typical one. */
interface StepTimes {
  readonly first: number;
  readonly last: number;
  readonly median: number;
}

/** A session as its process tells of it. */
export interface ToldSession {
  /** Milliseconds a step over the whole session, its close included. */
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly stepCpuMs: StepTimes;
  readonly stepWallMs: StepTimes;
  /** Not known on every system. */
  readonly writtenBytes?: number | undefined;
  readonly peakMegabytes: number;
}

export interface MeasuredSession extends ToldSession {
  /** When its process has ended. */
  readonly diskBytes: number;
}

export interface MeasuredOpening {
  /** Until the modules of the contender were there, which is not part of `ms`. */
  readonly loadMs: number;
  readonly ms: number;
  readonly cpuMs: number;
}

export interface MeasuredKept {
  /** Deltas of the steps that were over before the kill. */
  readonly before: number;
  /** Deltas of the step that was killed. */
  readonly inStep: number;
}

const stepsSchema: z.ZodType<StepTimes> = z.object({
  first: z.number(),
  last: z.number(),
  median: z.number(),
});

export const sessionSchema: z.ZodType<ToldSession> = z.object({
  cpuMs: z.number(),
  wallMs: z.number(),
  stepCpuMs: stepsSchema,
  stepWallMs: stepsSchema,
  writtenBytes: z.number().optional(),
  peakMegabytes: z.number(),
});

export const openingSchema: z.ZodType<MeasuredOpening> = z.object({
  loadMs: z.number(),
  ms: z.number(),
  cpuMs: z.number(),
});

export const keptSchema: z.ZodType<MeasuredKept> = z.object({ before: z.int(), inStep: z.int() });

/** Everything that one contender did, run by run. */
export interface Result extends Pick<Contender, "id" | "label" | "role"> {
  readonly versions: Readonly<Record<string, string>>;
  /** What it was asked to do and did not, and why. */
  readonly failures: string[];
  /** By the steps of the session. */
  readonly sessions: Record<number, MeasuredSession[]>;
  /** Of the longest session: until all that is kept of it is in memory, and until the model is called. */
  readonly ready: MeasuredOpening[];
  readonly called: MeasuredOpening[];
  readonly kept: Record<Pace, MeasuredKept[]>;
}

export interface Comparison {
  readonly machine: string;
  /** Processes that wanted to run in the minute before. */
  readonly loadBefore: number;
  readonly at: string;
  /** Of turnlog, in short. */
  readonly commit: string;
  readonly runs: number;
  /** Steps of each session, and what it says in bytes; the longest last. */
  readonly sizes: readonly { readonly steps: number; readonly contentBytes: number }[];
  readonly results: readonly Result[];
}
