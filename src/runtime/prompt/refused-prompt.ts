/** Decides what the next attempt leaves out after a provider refused the conversation itself. Pure. */

import type { ModelMessage } from "ai";
import { shownMedia, type ShownMedium } from "../../context/index.ts";
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
} from "../../projections/index.ts";
import { refusalCause, refusalWords } from "../model/refusal-cause.ts";
import type { SessionState } from "../../state/index.ts";
import type { Place } from "./context-figures.ts";

/** How often a step leaves out the files that its error names. Then it leaves out all of them. */
const MOST_NAMED = 3;

export interface Refusal {
  readonly kind: FailureKind;
  readonly error: StoredError;
}

/** The next rung; undefined if the conversation is not to blame, or nothing is left to leave out. */
export function reductionAfter(
  { state, setup }: Place,
  { kind, error }: Refusal,
): EventBody<"context.reduced"> | undefined {
  const { history, machine } = state;
  const { agent, instructions } = setup.prepared;
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
