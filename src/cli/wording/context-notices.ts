/** Turns events about the prompt into notices. A pruning waits for an event with the size of the prompt after it. */

import type { SessionEvent } from "../../events/index.ts";
import { contextWords } from "./context-words.ts";

export interface ContextNotice {
  readonly event: SessionEvent;
  readonly text: string;
  readonly isTrouble: boolean;
}

const troubles: ReadonlySet<string> = new Set([
  "context.count-failed",
  "context.compaction-rejected",
  "context.summary-rejected",
  "context.overflowed",
  "context.reduced",
]);

export class ContextNotices {
  #pruned: SessionEvent<"context.pruned"> | undefined;

  /** The notices that an event completes, in order. */
  take(event: SessionEvent): readonly ContextNotice[] {
    const held = this.#pruned;
    if (held === undefined) return this.#own(event);
    const after = sizeBefore(event);
    // After these events the size of the pruned prompt can no longer become known.
    const isOver =
      after !== undefined ||
      ["context.pruned", "context.restored", "turn.ended"].includes(event.type);
    if (!isOver) return this.#own(event);
    this.#pruned = undefined;
    return [...notice(held, after), ...this.#own(event)];
  }

  /** The notice that is held back, at the end of the events. */
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

/** Tokens of the prompt before the event, if the event gives them. */
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
