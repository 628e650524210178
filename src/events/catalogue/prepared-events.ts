/** `step.prepared`: what the agent's `prepareStep` changed for one step, before it is sent. */

import { z } from "zod";
import type { FamilySchemas } from "./family.ts";
import { jsonObjectSchema, jsonSchema, type JsonObject, type JsonValue } from "../values/json.ts";
import {
  agentPartsSchema,
  modelNameSchema,
  type AgentParts,
  type ModelName,
} from "./session-events.ts";

/**
 * The place of a message in a prompt: the position of its item, and its number there. Of a step, 0 is the
 * model's output, 1 its results, 2 the note that it was cut off.
 */
export type PromptPlace = readonly [position: number, part: number];

export interface PromptRange {
  readonly from: PromptPlace;
  readonly to: PromptPlace;
}

/** A message of the AI SDK as JSON: bytes as base64, URLs as text. */
export interface PreparedMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly JsonObject[];
  readonly providerOptions?: JsonObject;
}

/** A message that was added: its `step.prepared`, and its index there. */
export interface AddedId {
  readonly position: number;
  readonly index: number;
}

/** The difference to the messages that `prepareStep` was given. */
export interface MessageChange {
  readonly hidden?: readonly PromptRange[];
  /** Earlier ranges of `hidden` that end. */
  readonly shown?: readonly PromptRange[];
  /** Positions of all compactions whose summaries are left out, if they changed. */
  readonly summaries?: readonly number[];
  readonly removed?: readonly AddedId[];
  /** New messages, each after the kept message that it follows; `[0, 0]` is the beginning. */
  readonly added?: readonly {
    readonly after: { readonly place: PromptPlace } | AddedId;
    readonly message: PreparedMessage;
  }[];
}

/** Settings of one step in place of the agent's. */
export interface StepOverrides {
  readonly model?: ModelName;
  readonly activeTools?: readonly string[];
  readonly toolOrder?: readonly string[];
  readonly toolChoice?: JsonValue;
  /** `temperature`, `maxOutputTokens`, … */
  readonly settings?: JsonObject;
  readonly providerOptions?: JsonObject;
}

export interface PreparedFamily {
  /**
   * What the agent's `prepareCall` or `prepareStep` changed, before the step is sent. Messages and instructions hold
   * until the turn ends, `overrides` for this step only.
   */
  "step.prepared": {
    readonly turn: number;
    readonly step: number;
    /** That `prepareCall` changed it; `prepareStep` is asked next. */
    readonly by?: "prepareCall";
    readonly messages?: MessageChange;
    /** The instructions from here on, if they changed: system messages. Earlier releases: a text, too. */
    readonly instructions?: JsonValue;
    /** The digest of the instructions from here on, if they changed and are a text, which `prompt.text` has. */
    readonly instructionsDigest?: string;
    readonly overrides?: StepOverrides;
    /** The digest of the step's agent (`AgentDescription.digest`), if it is another one. */
    readonly agentDigest?: string;
    /** The parts of the step's agent, if it has definitions of tools that the session's agent has not. */
    readonly parts?: AgentParts;
  };
}

const place = z.tuple([z.int().nonnegative(), z.int().nonnegative()]);

export const promptRangeSchema: z.ZodType<PromptRange> = z.looseObject({ from: place, to: place });

export const preparedMessageSchema: z.ZodType<PreparedMessage> = z.lazy(() =>
  z.looseObject({
    role: z.enum(["system", "user", "assistant", "tool"]),
    content: z.union([z.string(), z.array(jsonObjectSchema)]),
    providerOptions: jsonObjectSchema.exactOptional(),
  }),
);

const addedId = { position: z.int().positive(), index: z.int().nonnegative() };

const messageChangeSchema: z.ZodType<MessageChange> = z.lazy(() =>
  z.looseObject({
    hidden: z.array(promptRangeSchema).exactOptional(),
    shown: z.array(promptRangeSchema).exactOptional(),
    summaries: z.array(z.int().positive()).exactOptional(),
    removed: z.array(z.looseObject(addedId)).exactOptional(),
    added: z
      .array(
        z.looseObject({
          after: z.union([z.strictObject({ place }), z.strictObject(addedId)]),
          message: preparedMessageSchema,
        }),
      )
      .exactOptional(),
  }),
);

export const stepOverridesSchema: z.ZodType<StepOverrides> = z.lazy(() =>
  z.looseObject({
    model: modelNameSchema.exactOptional(),
    activeTools: z.array(z.string()).exactOptional(),
    toolOrder: z.array(z.string()).exactOptional(),
    toolChoice: jsonSchema.exactOptional(),
    settings: jsonObjectSchema.exactOptional(),
    providerOptions: jsonObjectSchema.exactOptional(),
  }),
);

export const preparedSchemas: FamilySchemas<PreparedFamily> = {
  "step.prepared": () =>
    z.looseObject({
      turn: z.int().positive(),
      step: z.int().positive(),
      by: z.literal("prepareCall").exactOptional(),
      messages: messageChangeSchema.exactOptional(),
      instructions: jsonSchema.exactOptional(),
      instructionsDigest: z.string().exactOptional(),
      overrides: stepOverridesSchema.exactOptional(),
      agentDigest: z.string().exactOptional(),
      parts: agentPartsSchema.exactOptional(),
    }),
};
