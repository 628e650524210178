/**
 * What the model of every contender says, and what is noted of the session meanwhile. A contender's
 * model asks it for each step, its tool for each result, and the consumer reports each delta to it.
 * It belongs to no SDK: each contender brings its own model that reads from it.
 */

import { mark, type Mark } from "../meter.ts";
import type { Workload } from "../workload.ts";

/** How the model speaks when it is going to be killed. */
export type Pace =
  /** As fast as it can, never giving way. */
  | "burst"
  /** A delta each millisecond, some times as fast as providers are. */
  | "steady"
  /** The same, and it is silent for a second before the kill. */
  | "silent";

export interface ScriptStep {
  readonly step: number;
  readonly texts: readonly string[];
  /** Absent in the last step, which only speaks. */
  readonly call?: {
    readonly id: string;
    readonly name: "lookup";
    readonly input: { readonly step: number };
  };
}

export interface ScriptOptions {
  /** Told before each step is said, with what the model was asked. */
  readonly onCall?: (prompt: unknown) => void;
  /** Awaited before each delta, where it is given: measured sessions run without it. */
  readonly pace?: (step: number, delta: number) => Promise<void>;
}

export class Script {
  readonly workload: Workload;
  readonly #options: ScriptOptions;
  readonly #marks: Mark[] = [];
  #characters = 0;
  #results = 0;
  #prompt: unknown;

  constructor(workload: Workload, options: ScriptOptions = {}) {
    this.workload = workload;
    this.#options = options;
  }

  /** For the model: it is called, and says this. `prompt` is everything that it was asked, in any form. */
  call(prompt: unknown): ScriptStep {
    const step = this.#marks.push(mark()) - 1;
    this.#prompt = prompt;
    this.#options.onCall?.(prompt);
    const texts = this.workload.texts[step];
    if (texts === undefined) throw new Error(`The script has no step ${step + 1}.`);
    if (step === this.workload.steps - 1) return { step, texts };
    return { step, texts, call: { id: `call_${step}`, name: "lookup", input: { step } } };
  }

  /** For the model: awaited before each delta where it is there. */
  get pace(): ((step: number, delta: number) => Promise<void>) | undefined {
    return this.#options.pace;
  }

  /** For the tool. */
  result(step: number): string {
    this.#results++;
    return this.workload.results[step] ?? "";
  }

  /** For the consumer: a delta has come. */
  saw(text: string): void {
    this.#characters += text.length;
  }

  /** Where each step began. @throws when other work was done than the script's */
  finished(): readonly Mark[] {
    const { steps, deltaCharacters } = this.workload;
    const [calls, results] = [this.#marks.length, this.#results];
    if (calls !== steps || results !== steps - 1 || this.#characters !== deltaCharacters) {
      throw new Error(
        `Other work was done: ${calls} steps, ${results} results, ${this.#characters} characters.`,
      );
    }
    assertWhole(this.#prompt, this.workload, steps - 1);
    return this.#marks;
  }
}

/** Each prompt must have the whole conversation: a contender that leaves out a part does less work. */
export function assertWhole(prompt: unknown, { texts, results }: Workload, steps: number): void {
  const told = JSON.stringify(prompt);
  for (let step = 0; step < steps; step++) {
    const said = [(texts[step] ?? []).join(""), results[step] ?? ""];
    if (!said.every((text) => told.includes(JSON.stringify(text).slice(1, -1)))) {
      throw new Error(`The prompt lacks step ${step + 1}.`);
    }
  }
}
