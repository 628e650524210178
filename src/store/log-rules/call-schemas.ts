/** Schemas of the options that every log's methods take. Positions are checked where they are used. */

import { z } from "zod";
import type { AppendOptions, DeleteOptions, ReadRange } from "../../events/index.ts";
import { code, flag, implementation, oneOf, optionsOf } from "../../validation/index.ts";

interface FollowOptions {
  readonly from?: number;
  readonly signal?: AbortSignal;
}

const anything = z.unknown();
const signal = implementation({ addEventListener: code });

export const appendSchema: z.ZodType = optionsOf<AppendOptions>(
  { writer: anything, origin: anything },
  {},
);
export const readSchema: z.ZodType = optionsOf<ReadRange>(
  { from: anything, to: anything, backwards: flag, limit: anything },
  {},
);
export const followSchema: z.ZodType = optionsOf<FollowOptions>({ from: anything, signal }, {});
export const readAllSchema: z.ZodType = optionsOf<Pick<FollowOptions, "from">>(
  { from: anything },
  {},
);
export const listSchema: z.ZodType = optionsOf<{ readonly prefix?: string }>(
  { prefix: anything },
  {},
);
export const deleteSchema: z.ZodType = optionsOf<DeleteOptions>(
  { forks: oneOf("refuse", "copy") },
  {},
);
