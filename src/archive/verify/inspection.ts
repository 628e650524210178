/** Folds a session's events one by one and holds each against the laws. Pure: knows no log. */

import { HashChain, type ChainEnd, type SessionEvent } from "../../events/index.ts";
import { foldSession, initialSessionState, type SessionState } from "../../state/index.ts";
import { callCheck } from "./call-check.ts";
import { chainCheck } from "./chain-check.ts";
import type { Check, LogRule } from "./check.ts";
import { contentCheck } from "./content-check.ts";
import { figureCheck } from "./figure-check.ts";
import { messageCheck } from "./message-check.ts";
import { orderCheck } from "./order-check.ts";
import { promptCheck, type RedactedContent } from "./prompt-check.ts";
import { trimmedCheck } from "./trimmed-check.ts";

export interface Finding {
  readonly position: number;
  readonly rule: LogRule;
  /** In words. */
  readonly what: string;
}

export interface CheckedChain extends ChainEnd {
  /** Events behind the last link, which only their checksums cover. */
  readonly open: number;
}

export class Inspection {
  #state: SessionState = initialSessionState;
  readonly #chain = new HashChain();
  readonly #contents = contentCheck();
  readonly #prompts = promptCheck(() => this.#contents.hasFound);
  readonly #checks: readonly Check[];

  /** @param noted - A link of the session's hash chain that was noted somewhere else. */
  constructor(noted?: ChainEnd) {
    this.#checks = [
      orderCheck(),
      messageCheck(),
      callCheck(),
      figureCheck(),
      this.#contents,
      this.#prompts,
      trimmedCheck(),
      chainCheck(this.#chain, noted),
    ];
  }

  /** The state after the events so far. */
  get state(): SessionState {
    return this.#state;
  }

  /** What was redacted so far; undefined where nothing was. */
  get redacted(): RedactedContent | undefined {
    const { redacted } = this.#prompts;
    return redacted.events === 0 ? undefined : { ...redacted };
  }

  /** The last link of the hash chain and how many events have come since; undefined without a chain. */
  get chain(): CheckedChain | undefined {
    const { end, open } = this.#chain;
    return end === undefined ? undefined : { ...end, open };
  }

  /** Prompts that cannot be made again, since reasoning that they had was dropped. */
  get lostPrompts(): number {
    return this.#prompts.trimmed;
  }

  /** Takes the next event in; answers what is wrong with it. @throws TurnlogError `LOG_DAMAGED` after a gap */
  see(event: SessionEvent): readonly Finding[] {
    const before = this.#state;
    this.#state = foldSession(before, event).state;
    const findings: Finding[] = [];
    for (const check of this.#checks) {
      for (const what of check.see(event, before)) {
        findings.push({ position: event.position, rule: check.rule, what });
      }
    }
    return findings;
  }

  /** What is wrong with the whole, when no more events come. */
  end(): readonly Finding[] {
    const { position } = this.#state;
    return this.#checks.flatMap((check) =>
      check.end(this.#state).map((what) => ({ position, rule: check.rule, what })),
    );
  }
}
