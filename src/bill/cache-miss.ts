/** Why the cache did not read what the call before had sent: the first difference of the two prompts. Pure. */

import type { SessionEvent } from "../events/index.ts";
import { modelKey, promptDiff, promptEntries, type PromptChange } from "../projections/index.ts";
import { ALONE, type Block, type PartName } from "./blocks.ts";
import type { BilledRequest } from "./request.ts";
import type { Standing } from "./standing.ts";

/**
 * Why a prompt was not read from the cache. `edit`: other messages, by `prepareStep`, a refusal or a restore;
 * `cut`: shorter results or left out media; `reasoning`: that of an ended turn is not sent again; `expired`: the pause was longer than the cache's lifetime.
 */
export type MissCause =
  | "tools"
  | "instructions"
  | "edit"
  | "pruning"
  | "compaction"
  | "cut"
  | "reasoning"
  | "model"
  | "settings"
  | "expired"
  | "unexplained";

type EventType = SessionEvent["type"];

/** The events that may be behind each cause. */
const behind: Readonly<Partial<Record<MissCause, readonly EventType[]>>> = {
  edit: [
    "step.prepared",
    "context.reduced",
    "context.restored",
    "turn.limit-reached",
    "session.rewound",
    "session.thinned",
    "turn.ended",
  ],
  pruning: ["context.pruned"],
  compaction: ["context.compacted"],
  cut: ["context.cut", "context.media-omitted"],
  reasoning: ["turn.ended"],
  model: ["session.configured", "session.forked", "step.prepared", "step.failed-over"],
};

/** The last event behind a cause between two calls. */
function eventBehind(
  cause: MissCause,
  { position: after }: BilledRequest,
  { position: before }: BilledRequest,
  events: readonly SessionEvent[],
): number | undefined {
  return events.findLast(
    ({ type, position }) =>
      position > after && position < before && behind[cause]?.includes(type) === true,
  )?.position;
}

const causes: Readonly<Partial<Record<PromptChange["why"], MissCause>>> = {
  compacted: "compaction",
  pruned: "pruning",
  cut: "cut",
  "media-omitted": "cut",
};

interface Found {
  readonly cause: MissCause;
  readonly changedAt: number;
  readonly first?: PartName;
}

/** `isUnexplained`: the prompt begins as one that should still be kept; `isExpired`: as one that was. */
export function causeOf(
  before: BilledRequest,
  now: BilledRequest,
  /** Those since the first of the two, without deltas. */
  events: readonly SessionEvent[],
  { isUnexplained, isExpired }: { readonly isUnexplained: boolean; readonly isExpired: boolean },
): Found {
  const found = (cause: MissCause, first?: Block, since?: number): Found => ({
    cause,
    changedAt: since ?? eventBehind(cause, before, now, events) ?? now.position,
    ...(first === undefined ? {} : { first: first.name }),
  });
  const isChanged = (part: keyof Standing): boolean =>
    before.standing[part].text !== now.standing[part].text;
  if (isUnexplained)
    return isChanged("settings")
      ? found("settings", undefined, now.standing.settings.since)
      : found("unexplained");
  if (isExpired) return found("expired");
  if (modelKey(before.model) !== modelKey(now.model)) return found("model", now.blocks[0]);
  const index = now.blocks.findIndex(({ key }, at) => before.blocks[at]?.key !== key);
  for (const [part, kind] of [
    ["tools", "tool"],
    ["instructions", "instructions"],
  ] as const) {
    if (!isChanged(part)) continue;
    // A tool may have been removed.
    const [one, other] = [now.blocks[index], before.blocks[index]];
    const first = other?.name.kind === kind && one?.name.kind !== kind ? other : one;
    return found(part, first, now.standing[part].since);
  }
  const first = now.blocks[index];
  const { history, view } = now.state;
  const at = promptEntries(history, view).findIndex(({ message }) => message === first?.message);
  const change = promptDiff(before.state, now.state).changes.find(
    ({ index, why }) => index <= at && why !== "new",
  );
  // The message is the same, and only its place in the turns is another.
  const otherwise = first?.key.endsWith(ALONE) === true ? "reasoning" : "edit";
  return found(change === undefined ? otherwise : (causes[change.why] ?? "edit"), first);
}
