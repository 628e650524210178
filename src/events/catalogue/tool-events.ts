/**
 * `tool.*`: the calls to our own tools, keyed by (step, call id): providers use call ids again. Where a reply does,
 * the second call is recorded under an id of its own (`repeatedId`).
 */

import type { ToolResultOutput } from "@ai-sdk/provider-utils";
import { z } from "zod";
import type { FamilySchemas } from "./family.ts";
import {
  jsonObjectSchema,
  jsonSchema,
  storedErrorSchema,
  type JsonObject,
  type JsonValue,
  type StoredError,
} from "../values/json.ts";

interface CallKey {
  readonly step: number;
  readonly callId: string;
}

/**
 * A tool's output as the model gets it. Binary content is base64 or a reference to a blob, measured by
 * `blob`; an uploaded file has its names by provider.
 */
export type ModelOutput = ToolResultOutput;

/**
 * What a running call asks a person: a login at an address, the values of a form, or a visit to an address. The call
 * runs again with the answer. `from` names who asks, such as an MCP server.
 */
export type CallQuestion =
  | { readonly kind: "login-required"; readonly from: string; readonly url: string }
  | {
      readonly kind: "form";
      readonly from: string;
      readonly message: string;
      /** The JSON Schema of the answer: an object with plain fields. */
      readonly schema: JsonObject;
    }
  | {
      readonly kind: "address";
      readonly from: string;
      readonly message: string;
      readonly url: string;
    };

export interface ToolFamily {
  /** A call waits for a person. Its `approvalId` and its input are in `view().approvals`. */
  "tool.approval-requested": CallKey & {
    readonly toolName: string;
    /** Why it needs an approval, as the agent's rule says it. */
    readonly reason?: string;
    /** What the call itself asks: it had begun to run, and ended this attempt by asking. */
    readonly question?: CallQuestion;
    /** What the next attempt of the call is given back, besides the answer. */
    readonly state?: JsonValue;
  };
  /** A person, or a standing answer, decided about a call. */
  "tool.approval-answered": CallKey & {
    /** Whether it runs. */
    readonly approved: boolean;
    /** Why, as the person said it; the model gets it. */
    readonly reason?: string;
    /** The answer also applies to all later calls of this tool in the session. */
    readonly always?: boolean;
    /** The values of a form. */
    readonly content?: JsonObject;
    /** The name of the person. */
    readonly by?: string;
  };
  /** The call waits for its output: its tool has no `execute`, and a client runs it. */
  "tool.output-requested": CallKey & { readonly toolName: string };
  /** The intent: durable before the tool's `execute` is called. */
  "tool.started": CallKey & {
    readonly toolName: string;
    /** From 1: a call runs again after a failure, an answer or a restart. */
    readonly attempt: number;
    /** The same for every attempt: an idempotency key for the tool. */
    readonly effectId: string;
    /** The session of the sub-agent that runs the call. */
    readonly child?: string;
  };
  /** A running tool has a preliminary output. */
  "tool.progressed": CallKey & {
    /** The output so far; it replaces the one before. */
    readonly output: JsonValue;
  };
  /** A tool has returned, or a client gave the output. */
  "tool.succeeded": CallKey & {
    /** What it returned. */
    readonly output: JsonValue;
    /** The output for the model. Default: `output` as text or as JSON. */
    readonly modelOutput?: ModelOutput;
    /** Who gave the output, if a client ran the tool. */
    readonly by?: string;
  };
  /** A tool threw, or a client reported an error. The model gets it, and the turn continues. */
  "tool.failed": CallKey & {
    readonly error: StoredError;
    /** The output for the model. Default: the error's message. */
    readonly modelOutput?: ModelOutput;
    /** Who reported the error, if a client ran the tool. */
    readonly by?: string;
  };
  /** The call does not run: a person or a rule denied it. A person's `tool.approval-answered` before it says who. */
  "tool.denied": CallKey & {
    /** What the model is told. */
    readonly reason?: string;
  };
  /** The tool was never started. */
  "tool.skipped": CallKey & {
    /** What came before it could start. */
    readonly reason: "cancelled" | "recovered" | "interrupted" | "timed-out";
  };
  /** The tool was started and its end is not known. */
  "tool.unknown": CallKey & {
    /** What ended the wait for it; `recovered`: its process died. */
    readonly reason: "cancelled" | "recovered" | "timed-out";
  };
}

const outputTypes: ReadonlySet<unknown> = new Set<ModelOutput["type"]>([
  "text",
  "json",
  "execution-denied",
  "error-text",
  "error-json",
  "content",
]);

/** Checks the kind of output only: the SDK made it when the tool ended. */
export const modelOutputSchema: z.ZodType<ModelOutput> = z.custom<ModelOutput>(isModelOutput);

function isModelOutput(value: unknown): boolean {
  return (
    typeof value === "object" && value !== null && "type" in value && outputTypes.has(value.type)
  );
}

const key = { step: z.int().positive(), callId: z.string() };

export const questionSchema: z.ZodType<CallQuestion> = z.lazy(() => {
  const address = { from: z.string(), url: z.url({ protocol: /^https?$/ }) };
  const message = z.string();
  return z.discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("login-required"), ...address }),
    z.looseObject({ kind: z.literal("address"), ...address, message }),
    z.looseObject({ kind: z.literal("form"), from: z.string(), message, schema: jsonObjectSchema }),
  ]);
});

/** What the schema of `tool.succeeded` accepts, checked by hand: the cold schema takes 25 µs, hundreds of times. */
export function isSucceededData(data: JsonValue): boolean {
  if (typeof data !== "object" || data === null || !("output" in data)) return false;
  const { step, callId, modelOutput, by } = data;
  return (
    typeof step === "number" &&
    Number.isSafeInteger(step) &&
    step > 0 &&
    typeof callId === "string" &&
    (by === undefined || typeof by === "string") &&
    (!("modelOutput" in data) || isModelOutput(modelOutput))
  );
}

export const toolSchemas: FamilySchemas<ToolFamily> = {
  "tool.approval-requested": () =>
    z.looseObject({
      ...key,
      toolName: z.string(),
      reason: z.string().exactOptional(),
      question: questionSchema.exactOptional(),
      state: jsonSchema.exactOptional(),
    }),
  "tool.approval-answered": () =>
    z.looseObject({
      ...key,
      approved: z.boolean(),
      reason: z.string().exactOptional(),
      always: z.boolean().exactOptional(),
      content: jsonObjectSchema.exactOptional(),
      by: z.string().exactOptional(),
    }),
  "tool.output-requested": () => z.looseObject({ ...key, toolName: z.string() }),
  "tool.started": () =>
    z.looseObject({
      ...key,
      toolName: z.string(),
      attempt: z.int().positive(),
      effectId: z.string(),
      child: z.string().exactOptional(),
    }),
  "tool.progressed": () => z.looseObject({ ...key, output: jsonSchema }),
  "tool.succeeded": () =>
    z.looseObject({
      ...key,
      output: jsonSchema,
      modelOutput: modelOutputSchema.exactOptional(),
      by: z.string().exactOptional(),
    }),
  "tool.failed": () =>
    z.looseObject({
      ...key,
      error: storedErrorSchema,
      modelOutput: modelOutputSchema.exactOptional(),
      by: z.string().exactOptional(),
    }),
  "tool.denied": () => z.looseObject({ ...key, reason: z.string().exactOptional() }),
  "tool.skipped": () =>
    z.looseObject({
      ...key,
      reason: z.enum(["cancelled", "recovered", "interrupted", "timed-out"]),
    }),
  "tool.unknown": () =>
    z.looseObject({
      ...key,
      reason: z.enum(["cancelled", "recovered", "timed-out"]),
    }),
};
