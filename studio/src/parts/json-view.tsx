/** A JSON value as a tree that opens by itself as far as it is small. Text stays text: nothing is markup. */

import { useState } from "react";
import { oneLine } from "../data/words.ts";

const LONG_TEXT = 400;
const MOST_ENTRIES = 100;

export function JsonView({
  value,
  depth = 0,
  openTo = 2,
}: {
  readonly value: unknown;
  readonly depth?: number;
  readonly openTo?: number;
}) {
  if (typeof value === "string") return <Text value={value} />;
  if (typeof value !== "object" || value === null)
    return (
      <span className={`json-${value === null ? "null" : typeof value}`}>{String(value)}</span>
    );
  return <Entries value={value} depth={depth} openTo={openTo} />;
}

function Entries({
  value,
  depth,
  openTo,
}: {
  readonly value: object;
  readonly depth: number;
  readonly openTo: number;
}) {
  const entries = Object.entries(value);
  const isList = Array.isArray(value);
  const [open, setOpen] = useState(depth < openTo && entries.length <= 40);
  const [most, setMost] = useState(MOST_ENTRIES);
  if (entries.length === 0) return <span className="json-null">{isList ? "[]" : "{}"}</span>;
  return (
    <span className="json">
      <button
        type="button"
        className="json-toggle"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {isList ? `[${entries.length}]` : "{…}"}
        {open ? "" : <span className="dim"> {oneLine(summaryOf(value), 80)}</span>}
      </button>
      {open && (
        <ul className="json-entries">
          {entries.slice(0, most).map(([name, entry]) => (
            <li key={name}>
              <span className="json-key">{name}</span>
              <JsonView value={entry} depth={depth + 1} openTo={openTo} />
            </li>
          ))}
          {entries.length > most && (
            <li>
              <button type="button" className="link" onClick={() => setMost(most * 10)}>
                {entries.length - most} more
              </button>
            </li>
          )}
        </ul>
      )}
    </span>
  );
}

function summaryOf(value: object): string {
  return Array.isArray(value)
    ? value.slice(0, 3).map(shortValue).join(", ")
    : Object.entries(value)
        .slice(0, 4)
        .map(([name, entry]) => `${name}: ${shortValue(entry)}`)
        .join(", ");
}

function shortValue(value: unknown): string {
  if (typeof value === "string") return oneLine(value, 30);
  if (Array.isArray(value)) return "[…]";
  return typeof value === "object" && value !== null ? "{…}" : String(value);
}

function Text({ value }: { readonly value: string }) {
  const [whole, setWhole] = useState(false);
  const isLong = value.length > LONG_TEXT;
  return (
    <span className="json-string" dir="auto">
      {isLong && !whole ? `${value.slice(0, LONG_TEXT)}…` : value}
      {isLong && (
        <button type="button" className="link" onClick={() => setWhole(!whole)}>
          {whole ? "less" : `all ${value.length} characters`}
        </button>
      )}
    </span>
  );
}
