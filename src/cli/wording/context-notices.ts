/**
 * What is told of a prompt while its events come: a pruning when the size of the prompt after it is
 * known, which the next event of its kind says. Remembers that pruning; writes nothing.
 */

import type { SessionEvent } from "../../events/index.ts";
import { contextWords } from "./context-words.ts";

export interface ContextNotice {
  /** The event that it is about. */
  readonly event: SessionEvent;
  readonly text: string;
  /** Not what somebody wanted. */
  readonly isTrouble: boolean;
}

const troubles: ReadonlySet<string> = new Set([
  "context.count-failed",
  "context.compaction-rejected",
  "context.summary-rejected",
  "context.overflowed",
]);

export class ContextNotices {
  #pruned: SessionEvent<"context.pruned"> | undefined;

  /** What an event gives to tell, in order. */
  take(event: SessionEvent): readonly ContextNotice[] {
    const held = this.#pruned;
    if (held === undefined) return this.#own(event);
    const after = sizeBefore(event);
    // Nothing is known, and another pruning or the end of the turn may change it: told as it is.
    const isOver =
      after !== undefined ||
      ["context.pruned", "context.restored", "turn.ended"].includes(event.type);
    if (!isOver) return this.#own(event);
    this.#pruned = undefined;
    return [...notice(held, after), ...this.#own(event)];
  }

  /** What is not told yet, when no event follows. */
  rest(): readonly ContextNotice[] {
    const held = this.#pruned;
    this.#pruned = undefined;
    return held === undefined ? [] : notice(held, undefined);
  }

  #own(event: SessionEvent): readonly ContextNotice[] {
    if (event.type !== "context.pruned") return notice(event, undefined);
    this.#pruned = event;
    return [];
  }
}

function notice(event: SessionEvent, after: number | undefined): readonly ContextNotice[] {
  const text = contextWords(event, after);
  return text === undefined ? [] : [{ event, text, isTrouble: troubles.has(event.type) }];
}

/** Tokens of the prompt as it was when the event came, where the event says so. */
function sizeBefore(event: SessionEvent): number | undefined {
  switch (event.type) {
    case "step.started":
      return event.data.estimate.tokens;
    case "context.counted":
    case "context.count-failed":
      return event.data.estimatedTokens;
    case "context.compacted":
    case "context.compaction-rejected":
      return event.data.beforeTokens;
    default:
      return undefined;
  }
}
