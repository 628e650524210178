/**
 * What the search of the studio's list means: every word is in the session's id, title, badge, error, model, agent
 * or metadata. `user:ann` looks at one of them, metadata by the beginning of a key; `since:2d` and `until:2026-05-01`
 * at the time of the last event. Pure.
 */

import type { JsonValue } from "../../events/index.ts";
import type { StudioRow } from "./listed-rows.ts";

type Test = (row: StudioRow) => boolean;
type Field = readonly [name: string, text: string];

export function sessionSearch(text: string, now: number): Test {
  const tests = text
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== "")
    .map((word) => testOf(word, now));
  return (row) => tests.every((test) => test(row));
}

function testOf(word: string, now: number): Test {
  const [, name = "", value = ""] = /^([^:]+):(.*)$/su.exec(word) ?? [];
  const time = name === "since" || name === "until" ? timeOf(value, now) : undefined;
  if (time !== undefined)
    return ({ updatedAt }) => (name === "since" ? updatedAt >= time : updatedAt <= time);
  return (row) =>
    fieldsOf(row).some(
      ([field, found]) =>
        found.includes(word) || (name !== "" && field.startsWith(name) && found.includes(value)),
    );
}

const units = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** So long ago (`30m`, `2h`, `2d`, `1w`), or a date. */
function timeOf(value: string, now: number): number | undefined {
  const [, count, unit] = /^(\d+)([mhdw])$/u.exec(value) ?? [];
  const known = Object.entries(units).find(([name]) => name === unit);
  if (known !== undefined) return now - Number(count) * known[1];
  const date = /^\d{4}-\d\d/u.test(value) ? Date.parse(value.toUpperCase()) : NaN;
  return Number.isNaN(date) ? undefined : date;
}

function fieldsOf(row: StudioRow): readonly Field[] {
  const { session, title, model, agent, metadata = {}, error, problem } = row;
  const fields: readonly (readonly [string, string | undefined])[] = [
    ["id", session],
    ["title", title],
    ["model", model],
    ["agent", agent],
    ["status", statusWords(row)],
    ["error", error],
    ["error", problem && `${problem.code} ${problem.message}`],
    ...Object.entries(metadata).map(([key, value]) => [key, textOf(value)] as const),
  ];
  return fields.flatMap(([name, text]) =>
    text === undefined ? [] : [[name.toLowerCase(), text.toLowerCase()] as const],
  );
}

/** The status, and the words of its badge. */
function statusWords({ status, lastEnd }: StudioRow): string {
  if (status === "idle") return `idle ${lastEnd ?? "new"}`;
  return `${status} ${status.replace("awaiting-", "needs ")}`;
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
