/** A request that a step sent, with what it was made from. */

import type { ModelName, TokenUsage } from "../events/index.ts";
import type { SessionState } from "../state/index.ts";
import type { Block } from "./blocks.ts";
import type { Standing } from "./standing.ts";

export interface Request {
  /** Of its `step.started`. */
  readonly position: number;
  readonly turn: number;
  readonly step: number;
  readonly attempt: number;
  readonly model: ModelName;
  /** Epoch milliseconds of its start. */
  readonly sent: number;
  /** Before the step. */
  readonly state: SessionState;
  readonly standing: Standing;
  readonly blocks: readonly Block[];
}

/** The tokens of each block. */
export interface SizedPrompt extends Pick<Request, "blocks"> {
  readonly tokens: readonly number[];
}

export interface BilledRequest extends Request, SizedPrompt {
  readonly usage: TokenUsage;
}
