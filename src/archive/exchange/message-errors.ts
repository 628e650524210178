/**
 * Says why messages do not match their schema: the first wrong message, its field, and how many more. Zod's own
 * text for these unions is thousands of lines. Pure.
 */

import { z } from "zod";
import { cutShort, TurnlogError } from "../../events/index.ts";
import { toStoredError } from "../../shared/index.ts";
import { kindNames, kindOf, type MessageKind } from "./message-kind.ts";

/** @param faults - The error of each message; `whole` is the error of a value that is not a list. */
export function notMessages(
  kind: MessageKind,
  messages: unknown,
  faults: readonly unknown[],
  whole: unknown,
): TurnlogError {
  const why = schemaErrorText(faults) ?? faultWords(whole);
  const text = `These are not ${kindNames[kind]}: ${why}. Nothing was imported.${otherKind(kind, messages)}`;
  return new TurnlogError("INVALID_INPUT", text, { cause: whole });
}

function otherKind(kind: MessageKind, messages: unknown): string {
  const found = Array.isArray(messages) ? kindOf(messages) : undefined;
  if (found === undefined || found === kind) return "";
  return ` They look like ${kindNames[found]}: import them with \`--from ${found}\`, or \`importMessages\` in a program.`;
}

type Issue = z.core.$ZodIssue;

/** Most characters of a foreign message, which may quote the whole value. */
const LONGEST = 300;

/** @param faults - The error of each message; undefined for a valid one. */
function schemaErrorText(faults: readonly unknown[]): string | undefined {
  const first = faults.findIndex((fault) => fault !== undefined);
  if (first === -1) return undefined;
  const more = faults.filter((fault) => fault !== undefined).length - 1;
  const rest = more === 0 ? "" : `; ${more} more ${more === 1 ? "does" : "do"} not fit either`;
  return `message ${first + 1} of ${faults.length}: ${faultWords(faults[first])}${rest}`;
}

function faultWords(fault: unknown): string {
  const issue = fault instanceof z.ZodError ? fault.issues[0] : undefined;
  if (issue !== undefined) return issueWords(issue, []);
  const text = toStoredError(fault).message;
  return cutShort(text, LONGEST);
}

function issueWords(issue: Issue, before: readonly PropertyKey[]): string {
  const path = [...before, ...issue.path];
  if (issue.code === "invalid_union") {
    const meant = issue.errors.filter((issues) => !issues.some(isOtherKind));
    const inner = meant.toSorted((one, other) => depth(other) - depth(one))[0]?.[0];
    if (inner !== undefined) return issueWords(inner, path);
    const kinds = issue.errors.flatMap((issues) => issues.filter(isOtherKind));
    const [kind] = kinds;
    if (kind !== undefined) {
      const known = [...new Set(kinds.flatMap(valuesOf))].map((value) => JSON.stringify(value));
      return `${place([...path, ...kind.path])}it must be one of ${known.join(", ")}`;
    }
  }
  return place(path) + issue.message;
}

/** Whether a branch of a union is for values with another `role` or `type`. */
function isOtherKind(issue: Issue): boolean {
  const [field, ...below] = issue.path;
  return (
    issue.code === "invalid_value" && below.length === 0 && (field === "role" || field === "type")
  );
}

function valuesOf(issue: Issue): readonly unknown[] {
  return issue.code === "invalid_value" ? issue.values : [];
}

/** How deep a branch matched before it failed: the deepest one is probably the intended one. */
function depth(issues: readonly Issue[]): number {
  const [first] = issues;
  if (first === undefined) return 0;
  const below = first.code === "invalid_union" ? Math.max(0, ...first.errors.map(depth)) : 0;
  return first.path.length + below;
}

function place(path: readonly PropertyKey[]): string {
  return path.length === 0 ? "" : `${z.core.toDotPath(path)}: `;
}
