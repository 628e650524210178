/**
 * A session's events as if a provider's model had made them: its name, ids of calls in its form, and the metadata
 * with which it signs and seals. Pure.
 */

import type { ModelName, ProviderMetadata, SessionEvent } from "../../src/events/index.ts";

/** What a provider puts at a part of a reply. */
type Marks = (type: string, number: number) => ProviderMetadata | undefined;

export interface Maker {
  readonly model: ModelName;
  readonly callId: (id: string) => string;
  readonly marks: Marks;
  /** The parts that it makes beside text, reasoning and calls of our tools. */
  readonly makes?: RegExp;
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

const unmarked: Marks = () => undefined;

/** The makers of histories, each of whose marks others must not be sent. */
export const makers = {
  anthropic: {
    model: { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" },
    callId: (id) => `toolu_${id.replaceAll(/\W/g, "_")}`,
    marks: (type, number) =>
      /reasoning-(start|end)$/.test(type)
        ? { anthropic: { signature: `signed-${number}` } }
        : undefined,
    makes: /^provider-call$/,
  },
  openai: {
    model: { provider: "openai.responses", modelId: "gpt-5.1" },
    callId: (id) => `call_${id.replaceAll(/\W/g, "_")}`,
    marks: (type, number) => {
      if (/reasoning/.test(type))
        return { openai: { itemId: `rs_${number}`, reasoningEncryptedContent: "sealed" } };
      if (/text/.test(type)) return { openai: { itemId: `msg_${number}` } };
      return /tool-call/.test(type) ? { openai: { itemId: `fc_${number}` } } : undefined;
    },
    makes: /^provider-call$/,
  },
  google: {
    model: { provider: "google.generative-ai", modelId: "gemini-3-pro-preview" },
    callId: (id) => id,
    marks: (type, number) =>
      /reasoning|tool-call|text/.test(type)
        ? { google: { thoughtSignature: base64(`signed-${number}`) } }
        : undefined,
    makes: /^(part\.file|part\.reasoning-file)$/,
  },
  moonshot: {
    model: { provider: "moonshotai.chat", modelId: "kimi-k2.5" },
    callId: (id) => `functions.look:${id}`,
    marks: unmarked,
  },
  mistral: {
    model: { provider: "mistral.chat", modelId: "mistral-large-latest" },
    callId: (id) => id.replaceAll(/\W/g, "x").padEnd(9, "0").slice(-9),
    marks: unmarked,
  },
  bedrock: {
    model: {
      provider: "amazon-bedrock",
      modelId: "anthropic.claude-sonnet-4-5-20250929-v1:0",
    },
    callId: (id) => `tooluse_${id.replaceAll(/\W/g, "_")}`,
    marks: (type, number) =>
      /reasoning-(start|end)$/.test(type)
        ? { bedrock: { signature: `signed-${number}` } }
        : undefined,
  },
} as const satisfies Readonly<Record<string, Maker>>;

export type MakerName = keyof typeof makers;

/** A whole picture, for the generated sessions' two letters. */
const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** In the place of a part that the maker does not make. */
const nothing = {
  type: "part.source",
  data: { sourceType: "url", id: "s", url: "https://a.invalid" },
};

/** A call of a provider's tool, and its result, as one of its own search. */
function searched({ output }: Readonly<Record<string, unknown>>): object {
  const hit = {
    type: "web_search_result",
    url: "https://a.invalid",
    title: "A page",
    pageAge: null,
    encryptedContent: "sealed",
  };
  return { toolName: "web_search", ...(output === undefined ? {} : { output: [hit] }) };
}

/** The blocks of a reply keep one mark, as a provider's items do. */
export function dressed(
  events: readonly SessionEvent[],
  { model, callId, marks, makes = /^$/ }: Maker,
): readonly SessionEvent[] {
  let blocks = new Map<string, number>();
  const numberOf = ({ position, type, data }: SessionEvent): number => {
    const id =
      /^part\.(text|reasoning)-/.test(type) && "id" in data ? JSON.stringify(data.id) : undefined;
    if (id === undefined) return position;
    const known = type.endsWith("-start") ? position : (blocks.get(id) ?? position);
    blocks.set(id, known);
    return known;
  };
  const valueOf = (key: string, value: unknown): unknown => {
    switch (key) {
      case "callId":
      case "toolCallId":
        return typeof value === "string" ? callId(value) : value;
      case "deferred":
        return Array.isArray(value) ? value.map((id) => callId(String(id))) : value;
      case "model":
        return typeof value === "object" ? model : value;
      case "data":
        return value === "aGk=" ? PICTURE : value;
      default:
        return value;
    }
  };
  return events.map((event) => {
    if (event.type === "step.started") blocks = new Map();
    const number = numberOf(event);
    const made = JSON.parse(JSON.stringify(event), (key, value: unknown) =>
      valueOf(key, value),
    ) as SessionEvent;
    if (!made.type.startsWith("part.")) return made;
    const kind = "providerExecuted" in made.data ? "provider-call" : made.type;
    if (/^(provider-call|part\.(file|reasoning-file|custom))$/.test(kind) && !makes.test(kind)) {
      return { ...made, ...nothing } as SessionEvent;
    }
    const providerMetadata = marks(made.type, number);
    const { providerMetadata: _, ...data } = made.data as Readonly<Record<string, unknown>>;
    return {
      ...made,
      data: {
        ...data,
        ...(kind === "provider-call" ? searched(data) : {}),
        ...(providerMetadata === undefined ? {} : { providerMetadata }),
      },
    } as SessionEvent;
  });
}
