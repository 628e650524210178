/** The schema of an agent's tools: tools of the AI SDK with the settings that have an effect here. */

import type { ToolSet } from "ai";
import { z } from "zod";
import { code, flag, optionsOf, thing } from "../validation/index.ts";

type KeyOf<Union> = Union extends unknown ? keyof Union : never;
type ToolKey = Exclude<KeyOf<ToolSet[string]>, "inputSchema">;
type AnyTool = { readonly [Key in ToolKey]?: unknown } & { readonly inputSchema: unknown };

const anything = z.unknown();

export const schemaOfSdk: z.ZodType = thing(
  "a schema: of zod, another Standard Schema, or `jsonSchema({ … })` of the AI SDK",
  (value) =>
    typeof value === "function" ||
    (typeof value === "object" &&
      value !== null &&
      ("~standard" in value || ("jsonSchema" in value && "validate" in value))),
);

const hints: Readonly<Record<string, string>> = {
  parameters: "the AI SDK calls it `inputSchema` since version 5.",
};

/** Keys that begin with `_` are ignored: libraries use them privately, such as `_meta` of an MCP client. */
export const toolSchema: z.ZodType = optionsOf<AnyTool>(
  {
    type: anything,
    id: anything,
    args: anything,
    isProviderExecuted: anything,
    supportsDeferredResults: anything,
    title: anything,
    description: thing(
      "a text or a function",
      (value) => typeof value === "string" || typeof value === "function",
    ),
    strict: flag,
    inputExamples: anything,
    providerOptions: anything,
    metadata: anything,
    deferLoading: flag,
    outputSchema: anything,
    contextSchema: schemaOfSdk,
    needsApproval: thing(
      "true, false or a function",
      (value) => typeof value === "boolean" || typeof value === "function",
    ),
    execute: code,
    onInputStart: code,
    onInputDelta: code,
    onInputAvailable: code,
    toModelOutput: code,
  },
  { inputSchema: schemaOfSdk },
  { hints, ignored: /^_/ },
);
