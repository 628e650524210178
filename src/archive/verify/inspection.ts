/** Runs all checks over the events of one session. Pure: `verifySession` and imports feed it. */

import { isPlainDeltaData, type DeltaType, type SessionEvent } from "../../events/index.ts";
import {
  foldJoined,
  foldSession,
  initialSessionState,
  unfitting,
  type SessionState,
} from "../../state/index.ts";
import { branchCheck, orderCheck, identityCheck, trimmedCheck } from "./order-checks.ts";
import { callCheck, figureCheck } from "./figure-checks.ts";
import type { Check, LogRule } from "./check.ts";
import { contentCheck, messageCheck, pageCheck } from "./content-checks.ts";
import { promptCheck, type RedactedContent } from "./prompt-check.ts";

export interface Finding {
  readonly position: number;
  readonly rule: LogRule;
  /** In words. */
  readonly what: string;
}

const nothing: readonly Finding[] = [];

/** Deltas of one block that came after the first of them, and are not folded yet. */
interface JoinedDeltas {
  /** The last of them, or the first if no other came. */
  last: SessionEvent<DeltaType>;
  text: string;
}

/** Folds the events of a session, the deltas that follow each other in one block as one. */
export class JoinedFold {
  #state: SessionState;
  /** Undefined unless the last event was a delta without any field but its text. */
  #joined: JoinedDeltas | undefined;

  constructor(state: SessionState = initialSessionState) {
    this.#state = state;
  }

  get state(): SessionState {
    const joined = this.#joined;
    if (joined !== undefined && joined.last.position > this.#state.position) {
      this.#state = foldJoined(this.#state, withText(joined));
      joined.text = "";
    }
    return this.#state;
  }

  /** Takes an event. Answers the state before it; undefined for the next delta of a block, which is folded later. */
  take(event: SessionEvent): SessionState | undefined {
    const joined = this.#joined;
    if (joined !== undefined && isNext(joined.last, event)) {
      joined.last = event;
      if ("text" in event.data) joined.text += event.data.text;
      return undefined;
    }
    const before = this.state;
    this.#state = foldSession(before, event).state;
    this.#joined = isPlainDelta(event) ? { last: event, text: "" } : undefined;
    return before;
  }

  /** The next event is folded by itself, also if it is the next delta of the block. */
  part(): void {
    this.#state = this.state;
    this.#joined = undefined;
  }
}

/** Checks every law but the hash chain, which is checked by itself: most sessions have none, and its text takes as long as all else. */
export class Inspection {
  readonly #fold = new JoinedFold();
  readonly #contents = contentCheck();
  readonly #prompts = promptCheck(() => this.#contents.hasFound);
  readonly #checks: readonly Check[] = [
    orderCheck(),
    branchCheck(),
    pageCheck(),
    messageCheck(),
    callCheck(),
    identityCheck(),
    figureCheck(),
    this.#contents,
    this.#prompts,
    trimmedCheck(),
  ];

  get state(): SessionState {
    return this.#fold.state;
  }

  /** What was redacted so far; undefined for nothing. */
  get redacted(): RedactedContent | undefined {
    const { redacted } = this.#prompts;
    return redacted.events === 0 ? undefined : { ...redacted };
  }

  /** Prompts that cannot be rebuilt, because content of them was trimmed. */
  get lostPrompts(): number {
    return this.#prompts.trimmed;
  }

  /** Folds the next event and answers its faults. @throws TurnlogError `LOG_DAMAGED` after a gap, `EVENT_INVALID` */
  check(event: SessionEvent): readonly Finding[] {
    const before = this.#fold.take(event);
    // What the checks say of a block's first delta, they say of each.
    if (before === undefined) return nothing;
    const findings: Finding[] = [];
    try {
      for (const check of this.#checks) {
        for (const what of check.onEvent(event, before)) {
          findings.push({ position: event.position, rule: check.rule, what });
        }
      }
    } catch (error) {
      throw unfitting(event, error);
    }
    if (findings.length > 0) this.#fold.part();
    return findings;
  }

  end(): readonly Finding[] {
    const { state } = this;
    const { position } = state;
    return this.#checks.flatMap((check) =>
      (check.onEnd?.(state) ?? []).map((what) => ({ position, rule: check.rule, what })),
    );
  }
}

function isPlainDelta(event: SessionEvent): event is SessionEvent<DeltaType> {
  return isPlainDeltaData(event.type, event.data);
}

/** Whether an event is the next delta of the same block. */
function isNext(
  last: SessionEvent<DeltaType>,
  event: SessionEvent,
): event is SessionEvent<DeltaType> {
  return (
    event.position === last.position + 1 &&
    event.type === last.type &&
    isPlainDelta(event) &&
    event.data.id === last.data.id
  );
}

function withText({ last, text }: JoinedDeltas): SessionEvent<DeltaType> {
  return last.type === "part.tool-input-delta"
    ? last
    : { ...last, data: { id: last.data.id, text } };
}
