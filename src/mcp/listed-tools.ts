/**
 * The tools that a server lists, as far as they can be used: what is wrong with a field of one of them
 * costs that field, and not all the others. Pure; called by whoever reads what a server sends.
 */

import { z } from "zod";

type Rules = ReadonlyMap<string, z.ZodType>;

const object = z.record(z.string(), z.unknown());

const listRules: Rules = new Map([["nextCursor", z.string()]]);

const toolRules: Rules = new Map<string, z.ZodType>([
  ["title", z.string()],
  ["description", z.string()],
  ["inputSchema", object],
  ["outputSchema", object],
  ["annotations", object],
  ["_meta", object],
]);

/** Input is an object, whatever a server calls it. */
const inputRules: Rules = new Map<string, z.ZodType>([
  ["type", z.literal("object")],
  ["properties", object],
  ["required", z.array(z.string())],
]);

const annotationRules: Rules = new Map<string, z.ZodType>([
  ["title", z.string()],
  ["readOnlyHint", z.boolean()],
  ["destructiveHint", z.boolean()],
  ["idempotentHint", z.boolean()],
  ["openWorldHint", z.boolean()],
]);

const listSchema = z.looseObject({ tools: z.array(z.unknown()) });
const namedSchema = z.looseObject({ name: z.string() });

/** The result of `tools/list` with what is usable of it. A tool without a name cannot be called. */
export function usableList(result: unknown): unknown {
  const list = listSchema.safeParse(result);
  if (!list.success) return result;
  const tools = list.data.tools.flatMap((given) => {
    const named = namedSchema.safeParse(given);
    return named.success ? [usableTool(named.data)] : [];
  });
  return { ...sound(list.data, listRules), tools };
}

function usableTool(given: object): object {
  const { inputSchema, annotations, ...tool } = sound(given, toolRules);
  return {
    ...tool,
    // A tool that does not say what it takes is offered as one that takes nothing.
    inputSchema: sound(object.catch({}).parse(inputSchema), inputRules),
    ...(annotations === undefined
      ? {}
      : { annotations: sound(object.parse(annotations), annotationRules) }),
  };
}

/** Without the fields that are not what they have to be. */
function sound(given: object, rules: Rules): Record<string, unknown> {
  const entries = Object.entries(given).filter(
    ([name, value]) => rules.get(name)?.safeParse(value).success ?? true,
  );
  return Object.fromEntries(entries);
}
