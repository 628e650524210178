/** The agent of a session in its forms: as it was given, with its blobs expanded, and as the step changed it. */

import type { ModelCatalogue } from "../../context/index.ts";
import type { PreparedAgent } from "../../agent/index.ts";
import { withExpansion, type SessionBlobs } from "../../media/index.ts";
import { type PromptContext, SessionPrompts } from "../prompt/prompts.ts";

export interface RunningAgentOptions extends PromptContext {
  readonly catalogue: ModelCatalogue;
  readonly blobs: SessionBlobs;
}

export class RunningAgent {
  readonly #options: RunningAgentOptions;
  #given: PreparedAgent;
  #own: PreparedAgent;
  #step: PreparedAgent;
  #prompts: SessionPrompts;

  constructor(given: PreparedAgent, options: RunningAgentOptions) {
    this.#options = options;
    this.#given = given;
    this.#own = withExpansion(given, options.blobs);
    this.#step = this.#own;
    this.#prompts = this.#promptsOf(this.#own);
  }

  /** The session's agent. Its estimator expands blobs as a request does. */
  get own(): PreparedAgent {
    return this.#own;
  }

  /** The agent of the step, as `prepareStep` changed it. */
  get step(): PreparedAgent {
    return this.#step;
  }

  get prompts(): SessionPrompts {
    return this.#prompts;
  }

  /** Changes the tools of MCP servers for later steps. Returns whether they differ. */
  adopt(given: PreparedAgent): boolean {
    if (given === this.#given) return false;
    this.#given = given;
    this.#own = withExpansion(given, this.#options.blobs);
    this.#step = this.#own;
    this.#prompts = this.#promptsOf(this.#own);
    return true;
  }

  /** Prepares the next prompts for a step's agent. */
  use(step: PreparedAgent): void {
    if (step === this.#step) return;
    this.#step = step;
    this.#prompts.use(step);
  }

  #promptsOf(prepared: PreparedAgent): SessionPrompts {
    const { recorder, catalogue, source, clock, timer, random } = this.#options;
    return new SessionPrompts({ recorder, source, clock, timer, random }, { prepared, catalogue });
  }
}
