/**
 * Finds the files at the place of a request that a provider's error names, such as `messages.2.content.1`. Each
 * provider counts the messages that its client made of the prompt. Pure.
 */

import type { ModelMessage } from "ai";

/** A message as it is sent: the data of the files in each of its parts. */
type Wire = readonly (readonly unknown[])[];

interface Format {
  /** Groups: the number of the message, and of the part in it. */
  readonly path: RegExp;
  readonly wires: (messages: readonly ModelMessage[], isSystemSent: boolean) => readonly Wire[];
}

const formats: readonly Format[] = [
  // Anthropic and Bedrock join messages of one side in a row.
  { path: /messages[./](\d+)(?:[./]content[./](\d+))?/, wires: joined },
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
  { path: /contents\[(\d+)\](?:\.parts\[(\d+)\])?/, wires: (messages) => messages.map(partsOf) },
];

/** The `data` of the files at all places that the words name. */
export function placesNamed(
  words: string,
  messages: readonly ModelMessage[],
  isSystemSent: boolean,
): ReadonlySet<unknown> {
  const found = formats.flatMap(({ path, wires }) => {
    const all = [...words.matchAll(new RegExp(path, "g"))];
    if (all.length === 0) return [];
    const sent = wires(messages, isSystemSent);
    return all.flatMap(([, message, part]) => {
      const wire = sent[Number(message)] ?? [];
      const there = part === undefined ? [] : (wire[Number(part)] ?? []);
      return there.length > 0 ? there : wire.flat();
    });
  });
  return new Set(found);
}

/** The `data` of all files in a prompt. */
export function sentData(messages: readonly ModelMessage[]): ReadonlySet<unknown> {
  return new Set(messages.flatMap((message) => partsOf(message).flat()));
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
      ? part.output.value.flatMap(fileData)
      : fileData(part),
  );
}

function fileData(part: object): readonly unknown[] {
  return "data" in part && "mediaType" in part ? [part.data] : [];
}
