/**
 * A request as a bill sees it, and what it has before its messages, in the order in which providers compare it: each
 * tool's definition, then the instructions. Logs of earlier releases have their digests only: there it is one block. Pure.
 */

import { factorPrior, modelFamily, toolsText, type Meter } from "../context/index.ts";
import { defined, REDACTED, type ModelName, type TokenUsage } from "../events/index.ts";
import { standingPrompt } from "../projections/index.ts";
import type { SessionState } from "../state/index.ts";
import type { Block } from "./blocks.ts";

/** Equal texts are sent alike. */
export type Standing = Readonly<Record<"tools" | "instructions" | "settings", Told>>;

interface Told {
  readonly text: string;
  /** The position of the event that brought it. */
  readonly since: number;
}

/** `before`: what stood before the event at this position. */
export function standingAt(state: SessionState, before: Standing | undefined): Standing {
  const { tools, instructions, settings } = standingPrompt(state);
  const { position, summary, standing, view } = state;
  const { toolChoice, settings: own, providerOptions } = view.prepared?.overrides ?? {};
  const told = (name: keyof Standing, value: readonly unknown[]): Told => {
    const text = JSON.stringify(value);
    return before?.[name].text === text ? before[name] : { text, since: position };
  };
  return {
    tools: told(
      "tools",
      tools.map(({ name, digest }) => [name, digest]),
    ),
    instructions: told("instructions", [instructions.digest ?? summary.agentDigest]),
    settings: told("settings", [
      // Earlier releases recorded only what `prepareStep` chose.
      settings ?? [toolChoice ?? standing.agent?.parts?.toolChoice, own, providerOptions],
    ]),
  };
}

export const isStanding = ({ name: { kind } }: Block): boolean =>
  kind === "tool" || kind === "instructions" || kind === "standing";

/** The standing blocks of requests. Each text is measured once for each model. */
export class StandingBlocks {
  /** The positions of texts by their digests. */
  readonly #stored = new Map<string, number>();
  readonly #made = new WeakMap<Meter, Map<string, Block>>();

  store(digest: string, position: number): void {
    this.#stored.set(digest, position);
  }

  of(state: SessionState, standing: Standing, meter: Meter): readonly Block[] {
    const { tools, instructions } = standingPrompt(state);
    const made = this.#made.get(meter) ?? new Map<string, Block>();
    this.#made.set(meter, made);
    const blocks = [...tools, { ...instructions, name: undefined }].flatMap((one) => {
      const { digest, text, name } = one;
      if (digest === undefined || text === undefined || text === REDACTED) return [undefined];
      // A deferred tool is sent once a search has found it, which is not told here.
      if (text === "" || (name !== undefined && text.includes('"deferLoading":true'))) return [];
      const kind = name === undefined ? "instructions" : "tool";
      const key = `${kind} ${digest}`;
      const known = made.get(key);
      if (known !== undefined) return [known];
      const position = this.#stored.get(digest) ?? standing.instructions.since;
      const tokens =
        name === undefined
          ? instructionsTokens(text, meter)
          : toolTokens(text, tools.length, meter);
      const block: Block = {
        key,
        tokens,
        text,
        name: { kind, position, ...defined({ toolName: name }) },
      };
      made.set(key, block);
      return [block];
    });
    const known = blocks.filter((block) => block !== undefined);
    if (known.length === blocks.length) return known;
    const key = `${standing.tools.text}\n${standing.instructions.text}`;
    const position = state.standing.agent?.position ?? 0;
    return [{ key, name: { kind: "standing", position }, tokens: 0 }];
  }
}

function instructionsTokens(text: string, meter: Meter): number {
  const { perPrompt, perInstructions } = modelFamily(meter.model);
  return textTokens(text, meter) + perPrompt + perInstructions;
}

function toolTokens(text: string, tools: number, meter: Meter): number {
  const { preamble, each, form } = modelFamily(meter.model).tools;
  return textTokens(toolsText(`[${text}]`, form), meter) + each + preamble / tools;
}

function textTokens(text: string, meter: Meter): number {
  return meter.text(text).text * factorPrior(meter.estimator, meter.model).factor;
}

// A request that a step sent, with what it was made from.

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
