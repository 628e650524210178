/** The schemas of the arguments of a runtime's methods. `runtime-schema.ts` has those of `createRuntime`. */

import { z } from "zod";
import type { DeleteOptions, PositionRange } from "../../events/index.ts";
import {
  flag,
  implementation,
  moment,
  name,
  shortName,
  oneOf,
  optionsOf,
  position,
  several,
  text,
  thing,
  time,
  code,
} from "../../validation/index.ts";
import type { DeletionQuery, RedactOptions } from "../../archive/index.ts";
import type { ConsumeOptions } from "./consumers.ts";
import type { ApprovalsOptions, OpenSessionOptions, ResumeOptions } from "./runtime.ts";
import type { SessionQuery } from "../../state/index.ts";

export const signal = implementation({ addEventListener: code }, { aborted: flag });

/** Small enough for the row of a list. */
const METADATA_BYTES = 16_384;
const plainObject = z.lazy(() => z.record(z.string(), z.json()));
export const metadataSchema: z.ZodType = thing(
  "an object of JSON values, at most 16 KiB",
  (value) =>
    plainObject.safeParse(value).success &&
    Buffer.byteLength(JSON.stringify(value)) <= METADATA_BYTES,
);

export const redactSchema: z.ZodType = optionsOf<RedactOptions>(
  { reason: text, by: shortName },
  {},
);
export const openSessionSchema: z.ZodType = optionsOf<OpenSessionOptions>(
  { createIfMissing: flag, agent: name, metadata: metadataSchema },
  {},
);
const status = oneOf("idle", "running", "awaiting-approval", "awaiting-output", "closed");
export const sessionQuerySchema: z.ZodType = optionsOf<SessionQuery>(
  {
    where: metadataSchema,
    status: z.union([status, z.array(status)], "a status or a list of them"),
    prefix: text,
    after: implementation(
      { session: name, createdAt: time, updatedAt: time },
      { lastTurnAt: time },
    ),
    limit: several,
  },
  {},
);
export const approvalsSchema: z.ZodType = optionsOf<ApprovalsOptions>(
  { where: metadataSchema },
  {},
);
export const resumeSchema: z.ZodType = optionsOf<ResumeOptions>(
  { concurrency: several, where: metadataSchema },
  {},
);
const globalPosition = thing(
  "a global position, which is a whole number from 1 on",
  (value) => z.int().min(1).safeParse(value).success,
);
export const consumeSchema: z.ZodType = optionsOf<ConsumeOptions>(
  { from: globalPosition, signal },
  {},
);
export const consumerNameSchema: z.ZodType = shortText(128);
export const deleteSchema: z.ZodType = optionsOf<DeleteOptions>(
  { forks: oneOf("refuse", "copy"), by: shortName },
  {},
);
export const deletionSchema: z.ZodType = optionsOf<DeletionQuery>(
  { olderThan: moment, where: metadataSchema, forks: oneOf("refuse", "copy"), dryRun: flag },
  {},
).and(
  thing(
    "an object with one of `olderThan` and `where`: without, it would delete all sessions",
    (value) => ["olderThan", "where"].some((key) => Reflect.get(Object(value), key) !== undefined),
  ),
);
export const redactedSchema: z.ZodType = thing(
  "a position, an object with `from` and `to`, or a list of such",
  (value) => (Array.isArray(value) ? value : [value]).every(isTarget),
);
const rangeSchema = optionsOf<PositionRange>({}, { from: position, to: position });

export function shortText(most: number): z.ZodType {
  const fits = (value: unknown): boolean =>
    typeof value === "string" && value.length > 0 && value.length <= most;
  return thing(`a text of 1 to ${most} characters`, fits);
}

function isTarget(value: unknown): boolean {
  return typeof value === "number"
    ? Number.isSafeInteger(value)
    : rangeSchema.safeParse(value).success;
}
