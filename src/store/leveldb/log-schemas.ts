/** Schemas of the options that only a log in LevelDB takes. */

import { z } from "zod";
import { code, flag, implementation, optionsOf } from "../../validation/index.ts";
import type { BackupOptions } from "./backup/index.ts";
import type { TrimOptions } from "./upkeep/index.ts";

const anything = z.unknown();
const signal = implementation({ addEventListener: code });

export const backupSchema: z.ZodType = optionsOf<BackupOptions>({ onProgress: code, signal }, {});
export const trimSchema: z.ZodType = optionsOf<TrimOptions>(
  { event: anything, dryRun: flag },
  { expected: anything },
);
