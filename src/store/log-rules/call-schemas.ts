/** Schemas of the options that every log's methods take. Positions are checked where they are used. */

import { z } from "zod";
import {
  defined,
  parseSessionId,
  type AppendOptions,
  type DeleteOptions,
  type FollowOptions,
  type ReadRange,
} from "../../events/index.ts";
import {
  check,
  code,
  flag,
  implementation,
  many,
  name,
  oneOf,
  optionsOf,
  thing,
} from "../../validation/index.ts";
import { assertPositions } from "./log-errors.ts";

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
const followSchema = optionsOf<FollowOptions>({ from: anything, signal }, {});
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

/** The checked options of a subscription to a session, or to all of them. @throws TurnlogError `INVALID_INPUT` */
export function followed(
  options: FollowOptions,
  session?: string,
): readonly [from: number, signal: AbortSignal | undefined] {
  const who = session === undefined ? "subscribeAll" : "subscribe";
  check(followSchema, options, who, defined({ name: "options", session }));
  const { from = 1, signal: end } = options;
  assertPositions(session === undefined ? "all sessions" : parseSessionId(session), [from]);
  return [Math.max(from, 1), end];
}
