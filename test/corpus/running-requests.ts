// What a user waits for at each prompt, told from the log's events alone, and the prompts that do not have it.
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { SessionEvent } from "../../src/events/index.ts";

/** No message that is shorter says by itself what is wanted. */
const SHORT = 60;

interface Asked {
  readonly turn: number;
  readonly text: string;
}

/** For each call of the model, the texts that it must not miss. */
function requestsAtPrompts(events: readonly SessionEvent[]): readonly (readonly string[])[] {
  const queued = new Map<string, string>();
  const prompts: (readonly string[])[] = [];
  let asked: readonly Asked[] = [];
  let isDone = true;
  for (const { type, data } of events) {
    if (type === "message.queued" && typeof data.content === "string")
      queued.set(data.id, data.content);
    if (type === "message.delivered") {
      const texts = data.ids.map((id) => queued.get(id) ?? "");
      const isNew = isDone && texts.some(({ length }) => length > SHORT);
      const more = texts.map((text) => ({ turn: data.turn, text }));
      asked = isNew ? more : [...asked, ...more];
      isDone = false;
    }
    if (type === "turn.ended") isDone = data.reason === "stop";
    if (type === "step.started")
      prompts.push(
        asked
          .filter(({ turn, text }) => turn === data.turn || text.length > SHORT)
          .map(({ text }) => text),
      );
  }
  return prompts;
}

function saidIn({ prompt }: LanguageModelV4CallOptions): string {
  return prompt
    .flatMap(({ role, content }) =>
      role === "user" ? content.map((part) => (part.type === "text" ? part.text : "")) : [],
    )
    .join("\n");
}

/** What the model has just said, and what its calls brought. */
function newestExchange({ prompt }: LanguageModelV4CallOptions): string {
  const last = prompt.findLastIndex(({ role }) => role === "assistant");
  return last === -1 ? "" : JSON.stringify(prompt.slice(last));
}

/** How many prompts there are, and how many of them do not have the running request. */
export interface Lost {
  readonly prompts: number;
  /** Prompts whose request takes no more than a third of the window. */
  readonly fitting: number;
  /** Of these, without it. */
  readonly lost: number;
  /** Of these, where it has no place beside the newest step, or had none when the prompt was compacted. */
  readonly crowded: number;
}

/** By OpenAI's tokenizer a prompt may seem to have some more place than its provider gives it. */
const FULL = 0.85;

export function lostRequests(
  events: readonly SessionEvent[],
  calls: readonly LanguageModelV4CallOptions[],
  window: number,
): Lost {
  const requests = requestsAtPrompts(events);
  if (requests.length !== calls.length)
    throw new Error(`${calls.length} calls of the model, but ${requests.length} were begun.`);
  let isCrowded = false;
  const found = { prompts: calls.length, fitting: 0, lost: 0, crowded: 0 };
  for (const [index, call] of calls.entries()) {
    const texts = requests[index] ?? [];
    const said = saidIn(call);
    const tokens = texts.reduce((sum, text) => sum + countTokens(text), 0);
    if (tokens > window / 3) continue;
    found.fitting += 1;
    const isLost = !texts.every((text) => said.includes(text));
    isCrowded = isLost && (isCrowded || tokens + countTokens(newestExchange(call)) > FULL * window);
    if (isLost) found.lost += 1;
    if (isCrowded) found.crowded += 1;
  }
  return found;
}
