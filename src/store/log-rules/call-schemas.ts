/** Schemas of the options that every log's methods take. Positions are checked where they are used. */

import { z } from "zod";
import type { AppendOptions, DeleteOptions, ReadRange } from "../../events/index.ts";
import {
  code,
  flag,
  implementation,
  many,
  name,
  oneOf,
  optionsOf,
  thing,
} from "../../validation/index.ts";

interface FollowOptions {
  readonly from?: number;
  readonly signal?: AbortSignal;
}

const anything = z.unknown();
const signal = implementation({ addEventListener: code });

/** Of a log that one process owns: it has no epochs. */
export const appendSchema: z.ZodType = optionsOf<Omit<AppendOptions, "epoch">>(
  { writer: anything, origin: anything },
  {},
);
export const ownedAppendSchema: z.ZodType = optionsOf<AppendOptions>(
  { writer: anything, origin: anything, epoch: many },
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
  { forks: oneOf("refuse", "copy"), by: name },
  {},
);

/** Of a consumer. */
export const cursorPositionSchema: z.ZodType = thing(
  "a position, which is a whole number of at least 0",
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
);
