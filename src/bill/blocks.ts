/**
 * What a request has, block by block, in the order in which providers compare it: what stands before the
 * messages, then each message; each result of a tool and the media of a message are blocks of their own. Pure.
 */

import type { ModelMessage } from "ai";
import type { AgentDescription } from "../events/index.ts";
import { type Meter, type ModelFamily, factorPrior, modelFamily } from "../context/index.ts";
import { digestOf, type ContextView, type PromptEntry } from "../projections/index.ts";

export interface PartName {
  /**
   * `standing`: instructions and tool definitions, where the log has their digests only; `other`: notes and what
   * `prepareStep` added; `summarizing`: the whole prompt of a call for a summary.
   */
  readonly kind:
    | "standing"
    | "message"
    | "media"
    | "reply"
    | "result"
    | "summary"
    | "other"
    | "summarizing";
  /** The position of the event that it comes from. */
  readonly position: number;
  readonly step?: number;
  readonly callId?: string;
  readonly toolName?: string;
}

export interface Block {
  /** Equal for equal content. */
  readonly key: string;
  readonly name: PartName;
  /** Estimated; 0 if its content is not known. */
  readonly tokens: number;
  /** The index of its message in the prompt; -1 for what stands before. */
  readonly index: number;
  readonly message?: ModelMessage;
}

/** What a request has before its messages, as far as the log tells it. Equal texts are sent alike. */
export interface Standing {
  readonly tools: string;
  readonly instructions: string;
  readonly settings: string;
  readonly position: number;
}

/** Digests, since logs have no texts of instructions and tools. */
export function standingParts(
  { digest, tools, parts }: AgentDescription,
  { prepared, instructions }: ContextView,
  position: number,
): Standing {
  const { activeTools, toolOrder, toolChoice, settings, providerOptions } =
    prepared?.overrides ?? {};
  const text = JSON.stringify;
  return {
    tools: text([tools.map((name) => [name, parts?.tools[name]]), activeTools, toolOrder]),
    instructions: text(instructions ?? parts?.instructions ?? digest),
    settings: text([toolChoice ?? parts?.toolChoice, settings, providerOptions]),
    position,
  };
}

interface Piece extends Pick<Block, "key" | "tokens" | "message"> {
  readonly kind: "media" | "result" | "text";
  readonly callId?: string;
  readonly toolName?: string;
}

const pieces = new WeakMap<Meter, WeakMap<ModelMessage, readonly Piece[]>>();

/** Made once for each message. */
function piecesOf(message: ModelMessage, meter: Meter): readonly Piece[] {
  const known = pieces.get(meter) ?? new WeakMap<ModelMessage, readonly Piece[]>();
  pieces.set(meter, known);
  const made = known.get(message) ?? makePieces(message, meter);
  known.set(message, made);
  return made;
}

function makePieces(message: ModelMessage, meter: Meter): readonly Piece[] {
  const { factor } = factorPrior(meter.estimator, meter.model);
  const key = digestOf(message);
  if (message.role === "tool")
    return message.content.flatMap((part) => {
      if (part.type !== "tool-result") return [];
      const one: ModelMessage = { role: "tool", content: [part] };
      const { text, media, around } = meter.result(part);
      const tokens = text * factor + media + around;
      const { toolCallId: callId, toolName } = part;
      return [
        { key: digestOf(one), kind: "result" as const, tokens, callId, toolName, message: one },
      ];
    });
  const { text, media, around } = meter.message(message);
  const said: Piece = { key, kind: "text", tokens: text * factor + around, message };
  if (media === 0 || message.role !== "user") return [{ ...said, tokens: said.tokens + media }];
  return [said, { key: `media ${key}`, kind: "media", tokens: media }];
}

const kinds = {
  user: "message",
  step: "reply",
  summary: "summary",
  note: "other",
  "as-text": "other",
  "cut-off-note": "other",
  prepared: "other",
} as const;

/** The step that began at a position. */
export interface StepPlace {
  readonly step: number;
  readonly turn: number;
}

/** Whether the reasoning of an earlier reply is left out, since its turn has ended. */
function isThoughtless(
  { content }: ModelMessage,
  place: StepPlace | undefined,
  turn: number,
  { reasoning: { inTurn, afterTurn } }: ModelFamily,
): boolean {
  if (place === undefined || place.turn === turn || afterTurn === "all" || inTurn === afterTurn)
    return false;
  return Array.isArray(content) && content.some(({ type }) => type === "reasoning");
}

/** `turn`: that of the request. `steps`: by position. */
export function blocksOf(
  entries: readonly PromptEntry[],
  { tools, instructions, position }: Standing,
  meter: Meter,
  turn: number,
  steps: ReadonlyMap<number, StepPlace>,
): readonly Block[] {
  const family = modelFamily(meter.model);
  const standing: Block = {
    key: `${tools}\n${instructions}`,
    name: { kind: "standing", position },
    tokens: 0,
    index: -1,
  };
  const said = entries.flatMap(({ message, origin }, index) =>
    piecesOf(message, meter).map(({ kind, callId, toolName, ...piece }): Block => {
      const place = origin.kind === "step" ? steps.get(origin.position) : undefined;
      const key = isThoughtless(message, place, turn, family) ? `${piece.key} alone` : piece.key;
      const name: PartName = {
        kind: kind === "text" ? kinds[origin.kind] : kind,
        position: origin.position,
        ...(place === undefined ? {} : { step: place.step }),
        ...(callId === undefined ? {} : { callId }),
        ...(toolName === undefined ? {} : { toolName }),
      };
      return { ...piece, key, name, index };
    }),
  );
  return [standing, ...said];
}
