/** The AI SDK's `toolApproval`: which calls a person has to approve, and which are denied. */

import type { Context } from "@ai-sdk/provider-utils";
import type {
  GenericToolApprovalFunction,
  SingleToolApprovalFunction,
  ToolApprovalStatus,
  ToolSet,
} from "ai";
import { z } from "zod";
import { TurnlogError } from "../events/index.ts";
import { code, named } from "../validation/index.ts";
import type { Bivariant } from "./call-settings.ts";

/** A function of all calls; or for each tool a status, or a function of its calls. */
export type ToolApproval =
  | Bivariant<GenericToolApprovalFunction<ToolSet, Readonly<Record<string, Context>>, Context>>
  | Readonly<Record<string, ToolApprovalStatus | ToolApprovalRule>>;

type ToolApprovalRule = Bivariant<SingleToolApprovalFunction<never, unknown, Context>>;

interface ApprovalStatus {
  readonly type: "not-applicable" | "approved" | "denied" | "user-approval";
  readonly reason?: string | undefined;
}

const statusSchema: z.ZodType<ApprovalStatus["type"]> = z.enum([
  "not-applicable",
  "approved",
  "denied",
  "user-approval",
]);

const answerSchema: z.ZodType<ApprovalStatus> = z.union([
  statusSchema.transform((type) => ({ type })),
  z.strictObject({ type: statusSchema, reason: z.string().optional() }),
]);

/** @throws TurnlogError `INVALID_INPUT` for a value that is no status */
export function approvalStatus(given: unknown): ApprovalStatus {
  if (given === undefined || given === null) return { type: "not-applicable" };
  const status = answerSchema.safeParse(given);
  if (status.success) return status.data;
  throw new TurnlogError(
    "INVALID_INPUT",
    '`toolApproval` must return "user-approval", "approved", "denied", "not-applicable" or undefined, as text or as `{ type, reason }`.',
    { cause: status.error },
  );
}

const words: string = 'a function, "user-approval", "approved", "denied" or "not-applicable"';
const rule = z
  .unknown()
  .refine(
    (value) =>
      value === undefined || typeof value === "function" || answerSchema.safeParse(value).success,
    words,
  );

export const toolApprovalSchema: z.ZodType = z.union(
  [code, named(rule)],
  `a function, or for each tool ${words}`,
);
