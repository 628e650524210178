/** What the functions take that change what is stored of a session, whoever runs it. */

import type { z } from "zod";
import { flag, name, oneOf, options, text, thing, time } from "./shapes.ts";

export const openSessionShape: z.ZodType = options({ createIfMissing: flag });
export const deleteShape: z.ZodType = options({ forks: oneOf("refuse", "copy") });
export const compactLogShape: z.ZodType = options(
  { shown: flag, dryRun: flag, now: time },
  { drop: oneOf("boundaries", "reasoning") },
);
export const forkSessionShape: z.ZodType = options(
  { withdraw: thing("a list of message ids", Array.isArray), now: time },
  { as: name },
);
export const redactSessionShape: z.ZodType = options({ reason: text, now: time });
