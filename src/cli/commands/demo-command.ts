/** `turnlog --demo`: the tour, in a folder of its own. */

import { isatty } from "node:tty";
import { playTour } from "../demo/tour-process.ts";
import { tour } from "../demo/tour.ts";
import { type ExitCode, UsageError } from "../output/error-report.ts";
import type { Output } from "../output/output.ts";
import { humanPace } from "./option-values.ts";
import type { Given } from "./option-values.ts";
import type { chatOptions } from "./command-options.ts";

export async function demo(
  words: readonly string[],
  options: Given<typeof chatOptions>,
  output: Output,
): Promise<ExitCode> {
  const { demoFolder, pace, session, model, attach = [] } = options;
  const isMore = session !== undefined || options.continue || model !== undefined;
  if (words.length > 0 || isMore || attach.length > 0)
    throw new UsageError("--demo has its own messages and model: use it alone.");
  const isShown = isatty(2);
  const each = pace ?? (isShown ? humanPace : 0);
  if (demoFolder !== undefined) return await playTour(demoFolder, { pace: each, output });
  const factor = each === 0 ? "at-once" : String(humanPace / each);
  return await tour(["--pace", factor], output);
}
