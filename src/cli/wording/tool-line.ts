/** Short texts for tool calls: the input by its fields, the output by its size. Pure. */

import { jsonObjectSchema, type JsonObject, type JsonValue } from "../../events/index.ts";
import { amount, excerpt, figure } from "./wording.ts";
import { visibleName } from "../output/visible-text.ts";

/** `search_files query="zod" pattern="*.ts"` */
export function callLabel(toolName: string, input: JsonValue, length: number): string {
  const fields = fieldsOf(input);
  const words =
    fields === undefined
      ? JSON.stringify(input)
      : Object.entries(fields)
          .map(([name, value]) => `${name}=${excerpt(JSON.stringify(value), 60)}`)
          .join(" ");
  return `${visibleName(toolName)} ${excerpt(words, length)}`.trimEnd();
}

/** An output by its fields: `12 matches`, `text 3,201 characters`. */
export function outcomeLabel(output: JsonValue, input: JsonValue): string {
  const fields = fieldsOf(output);
  if (fields === undefined)
    return Array.isArray(output) ? amount(output.length, "item") : scalar(output);
  const given = fieldsOf(input) ?? {};
  const words = Object.entries(fields).flatMap(([name, value]) =>
    // Leaves out fields that repeat the input.
    value === given[name] || name === "path" ? [] : [fieldLabel(name, value)],
  );
  return excerpt(words.length === 0 ? "done" : words.join(", "), 100);
}

function fieldLabel(name: string, value: JsonValue): string {
  if (Array.isArray(value))
    return `${figure(value.length)} ${value.length === 1 ? singular(name) : name}`;
  if (typeof value === "string") return `${name} ${scalar(value)}`;
  return typeof value === "object" && value !== null ? name : `${name} ${scalar(value)}`;
}

function singular(name: string): string {
  if (name.endsWith("ies")) return `${name.slice(0, -3)}y`;
  return name.replace(/(?<=ch|sh|x)es$|(?<!s)s$/, "");
}

function scalar(value: JsonValue): string {
  if (typeof value === "string")
    return value.length > 60 ? amount(value.length, "character") : excerpt(value, 60);
  return typeof value === "number" ? figure(value) : JSON.stringify(value);
}

function fieldsOf(value: JsonValue): JsonObject | undefined {
  const parsed = jsonObjectSchema.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}
