/** Schemas of the options of a blob store. */

import { z } from "zod";
import type { CollectOptions, PutOptions } from "../../events/index.ts";
import { amount, code, implementation, optionsOf } from "../../validation/index.ts";

export const putSchema: z.ZodType = optionsOf<PutOptions>(
  { maxBytes: amount, signal: implementation({ addEventListener: code }) },
  {},
);
export const collectSchema: z.ZodType = optionsOf<CollectOptions>({ among: z.unknown() }, {});
