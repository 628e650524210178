/** Runs all checks over the events of one session. Pure: `verifySession` and imports feed it. */

import {
  HashChain,
  isPlainDeltaData,
  type ChainEnd,
  type DeltaType,
  type SessionEvent,
} from "../../events/index.ts";
import {
  foldJoined,
  foldSession,
  initialSessionState,
  unfitting,
  type SessionState,
} from "../../state/index.ts";
import {
  branchCheck,
  chainCheck,
  orderCheck,
  identityCheck,
  trimmedCheck,
} from "./order-checks.ts";
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

export interface CheckedChain extends ChainEnd {
  /** Number of events after the last link, which only their checksums cover. */
  readonly open: number;
}

export interface InspectionOptions {
  /** A link of the hash chain that was kept outside of the store. */
  readonly noted?: ChainEnd | undefined;
  /** Whether to check the hash chain, which takes as long as all else. Default: true. */
  readonly hasChain?: boolean;
}

const nothing: readonly Finding[] = [];

/** Deltas of one block that were checked after the first of them, and are not folded yet. */
interface JoinedDeltas {
  /** The last of them, or the first if no other was checked. */
  last: SessionEvent<DeltaType>;
  text: string;
}

export class Inspection {
  #state: SessionState = initialSessionState;
  /** Undefined unless the last event was a delta without a fault, and without any field but its text. */
  #joined: JoinedDeltas | undefined;
  readonly #chain = new HashChain();
  readonly #contents = contentCheck();
  readonly #prompts = promptCheck(() => this.#contents.hasFound);
  readonly #links: Check | undefined;
  readonly #checks: readonly Check[];

  constructor({ noted, hasChain = true }: InspectionOptions = {}) {
    this.#links = hasChain ? chainCheck(this.#chain, noted) : undefined;
    this.#checks = [
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
      ...(this.#links === undefined ? [] : [this.#links]),
    ];
  }

  get state(): SessionState {
    const joined = this.#joined;
    if (joined !== undefined && joined.last.position > this.#state.position) {
      this.#state = foldJoined(this.#state, withText(joined));
      joined.text = "";
    }
    return this.#state;
  }

  /** What was redacted so far; undefined for nothing. */
  get redacted(): RedactedContent | undefined {
    const { redacted } = this.#prompts;
    return redacted.events === 0 ? undefined : { ...redacted };
  }

  get chain(): CheckedChain | undefined {
    const { end, open } = this.#chain;
    return end === undefined ? undefined : { ...end, open };
  }

  /** Prompts that cannot be rebuilt, because content of them was trimmed. */
  get lostPrompts(): number {
    return this.#prompts.trimmed;
  }

  /** Folds the next event and answers its faults. @throws TurnlogError `LOG_DAMAGED` after a gap, `EVENT_INVALID` */
  check(event: SessionEvent): readonly Finding[] {
    const joined = this.#joined;
    if (joined !== undefined && isNext(joined.last, event)) {
      joined.last = event;
      if ("text" in event.data) joined.text += event.data.text;
      // What the other checks say of a block's first delta, they say of each.
      return this.#links === undefined
        ? nothing
        : this.#findings([this.#links], event, this.#state);
    }
    const before = this.state;
    this.#state = foldSession(before, event).state;
    const findings = this.#findings(this.#checks, event, before);
    this.#joined =
      findings.length === 0 && isPlainDelta(event) ? { last: event, text: "" } : undefined;
    return findings;
  }

  #findings(
    checks: readonly Check[],
    event: SessionEvent,
    before: SessionState,
  ): readonly Finding[] {
    const findings: Finding[] = [];
    try {
      for (const check of checks) {
        for (const what of check.onEvent(event, before)) {
          findings.push({ position: event.position, rule: check.rule, what });
        }
      }
    } catch (error) {
      throw unfitting(event, error);
    }
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
