/** What the cache should have read of a request, and why it did not: the first difference of two prompts. Pure. */

import type { SessionEvent } from "../events/index.ts";
import { modelKey, promptDiff, promptEntries, type PromptChange } from "../projections/index.ts";
import { ALONE, type Block, type PartName } from "./blocks.ts";
import { type BilledRequest, type Standing, type SizedPrompt, isStanding } from "./standing.ts";
import type { CacheReads } from "../context/index.ts";

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

// What a provider's cache holds of the requests of a session to one model, as a tree of their blocks, and what it
// would read of the next one. Pure; linear in the prompt.

interface Node {
  readonly block?: Block;
  readonly after: Map<string, Node>;
  /** The time of the last request that had all blocks up to here. */
  used: number;
  /** A mark of a request: the tokens up to it. */
  marked?: number;
  /** The position and the tokens of the last reply to a request that ended here. */
  reply?: { readonly position: number; readonly tokens: number };
  /** The block that was added last. */
  last?: Node;
}

export class CacheTree {
  readonly #root: Node = { after: new Map(), used: 0 };
  readonly #reads: CacheReads;

  constructor(reads: CacheReads) {
    this.#reads = reads;
  }

  /** Tokens that are read of a request, of what was used since a time. */
  read({ blocks, tokens }: SizedPrompt, since: number): number {
    let node = this.#root;
    let common = 0;
    let marked = 0;
    for (const [index, block] of blocks.entries()) {
      const next = node.after.get(block.key);
      if (next === undefined || next.used < since) {
        common += this.#begun(node, block, tokens[index] ?? 0, since);
        break;
      }
      node = next;
      common += tokens[index] ?? 0;
      if (node.marked !== undefined) marked = Math.min(common, node.marked);
    }
    const { at, unit, least } = this.#reads;
    const whole = at === "marks" ? marked : Math.floor(common / unit) * unit;
    return whole < least ? 0 : whole;
  }

  /** Tokens of the first block that differs: it is the kept reply, or it begins as the one that was there. */
  #begun({ reply, last }: Node, block: Block, tokens: number, since: number): number {
    if (this.#reads.at === "marks") return 0;
    const isReply = block.name.kind === "reply" && block.name.position === reply?.position;
    if (this.#reads.replies && isReply) return Math.min(tokens, reply.tokens);
    if (last === undefined || last.used < since) return 0;
    return Math.floor(tokens * commonShare(block, last.block));
  }

  /**
   * Adds a request. `marked`: the tokens up to its last mark, 0 without marks. Each request of ours with marks has
   * them after its tools, after its instructions, and at its end.
   */
  add(
    { blocks, tokens }: SizedPrompt,
    time: number,
    marked: number,
    reply: NonNullable<Node["reply"]>,
  ): void {
    let node = this.#root;
    let common = 0;
    const end = blocks.findLastIndex(({ name }) => name.kind !== "reply");
    const tools = blocks.findLastIndex(({ name }) => name.kind === "tool");
    const standing = blocks.findLastIndex(isStanding);
    for (const [index, block] of blocks.entries()) {
      const next: Node = node.after.get(block.key) ?? { block, after: new Map(), used: time };
      node.after.set(block.key, next);
      node.last = next;
      node = next;
      node.used = Math.max(node.used, time);
      common += tokens[index] ?? 0;
      if (marked > 0 && [tools, standing, end].includes(index))
        node.marked = index === end ? marked : common;
    }
    node.reply = reply;
  }
}

/** The share of a block's text with which the other begins too. */
function commonShare({ text }: Block, other: Block | undefined): number {
  if (text === undefined || other?.text === undefined) return 0;
  const [one, two] = [JSON.stringify(text), JSON.stringify(other.text)];
  let same = 0;
  while (same < one.length && one[same] === two[same]) same++;
  return one.length === 0 ? 0 : same / one.length;
}
