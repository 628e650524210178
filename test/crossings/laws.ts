/** What must hold of every session of a store when nothing runs any more: each law in words, if it is broken. */

import { verifySession } from "../../src/archive/verify/index.ts";
import type { EventLog } from "../../src/events/index.ts";
import { promptMessages } from "../../src/projections/index.ts";
import { initialSessionState } from "../../src/state/index.ts";
import { readUIMessages, uiMessages } from "../../src/ui/index.ts";
import { openCallProblems } from "../support/call-problems.ts";
import { compactionProblems } from "../support/compaction-problems.ts";
import { promptRuleProblems } from "../support/prompt-rule-problems.ts";
import { replay, storedEvents, type Replay } from "../support/replay.ts";
import { tryRewinds } from "../support/rewind-problems.ts";
import { expectLaw } from "../ui/law-13.ts";
import type { Stage } from "./stage.ts";

/** Laws 2 to 14 of one session. */
export async function sessionProblems(log: EventLog, session: string): Promise<readonly string[]> {
  const events = await storedEvents(log, session);
  const redacted = events.some(({ type }) => type === "session.redacted");
  const replayed = replay(events);
  const { problems } = await verifySession(log, session);
  const law13 = await expectLaw(events).then(
    () => [],
    (error: unknown) => [`law 13: ${String(error).slice(0, 300)}`],
  );
  return [
    ...problems.map(({ position, rule, what }) => `${position} ${rule}: ${what}`),
    ...(redacted ? [] : promptRuleProblems(replayed)),
    ...compactionProblems(replayed),
    ...openCallProblems(events),
    ...tryRewinds(events, { most: 6, thinned: redacted }).problems,
    ...law13,
    ...turnProblems(replayed),
  ];
}

/** The words of what users and the model have said, in their order. */
function wordsIn(value: unknown): readonly string[] {
  return [...JSON.stringify(value).matchAll(/[«‹]([\w.-]+)[»›]/g)].map(([word]) => word);
}

/** Law 14: the page, the history and the next prompt agree about which turns there are. */
function turnProblems({ events, states }: Replay): readonly string[] {
  const { initial, fold } = uiMessages({ session: "s" });
  let page = initial;
  const problems: string[] = [];
  for (const event of events) {
    page = fold(page, event);
    const isEnd = event.type === "turn.ended" || event.type === "session.rewound";
    if (!isEnd && event.position < events.length) continue;
    const { history, view } = states[event.position] ?? initialSessionState;
    const told = wordsIn(history.items);
    const shown = wordsIn(activeBranch(readUIMessages(page)));
    const sent = wordsIn(promptMessages({ ...history, waiting: [] }, view));
    const isCompacted = sent.length < told.length && view.changed > 0;
    if (sorted(shown) !== sorted(told))
      problems.push(
        `${event.position} law 14: the page has ${shown.join(" ")}, the history ${told.join(" ")}`,
      );
    if (sorted(sent) !== sorted(isCompacted ? told.slice(-sent.length) : told))
      problems.push(
        `${event.position} law 14: the prompt has ${sent.join(" ")}, the history ${told.join(" ")}`,
      );
  }
  return problems;
}

function sorted(words: readonly string[]): string {
  return words.toSorted().join(" ");
}

function activeBranch({ headId, messages }: ReturnType<typeof readUIMessages>): readonly unknown[] {
  const branch: unknown[] = [];
  const byId = new Map(messages.map((placed) => [placed.message.id, placed]));
  for (let id = headId; id !== undefined;) {
    const placed = byId.get(id);
    branch.unshift(placed?.message);
    id = placed?.parentId;
  }
  return branch;
}

/** Law 16: what was shown for approval is what runs, and each tool runs with an input that the model gave it. */
export function approvalProblems({ asked, approved, standing, ran }: Stage): readonly string[] {
  const given = new Set(asked.map(keyOf));
  const shown = new Set(approved.map(keyOf));
  return ran.flatMap((call) => {
    const key = keyOf(call);
    const isAllowed = call.toolName !== "guarded" || standing.has(call.toolName) || shown.has(key);
    if (!isAllowed) return [`law 16: ${key} ran, and nobody approved it`];
    return given.has(key) ? [] : [`law 16: ${key} ran, and the model never asked for it`];
  });
}

function keyOf({
  toolName,
  input,
}: {
  readonly toolName: string;
  readonly input?: unknown;
}): string {
  return `${toolName} ${typeof input === "string" ? input : JSON.stringify(input)}`;
}
