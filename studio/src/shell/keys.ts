/** The keys of the studio: one table, which acts and which the list on `?` shows. */

import { useEffect, useRef } from "react";

export interface Key {
  /** As `KeyboardEvent.key`; `Shift+` before it where a letter does not show that. */
  readonly keys: readonly string[];
  readonly does: string;
  readonly group: "Everywhere" | "In a session" | "Through time";
  readonly act: () => void;
}

const names: Readonly<Record<string, string>> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  "Shift+ArrowLeft": "⇧ ←",
  "Shift+ArrowRight": "⇧ →",
  Escape: "Esc",
};

export const nameOfKey = (key: string): string => names[key] ?? key;

/** Acts on keys that no field, list or dialog takes. */
export function useKeys(table: readonly Key[]): void {
  const current = useRef(table);
  current.current = table;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTaken(event)) return;
      const isArrow = event.key.startsWith("Arrow");
      const pressed = event.shiftKey && isArrow ? `Shift+${event.key}` : event.key;
      const found = current.current.find(({ keys }) => keys.includes(pressed));
      if (found === undefined) return;
      event.preventDefault();
      found.act();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

function isTaken({ target, key }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("dialog") !== null) return true;
  if (target.matches("input:not([type=range]), textarea, select, [contenteditable]"))
    return key !== "Escape";
  return (
    key.startsWith("Arrow") &&
    target.closest("[role=listbox], [role=tree], [role=tablist]") !== null
  );
}
