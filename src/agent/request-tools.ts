/** An agent's tools as a request has them, without what providers refuse. The agent's digest has them as given. */

import { asSchema, jsonSchema, type FlexibleSchema, type Schema } from "@ai-sdk/provider-utils";
import type { ToolSet } from "ai";
import { wellFormed } from "../shared/index.ts";
import { sentTools } from "./sent-tools.ts";

type AnyTool = ToolSet[string];

export function requestTools(agent: Parameters<typeof sentTools>[0]): ToolSet | undefined {
  const tools = sentTools(agent);
  if (tools === undefined) return undefined;
  return Object.fromEntries(Object.entries(tools).map(([name, one]) => [name, requestTool(one)]));
}

/** One object for each schema, so that it is made once a session. */
const schemas = new WeakMap<object, Schema>();

function requestTool(tool: AnyTool): AnyTool {
  // The provider knows the input of its own tools.
  if (tool.type === "provider") return tool;
  const { description, inputExamples } = tool;
  return {
    ...tool,
    inputSchema: requestSchema(tool.inputSchema),
    ...(description === undefined ? {} : { description: requestText(description) }),
    ...(inputExamples === undefined ? {} : { inputExamples: wellFormed(inputExamples) }),
  };
}

function requestText(text: NonNullable<AnyTool["description"]>): typeof text {
  return typeof text === "string" ? wellFormed(text) : (options) => wellFormed(text(options));
}

/** The model is told a schema that providers accept; its inputs are validated by the given one. */
function requestSchema(given: FlexibleSchema<unknown>): Schema {
  const known = schemas.get(given);
  if (known !== undefined) return known;
  const schema = asSchema(given);
  const { validate } = schema;
  const made = jsonSchema(
    async () => wellFormed(await schema.jsonSchema),
    validate === undefined ? {} : { validate },
  );
  schemas.set(given, made);
  return made;
}
