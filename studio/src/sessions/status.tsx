/** The status of a session: a word with a sign, so that colour alone says nothing. */

import type { ListedSession } from "../data/types.ts";

type Status = ListedSession["status"];

const signs: Readonly<Record<Status, { readonly sign: string; readonly word: string }>> = {
  idle: { sign: "○", word: "idle" },
  running: { sign: "◉", word: "running" },
  "awaiting-approval": { sign: "!", word: "needs approval" },
  "awaiting-output": { sign: "⇥", word: "needs output" },
  closed: { sign: "■", word: "closed" },
};

export function StatusPill({
  status,
  lastEnd,
}: {
  readonly status: Status;
  readonly lastEnd?: ListedSession["lastEnd"] | undefined;
}) {
  const troubled =
    status === "idle" && lastEnd !== undefined && !["stop", "stop-condition"].includes(lastEnd);
  if (troubled) return <span className="pill status-troubled">△ {lastEnd}</span>;
  const { sign, word } = signs[status];
  return (
    <span className={`pill status-${status}`}>
      {sign} {word}
    </span>
  );
}
