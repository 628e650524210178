/**
 * Tool definitions as the model reads them. OpenAI writes schemas as types (hmarr.com/blog/counting-openai-tokens,
 * and the chat format of gpt-oss), which are shorter than JSON; Gemini's have fewer keywords. Pure.
 */

import { isRecord, parsedJson } from "../../events/index.ts";
import type { ToolsRule } from "../models/model-family.ts";

/** Definitions as JSON: a list of `{ name, description, inputSchema }`. Anything else stays as it is. */
export function toolsText(json: string, form: ToolsRule["form"]): string {
  if (form === "json" || json === "") return json;
  const tools = parsedJson(json);
  if (!Array.isArray(tools)) return json;
  return form === "openapi" ? JSON.stringify(tools, withoutKeywords) : typescript(tools);
}

/** 0 for a text that is no list. */
export function toolsCount(json: string): number {
  const tools = parsedJson(json);
  return Array.isArray(tools) ? tools.length : 0;
}

function withoutKeywords(key: string, value: unknown): unknown {
  if (key === "additionalProperties" || key === "$schema" || value === "") return undefined;
  return isRecord(value) && Object.keys(value).length === 0 ? undefined : value;
}

type Schema = Readonly<Record<string, unknown>>;

function objectIn(value: unknown): Schema {
  return isRecord(value) ? value : {};
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function typescript(tools: readonly unknown[]): string {
  const types = tools.map((one) => {
    const { name, description, inputSchema } = objectIn(one);
    const schema = objectIn(inputSchema);
    const properties = propertiesText(schema, schema);
    const input = properties === "" ? "" : `_: {\n${properties}\n}`;
    return `${comment(description)}type ${String(name)} = (${input}) => any;`;
  });
  return `# Tools\n\n## functions\n\nnamespace functions {\n\n${types.join("\n\n")}\n\n} // namespace functions`;
}

function comment(description: unknown): string {
  if (typeof description !== "string" || description === "") return "";
  return `// ${description.replaceAll("\n", "\n// ")}\n`;
}

/** `root`: where references lead. */
function propertiesText(schema: Schema, root: Schema | undefined): string {
  const required = new Set(listIn(schema["required"]));
  return Object.entries(objectIn(schema["properties"]))
    .map(([name, property]) => {
      const { description, default: usual } = objectIn(property);
      const mark = required.has(name) ? "" : "?";
      const note = usual === undefined ? "" : ` // default: ${JSON.stringify(usual)}`;
      return `${comment(description)}${name}${mark}: ${typeText(property, root)},${note}`;
    })
    .join("\n");
}

function typeText(value: unknown, root: Schema | undefined): string {
  const schema = objectIn(value);
  const inner = (one: unknown): string => typeText(one, root);
  const { $ref: ref, enum: values, anyOf, oneOf, type, items, properties } = schema;
  if (typeof ref === "string") {
    // References within what is referred to stay unresolved: a schema may refer to itself.
    return root === undefined ? "any" : typeText(referred(ref, root), undefined);
  }
  if (Array.isArray(values)) return values.map((one) => JSON.stringify(one)).join(" | ");
  const types = listIn(type).map((one) => ({ type: one }));
  const choices = listIn(anyOf ?? oneOf ?? types);
  if (choices.length > 0) return choices.map(inner).join(" | ");
  switch (type) {
    case "array":
      return `${inner(items)}[]`;
    case "object":
      return isRecord(properties) ? `{\n${propertiesText(schema, root)}\n}` : "object";
    case "integer":
      return "number";
    default:
      return typeof type === "string" ? type : "any";
  }
}

/** `#/$defs/Name`. */
function referred(ref: string, root: Schema): unknown {
  return ref
    .split("/")
    .slice(1)
    .reduce<unknown>((found, key) => objectIn(found)[key], root);
}
