/**
 * Finds the files at the place of a request that a provider's error names, such as `messages.2.content.1`. Each
 * provider counts the messages that its client made of the prompt. Pure.
 */

import type { ModelMessage } from "ai";

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
export function placesNamed(
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
