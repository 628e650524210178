/** A call that waits for an answer, in full: nobody should have to agree to what is not shown. Pure. */

import { jsonObjectSchema, type JsonValue } from "../../events/index.ts";
import { amount, excerpt } from "../wording/index.ts";
import type { OpenCall } from "./conversation-state.ts";

const LINES = 12;
const LINE_LENGTH = 400;

export function questionLines({ toolName, input, reason }: OpenCall): readonly string[] {
  const why = reason === undefined ? "" : ` ${excerpt(reason, LINE_LENGTH)}`;
  const fields = jsonObjectSchema.safeParse(input);
  const entries = fields.success ? Object.entries(fields.data) : [["input", input] as const];
  return [
    `? ${toolName} waits for your answer.${why}`,
    ...entries.flatMap(([name, value]) => fieldLines(name, value)),
  ];
}

function fieldLines(name: string, value: JsonValue): readonly string[] {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const lines = text.split("\n").map((line) => cut(line));
  const [only = ""] = lines;
  if (lines.length === 1) return [`    ${name}: ${only}`];
  const left = lines.length - LINES;
  return [
    `    ${name}:`,
    ...lines.slice(0, LINES).map((line) => `      ${line}`),
    ...(left > 0 ? [`      … ${amount(left, "line")} more`] : []),
  ];
}

/** Not `excerpt`: spaces are part of what is to be written. */
function cut(line: string): string {
  const left = line.length - LINE_LENGTH;
  return left > 0 ? `${line.slice(0, LINE_LENGTH)}… ${amount(left, "character")} more` : line;
}
