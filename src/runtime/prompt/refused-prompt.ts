/** Decides what the next attempt leaves out after a provider refused the conversation itself. Pure. */

import type { ModelMessage } from "ai";
import {
  shownMedia,
  type ShownMedium,
  unsentMessages,
  type ContextEstimate,
} from "../../context/index.ts";
import type {
  EventBody,
  FailureKind,
  Reduction,
  RefusedMedium,
  StoredError,
} from "../../events/index.ts";
import {
  contextView,
  isSamePrompt,
  itemMessages,
  promptMessages,
  isTooLarge,
  noUsage,
} from "../../projections/index.ts";
import { refusalCause, refusalWords } from "../model/refusal-cause.ts";
import type { SessionState } from "../../state/index.ts";
import { type PromptSetup, nextEstimate } from "./context-figures.ts";
import { compactionChoice, type ContextOptions } from "../../agent/index.ts";
import {
  budgetBelow,
  REFUSED_SHARE,
  refusedLimit,
  refusedTokens,
  cutsNow,
  omissionNow,
} from "./headroom.ts";

/** How often a step leaves out the files that its error names. Then it leaves out all of them. */
const MOST_NAMED = 3;

/** The next rung; undefined if the conversation is not to blame, or nothing is left to leave out. */
export function reductionNow(
  state: SessionState,
  { prepared: { agent, instructions } }: PromptSetup,
  kind: FailureKind,
  error: StoredError,
): EventBody<"context.reduced"> | undefined {
  const { history, machine } = state;
  const { step, stopping } = machine.context;
  if (agent.context?.onRefusal === "fail" || stopping !== undefined) return undefined;
  const cause = refusalCause(error, kind);
  const last = history.items.findLast((item) => itemMessages(item).length > 0);
  if (cause === undefined || cause === "setup" || last === undefined) return undefined;
  const to = last.position;
  const rungs: (Reduction | undefined)[] = [];
  if (cause !== "history") {
    const isSystemSent = instructions !== "";
    rungs.push(withoutMedia(state, refusalWords(error), isSystemSent, cause === "unclear"));
  }
  // A setup that this model has accepted in this session is not what it refuses now.
  if (cause !== "unclear" || hasAnswered(state))
    rungs.push({ rung: "as-text", to }, { rung: "newest-only", to });
  return rungs
    .flatMap((rung) => (rung === undefined ? [] : { ...rung, step }))
    .map((data) => ({ type: "context.reduced", data }) as const)
    .find((body) => changesPrompt(state, body));
}

function hasAnswered({ history: { items, open } }: SessionState): boolean {
  return items.some(
    (item) =>
      item.kind === "step" &&
      item.status === "finished" &&
      item.model.provider === open?.model.provider &&
      item.model.modelId === open.model.modelId,
  );
}

function changesPrompt(
  { history, view, position }: SessionState,
  body: EventBody<"context.reduced">,
): boolean {
  const after = contextView.fold(view, { ...body, position: position + 1, time: 0 });
  return !isSamePrompt(promptMessages(history, view), promptMessages(history, after));
}

/**
 * The files that the error names, else those that no model has answered yet, else the newest, and finally all.
 */
function withoutMedia(
  { history, view, machine }: SessionState,
  words: string,
  isSystemSent: boolean,
  onlyNew: boolean,
): Reduction | undefined {
  const messages = promptMessages(history, view);
  const shown = shownMedia(history, view);
  const { step } = machine.context;
  const tried = (view.reductions ?? []).filter(
    (one) => one.step === step && one.rung === "without-media",
  ).length;
  const named = tried < MOST_NAMED ? namedMedia(shown, words, messages, isSystemSent) : [];
  const gone = named.length > 0 ? named : tried > 0 ? shown : newest(ofKind(shown, words), onlyNew);
  const to = gone.at(-1)?.item.position;
  return to === undefined ? undefined : { rung: "without-media", to, media: gone.map(nameOf) };
}

function nameOf({ item, index }: ShownMedium): RefusedMedium {
  const { position } = item;
  return item.kind === "user" ? { position, id: item.id, index } : { position, index };
}

function newest(shown: readonly ShownMedium[], onlyNew: boolean): readonly ShownMedium[] {
  const fresh = shown.filter(({ isNew }) => isNew);
  if (fresh.length > 0 || onlyNew) return fresh;
  const last = shown.at(-1);
  return shown.filter(({ item }) => item === last?.item);
}

function namedMedia(
  shown: readonly ShownMedium[],
  words: string,
  messages: readonly ModelMessage[],
  isSystemSent: boolean,
): readonly ShownMedium[] {
  const there = placesNamed(words, messages, isSystemSent);
  return shown.filter(
    ({ medium }) =>
      there.has(dataOf(medium.part)) || namesOf(medium).some((name) => words.includes(name)),
  );
}

/** An address, the name of a file, and the ids of an uploaded one. Shorter names are words of a sentence. */
function namesOf({ data, filename = "", uploaded }: ShownMedium["medium"]): readonly string[] {
  const ids = Object.values(uploaded?.reference ?? {});
  const address = /^https?:/i.test(data) ? [data] : [];
  return [...address, ...ids, filename].filter(({ length }) => length > 4);
}

const kinds: readonly (readonly [RegExp, RegExp])[] = [
  [/\bpdf|document/i, /^application\//],
  [/image|picture/i, /^image/],
  [/audio|sound/i, /^audio/],
  [/video/i, /^video/],
];

/** The files of the kind that the error names, if there are any. */
function ofKind(shown: readonly ShownMedium[], words: string): readonly ShownMedium[] {
  const types = kinds.filter(([word]) => word.test(words)).map(([, type]) => type);
  const found = shown.filter(({ medium }) => types.some((type) => type.test(medium.mediaType)));
  return found.length > 0 ? found : shown;
}

function dataOf(part: object): unknown {
  return "data" in part ? part.data : undefined;
}

// Finds the files at the place of a request that a provider's error names, such as `messages.2.content.1`. Each
// provider counts the messages that its client made of the prompt. Pure.

/** A message as it is sent: each part with the data of its files; undefined for what is no file. */
type Wire = readonly (readonly unknown[])[];

interface Format {
  /** Groups: the number of the message, of the part in it, and of the element of a result. */
  readonly path: RegExp;
  readonly wires: (messages: readonly ModelMessage[], isSystemSent: boolean) => readonly Wire[];
}

const formats: readonly Format[] = [
  // Anthropic and Bedrock join messages of one side in a row.
  { path: /messages[./](\d+)(?:[./]content[./](\d+)(?:\D*[./]content[./](\d+))?)?/, wires: joined },
  // OpenAI's chat format: the instructions and each result are messages.
  {
    path: /(?:messages\[|body messages )(\d+)\]?(?:(?:\.content\[| content )(\d+))?/,
    wires: (messages, isSystemSent) => [
      ...(isSystemSent ? [[]] : []),
      ...messages.flatMap((one) =>
        one.role === "tool" ? partsOf(one).map((part) => [part]) : [partsOf(one)],
      ),
    ],
  },
  // OpenAI's Responses: each part of a reply is an item.
  {
    path: /input\[(\d+)\](?:\.(?:content|output)\[(\d+)\])?/,
    wires: (messages, isSystemSent) => [
      ...(isSystemSent ? [[]] : []),
      ...messages.flatMap((one) =>
        one.role === "user"
          ? [partsOf(one)]
          : partsOf(one).map((part) => part.map((data) => [data])),
      ),
    ],
  },
  // Gemini: the files of a result are parts of it.
  {
    path: /contents\[(\d+)\](?:\.parts\[(\d+)\](?:\D*\.parts\[(\d+)\])?)?/,
    wires: (messages) => messages.map((one) => partsOf(one).map((part) => part.filter(isFile))),
  },
];

/** The `data` of the files at all places that the words name. */
function placesNamed(
  words: string,
  messages: readonly ModelMessage[],
  isSystemSent: boolean,
): ReadonlySet<unknown> {
  const found = formats.flatMap(({ path, wires }) => {
    const all = [...words.matchAll(new RegExp(path, "g"))];
    if (all.length === 0) return [];
    const sent = wires(messages, isSystemSent);
    return all.flatMap(([, message, part, element]) => {
      const wire = sent[Number(message)] ?? [];
      const ofPart = part === undefined ? [] : (wire[Number(part)] ?? []);
      const there = element === undefined ? [] : [ofPart[Number(element)]];
      // The nearest place that has a file.
      return [there, ofPart, wire.flat()].find((data) => data.some(isFile)) ?? [];
    });
  });
  return new Set(found.filter(isFile));
}

function isFile(data: unknown): boolean {
  return data !== undefined;
}

function joined(messages: readonly ModelMessage[]): readonly Wire[] {
  const wires: { readonly isReply: boolean; parts: Wire }[] = [];
  for (const message of messages) {
    const isReply = message.role === "assistant";
    const last = wires.at(-1);
    if (last?.isReply === isReply) last.parts = [...last.parts, ...partsOf(message)];
    else wires.push({ isReply, parts: partsOf(message) });
  }
  return wires.map(({ parts }) => parts);
}

function partsOf({ content }: ModelMessage): Wire {
  if (typeof content === "string") return [[]];
  return content.map((part) =>
    part.type === "tool-result" && part.output.type === "content"
      ? part.output.value.map(fileData)
      : [fileData(part)],
  );
}

function fileData(part: object): unknown {
  return "data" in part && "mediaType" in part ? part.data : undefined;
}

// Decides what follows when a provider refuses a prompt as too long. Pure.

/** How often a step's prompt may be refused before the step fails. */
export const MOST_REFUSALS = 2;
/** Compactions for one step in all. */
const MOST_ATTEMPTS = 3;

export function omissionAfterRefusal(
  state: SessionState,
  setup: PromptSetup,
  now: number,
): EventBody | undefined {
  const { history, machine } = state;
  const { error } = history.open ?? {};
  if (error === undefined || !isTooLarge(error) || machine.context.stopping !== undefined)
    return undefined;
  const estimate = nextEstimate(state, setup, now);
  return omissionNow(state, setup, estimate, REFUSED_SHARE * estimate.bytes);
}

/** The cut of new tool results after a prompt that was too long, and the limit of the prompt then. */
export function cutsAfterOverflow(
  state: SessionState,
  setup: PromptSetup,
  now: number,
): { readonly cut: EventBody; readonly limit: number } | undefined {
  const { machine, compactions } = state;
  const tried = compactions.trigger === "overflow" && compactions.attempts > 0;
  if (tried || machine.context.stopping !== undefined) return undefined;
  const estimate = nextEstimate(state, setup, now);
  const limit = refusedLimit(state, setup, estimate);
  const cut = cutsNow(state, setup, budgetBelow(limit, setup, estimate));
  return cut && { cut, limit };
}

/** The next act after a refusal: a compaction, another attempt (`retry`), or the end of the step. */
export function afterOverflow(
  { machine, compactions, history }: SessionState,
  context: ContextOptions | undefined,
  { hasUnsent, isShorter }: RefusedPrompt = { hasUnsent: false, isShorter: false },
): EventBody | "retry" {
  const { step, stopping } = machine.context;
  const { trigger, outcome, attempts } = compactions;
  const usage = noUsage;
  // Whether a compaction has begun since the refusal.
  const tried = trigger === "overflow" && attempts > 0;
  if (tried && outcome === "recovered") {
    return { type: "step.interrupted", data: { step, reason: "recovered", usage } };
  }
  if (stopping !== undefined || (tried && outcome === "cancelled")) {
    return { type: "step.interrupted", data: { step, reason: "cancelled", usage } };
  }
  if (tried && outcome === "compacted") return "retry";
  if (!tried && attempts < MOST_ATTEMPTS) {
    const how = compactionChoice(context)?.how ?? (hasUnsent ? unsentMessages : undefined);
    const data = how && ({ trigger: "overflow", strategy: how.name } as const);
    if (data !== undefined) return { type: "context.compaction-started", data };
  }
  if (isShorter) return "retry";
  const error = history.open?.error ?? { name: "Error", message: "The prompt is too long." };
  return { type: "step.failed", data: { step, kind: "context-overflow", error, usage } };
}

interface RefusedPrompt {
  /** It has messages that were never answered, and that can be left out without a strategy. */
  readonly hasUnsent: boolean;
  /** It was cut or pruned since, and may fit now. */
  readonly isShorter: boolean;
}

export function refusedPrompt(state: SessionState, setup: PromptSetup, now: number): RefusedPrompt {
  const estimate = nextEstimate(state, setup, now);
  return {
    hasUnsent: hasUnsent(state, setup, estimate),
    isShorter: isShorter(state, estimate),
  };
}

function hasUnsent(state: SessionState, setup: PromptSetup, estimate: ContextEstimate): boolean {
  const { history, view } = state;
  const limit = refusedLimit(state, setup, estimate);
  const budget = budgetBelow(limit, setup, estimate);
  return unsentMessages.plan(history, view, budget) !== undefined;
}

function isShorter(state: SessionState, estimate: ContextEstimate): boolean {
  const { open } = state.history;
  const { prunings, cuts, omissions } = state.view;
  const { tokens, room } = estimate;
  const changes = [...prunings, ...cuts, ...omissions];
  const isSame = !changes.some(({ position }) => position > (open?.position ?? 0));
  if (isSame || tokens >= refusedTokens(state, estimate)) return false;
  return room === undefined || tokens <= room.window;
}
