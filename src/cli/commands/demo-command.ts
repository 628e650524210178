/** `turnlog --demo`: the tour, in a folder of its own. */

import { isatty } from "node:tty";
import { z } from "zod";
import { playTour } from "../demo/tour-process.ts";
import { tour } from "../demo/tour.ts";
import { type ExitCode, UsageError } from "../output/error-report.ts";
import type { Output } from "../output/output.ts";
import { humanPace } from "./option-values.ts";

const optionsSchema = z.object({
  demoFolder: z.string().optional(),
  pace: z.int().nonnegative().optional(),
  session: z.string().optional(),
  continue: z.boolean().default(false),
  model: z.string().optional(),
  attach: z.array(z.string()).default([]),
});

export async function demo(
  words: readonly string[],
  given: unknown,
  output: Output,
): Promise<ExitCode> {
  const { demoFolder, pace, ...others } = optionsSchema.parse(given);
  const { session, model, attach } = others;
  const isMore = session !== undefined || others.continue || model !== undefined;
  if (words.length > 0 || isMore || attach.length > 0)
    throw new UsageError("--demo has its own messages and model: use it alone.");
  const isShown = isatty(2);
  const each = pace ?? (isShown ? humanPace : 0);
  if (demoFolder !== undefined) return await playTour(demoFolder, { pace: each, output });
  const factor = each === 0 ? "at-once" : String(humanPace / each);
  return await tour(["--pace", factor], output);
}
