/** Checks the steps of a scripted model, so that a mistake in a script is refused. */

import { z } from "zod";
import {
  check,
  implementation,
  name,
  oneOf,
  optionsOf,
  report,
  text,
  thing,
} from "../validation/index.ts";
import type {
  ScriptedBlock,
  ScriptedPart,
  ScriptedStep,
  ScriptedToolCall,
} from "./scripted-step.ts";

type Kind = ScriptedPart["type"];
type PartOf<Type extends Kind> = Extract<ScriptedPart, { readonly type: Type }>;

const anything = z.unknown();

/** A gate may have more fields, as those of `gate()`. */
function isGate(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const until: unknown = Reflect.get(value, "until");
  return (
    Reflect.get(value, "type") === "gate" &&
    typeof until === "object" &&
    until !== null &&
    "then" in until
  );
}

const deltas = thing(
  "a list of texts and gates",
  (value) =>
    Array.isArray(value) &&
    value.every((delta: unknown) => typeof delta === "string" || isGate(delta)),
);
const block = optionsOf<ScriptedBlock>({ providerMetadata: anything }, { type: text, deltas });

const parts: Readonly<Record<Kind, z.ZodType>> = {
  text: block,
  reasoning: block,
  "tool-call": optionsOf<ScriptedToolCall>(
    { deltas, providerMetadata: anything },
    { type: text, toolCallId: text, toolName: text, input: anything },
  ),
  gate: thing("a gate, which has a promise as `until`", isGate),
  error: optionsOf<PartOf<"error">>({}, { type: text, error: anything }),
  break: optionsOf<PartOf<"break">>({}, { type: text, error: anything }),
  "raw-part": optionsOf<PartOf<"raw-part">>({}, { type: text, part: anything }),
};
const kinds = new Map(Object.entries(parts));

const part = z.unknown().superRefine((value, context) => {
  const type: unknown = Reflect.get(Object(value), "type");
  const schema = typeof type === "string" ? kinds.get(type) : undefined;
  if (schema !== undefined) report(schema, value, context, []);
  else {
    const message = `one of ${[...kinds.keys()].map((kind) => `"${kind}"`).join(", ")}`;
    context.addIssue({ code: "custom", path: ["type"], message });
  }
});

const step = optionsOf<Exclude<ScriptedStep, string>>(
  {
    parts: z.array(part, "a list of parts"),
    failure: anything,
    finishReason: oneOf(
      "stop",
      "length",
      "content-filter",
      "tool-calls",
      "error",
      "interrupted",
      "other",
    ),
    usage: implementation({ inputTokens: implementation({}), outputTokens: implementation({}) }),
    responseId: name,
  },
  {},
);

const script = thing(
  "a list of steps, or a function that makes them",
  (value) => Array.isArray(value) || typeof value === "function",
);

/** @throws TurnlogError `INVALID_INPUT` that names the field in the script */
export function checkScript(given: unknown): void {
  check(script, given, "scriptedModel", { name: "script" });
  if (!Array.isArray(given)) return;
  for (const [index, one] of given.entries()) checkStep(one, index);
}

/** @throws TurnlogError `INVALID_INPUT` that names the field in the step */
export function checkStep(given: unknown, index: number): void {
  if (typeof given === "string") return;
  check(step, given, "scriptedModel", { name: `step ${index + 1}` });
}
