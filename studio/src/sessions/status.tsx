/** The status of a session, or how its last turn ended: a word with a sign, so that colour alone says nothing. */

import type { ListedSession } from "../data/types.ts";

type Status = ListedSession["status"];

const signs: Readonly<Record<Status, { readonly sign: string; readonly word: string }>> = {
  idle: { sign: "○", word: "new" },
  running: { sign: "◉", word: "running" },
  "awaiting-approval": { sign: "!", word: "needs approval" },
  "awaiting-output": { sign: "⇥", word: "needs output" },
  "awaiting-budget": { sign: "$", word: "needs budget" },
  closed: { sign: "■", word: "closed" },
};

export function StatusPill({
  status,
  lastEnd,
}: {
  readonly status: Status;
  readonly lastEnd?: ListedSession["lastEnd"] | undefined;
}) {
  if (status === "idle" && lastEnd !== undefined) {
    const isFine = lastEnd === "stop" || lastEnd === "stop-condition";
    return (
      <span className={isFine ? "pill" : "pill status-troubled"}>
        {isFine ? "✓" : "△"} {lastEnd}
      </span>
    );
  }
  const { sign, word } = signs[status];
  return (
    <span className={`pill status-${status}`}>
      {sign} {word}
    </span>
  );
}
