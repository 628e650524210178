/** Repairs the tool list of a server: removes invalid fields instead of refusing the whole list. Pure. */

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

/** The input of a tool is always an object. */
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

/** The result of `tools/list` without invalid fields and without tools that have no name. */
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
    // A tool without an input schema takes no input.
    inputSchema: sound(object.catch({}).parse(inputSchema), inputRules),
    ...(annotations === undefined
      ? {}
      : { annotations: sound(object.parse(annotations), annotationRules) }),
  };
}

function sound(given: object, rules: Rules): Record<string, unknown> {
  const entries = Object.entries(given).filter(
    ([name, value]) => rules.get(name)?.safeParse(value).success ?? true,
  );
  return Object.fromEntries(entries);
}
