/** What a runtime takes to open and to delete a session. */

import type { z } from "zod";
import type { DeleteOptions } from "../events/index.ts";
import { flag, oneOf, optionsOf } from "../validation/index.ts";
import type { OpenSessionOptions } from "./runtime.ts";

export const openSessionSchema: z.ZodType = optionsOf<OpenSessionOptions>(
  { createIfMissing: flag },
  {},
);
export const deleteSchema: z.ZodType = optionsOf<DeleteOptions>(
  { forks: oneOf("refuse", "copy") },
  {},
);
