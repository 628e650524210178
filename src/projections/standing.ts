/**
 * What requests have besides their messages: the agent that the log names last, and the texts of instructions,
 * tools and settings by their digests. The runtime records texts by it; views, diffs and bills show them.
 */

import { hash } from "node:crypto";
import { z } from "zod";
import {
  agentPartsSchema,
  byId,
  byIdSchema,
  jsonObjectSchema,
  likenessSchema,
  modelNameSchema,
  REDACTED,
  type AgentDescription,
  type EventBody,
  type JsonObject,
  type TextLikeness,
} from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

interface StandingAgent extends Pick<AgentDescription, "model" | "tools" | "parts"> {
  /** Of the event that names it. */
  readonly position: number;
}

interface StoredText {
  readonly text: string;
  readonly like?: TextLikeness;
}

export interface StandingState {
  /** Absent only before the first event. */
  readonly agent?: StandingAgent;
  readonly texts: Readonly<Record<string, StoredText>>;
  readonly settings?: JsonObject;
}

export function textDigest(text: string): string {
  return hash("sha256", text);
}

const emptyDigest = textDigest("");

/** The text of a digest; `REDACTED` if it was redacted; undefined if the log, as of an earlier release, has none. */
export function standingText({ texts }: StandingState, digest: string): string | undefined {
  if (digest === emptyDigest) return "";
  const stored = byId(texts, digest);
  if (stored?.like === undefined) return stored?.text;
  const { head, tail } = stored.like;
  const whole = byId(texts, stored.like.digest)?.text ?? REDACTED;
  if (whole === REDACTED || stored.text === REDACTED) return REDACTED;
  return whole.slice(0, head) + stored.text + whole.slice(whole.length - tail);
}

/** The event that stores a text; undefined if the log has it. Only what differs is stored, if that is at most half. */
export function textEvent(
  state: StandingState,
  text: string,
  digest = textDigest(text),
): EventBody<"prompt.text"> | undefined {
  if (digest === emptyDigest || Object.hasOwn(state.texts, digest)) return undefined;
  const near = Object.entries(state.texts)
    .filter(([, stored]) => stored.like === undefined)
    .map(([whole, stored]) => ({ digest: whole, ...common(stored.text, text) }))
    .toSorted((one, other) => other.head + other.tail - one.head - one.tail)[0];
  const shared = near === undefined ? 0 : near.head + near.tail;
  const data =
    near === undefined || shared * 2 < text.length
      ? { digest, text }
      : { digest, text: text.slice(near.head, text.length - near.tail), like: near };
  return { type: "prompt.text", data };
}

/** The event that records the settings of the next step; undefined if the log has them. */
export function settingsEvent(
  { settings = {} }: StandingState,
  sent: JsonObject,
): EventBody<"prompt.configured"> | undefined {
  if (JSON.stringify(settings) === JSON.stringify(sent)) return undefined;
  return { type: "prompt.configured", data: { settings: sent } };
}

/** The lengths of the common beginning and of the common end behind it. A pair of surrogates is never cut. */
function common(one: string, other: string): { readonly head: number; readonly tail: number } {
  const most = Math.min(one.length, other.length);
  let head = 0;
  while (head < most && one.charCodeAt(head) === other.charCodeAt(head)) head += 1;
  if (isWithin(one, head - 1, 0xd8_00)) head -= 1;
  let tail = 0;
  while (
    tail < most - head &&
    one.charCodeAt(one.length - 1 - tail) === other.charCodeAt(other.length - 1 - tail)
  )
    tail += 1;
  if (isWithin(one, one.length - tail, 0xdc_00)) tail -= 1;
  return { head: Math.max(0, head), tail: Math.max(0, tail) };
}

/** Whether a code unit is one of the surrogates that begin at `first`: high ones begin a pair, low ones end it. */
function isWithin(text: string, index: number, first: number): boolean {
  const code = text.charCodeAt(index);
  return code >= first && code < first + 0x4_00;
}

export const standing: Projection<StandingState> = defineProjection<StandingState>({
  name: "standing",
  version: 1,
  follows: "log",
  schema: z.lazy(() =>
    z.object({
      agent: z
        .object({
          position: z.int(),
          model: modelNameSchema,
          tools: z.array(z.string()),
          parts: agentPartsSchema.exactOptional(),
        })
        .exactOptional(),
      texts: byIdSchema(z.object({ text: z.string(), like: likenessSchema.exactOptional() })),
      settings: jsonObjectSchema.exactOptional(),
    }),
  ),
  initial: { texts: {} },
  on: {
    "session.created": (state, { position, data }) => ofAgent(state, position, data.agent),
    "session.forked": (state, { position, data: { agent } }) =>
      agent === undefined ? state : ofAgent(state, position, agent),
    "session.configured": (state, { position, data }) => ofAgent(state, position, data.agent),
    "prompt.text": (state, { data: { digest, ...stored } }) => ({
      ...state,
      texts: { ...state.texts, [digest]: stored },
    }),
    "prompt.configured": (state, { data: { settings } }) => ({ ...state, settings }),
  },
});

function ofAgent(
  state: StandingState,
  position: number,
  { model, tools, parts }: AgentDescription,
): StandingState {
  const agent = { position, model, tools };
  return { ...state, agent: parts === undefined ? agent : { ...agent, parts } };
}
