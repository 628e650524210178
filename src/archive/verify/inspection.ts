/** Runs all checks over the events of one session. Pure: `verifySession` and imports feed it. */

import { HashChain, type ChainEnd, type SessionEvent } from "../../events/index.ts";
import {
  foldSession,
  initialSessionState,
  unfitting,
  type SessionState,
} from "../../state/index.ts";
import { branchCheck } from "./branch-check.ts";
import { callCheck } from "./call-check.ts";
import { chainCheck } from "./chain-check.ts";
import type { Check, LogRule } from "./check.ts";
import { contentCheck } from "./content-check.ts";
import { figureCheck } from "./figure-check.ts";
import { identityCheck } from "./identity-check.ts";
import { messageCheck } from "./message-check.ts";
import { orderCheck } from "./order-check.ts";
import { pageCheck } from "./page-check.ts";
import { promptCheck, type RedactedContent } from "./prompt-check.ts";
import { trimmedCheck } from "./trimmed-check.ts";

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

export class Inspection {
  #state: SessionState = initialSessionState;
  readonly #chain = new HashChain();
  readonly #contents = contentCheck();
  readonly #prompts = promptCheck(() => this.#contents.hasFound);
  readonly #checks: readonly Check[];

  /** @param noted - A link of the hash chain that was kept outside of the store. */
  constructor(noted?: ChainEnd) {
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
      chainCheck(this.#chain, noted),
    ];
  }

  get state(): SessionState {
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
    const before = this.#state;
    this.#state = foldSession(before, event).state;
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
    return findings;
  }

  end(): readonly Finding[] {
    const { position } = this.#state;
    return this.#checks.flatMap((check) =>
      check.onEnd(this.#state).map((what) => ({ position, rule: check.rule, what })),
    );
  }
}
