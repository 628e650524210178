/** The media of an item, in the order in which they count, and the notes in the place of omitted ones. */

import { describe, expect, it } from "vitest";
import { blobReference, type StoredUserPart } from "../../src/events/index.ts";
import type {
  CallPart,
  HistoryItem,
  StepItem,
  UserItem,
} from "../../src/projections/history-item.ts";
import {
  itemMedia,
  omittedIn,
  omittedItem,
  omittedNote,
  type Medium,
} from "../../src/projections/shown-media.ts";

type Content = readonly StoredUserPart[];

const text = { type: "text", text: "See." } as const;
const file = (data: string, more: object = {}): StoredUserPart => ({
  type: "file",
  data,
  mediaType: "image/png",
  ...more,
});

function user(content: UserItem["content"], more: Partial<UserItem> = {}): UserItem {
  return { kind: "user", id: "m1", content, position: 5, time: 1, turn: 1, ...more };
}

function step(parts: StepItem["parts"]): StepItem {
  const model = { provider: "turnlog", modelId: "scripted" };
  const place = { turn: 1, step: 1, attempt: 1, position: 5, time: 1 };
  return { kind: "step", ...place, model, status: "finished", parts };
}

function call(outcome: CallPart["outcome"], callId = "a"): CallPart {
  return { kind: "call", callId, toolName: "look", input: {}, outcome };
}

const made = { kind: "file", data: "BBBB", mediaType: "image/png" } as const;
const thought = { kind: "reasoning-file", data: "CCCC", mediaType: "image/png" } as const;
const seen = { type: "file-data", data: "DDDD", mediaType: "image/png" } as const;
const error = { name: "Error", message: "No." };
const looked = call({
  status: "succeeded",
  position: 6,
  output: 1,
  modelOutput: { type: "content", value: [text, seen] },
});

const dataIn = (item: HistoryItem): readonly string[] => itemMedia(item).map(({ data }) => data);

describe("the media of an item", () => {
  it("are those of a message, with what is known of them, but no text", () => {
    const blob = { bytes: 3, width: 1, height: 1 };
    const named = file("AAAA", { filename: "a.png", blob });
    expect(itemMedia(user([text, named, file("EEEE")]))).toStrictEqual([
      { part: named, mediaType: "image/png", data: "AAAA", filename: "a.png", blob },
      { part: file("EEEE"), mediaType: "image/png", data: "EEEE" },
    ]);
    expect(itemMedia(user("See."))).toEqual([]);
    const texts: Content = [
      file("AAAA", { mediaType: "text/plain" }),
      file("AAAA", { mediaType: "application/json" }),
    ];
    expect(itemMedia(user(texts))).toEqual([]);
    expect(dataIn(user([file("AAAA", { mediaType: "application/pdf" })]))).toEqual(["AAAA"]);
  });

  it("are those of a step: its own output first, then the results of its calls", () => {
    const said = { kind: "text", id: "t", text: "So.", open: false } as const;
    const waiting = call({ status: "waiting" }, "b");
    const plain = call(
      { status: "succeeded", position: 7, output: 1, modelOutput: { type: "text", value: "x" } },
      "c",
    );
    expect(dataIn(step([looked, waiting, plain, said, made, thought]))).toEqual([
      "BBBB",
      "CCCC",
      "DDDD",
    ]);
  });

  it("may be in addresses and in data with a form of its own", () => {
    const forms = [
      { type: "url", url: "https://a.example/b.png" },
      { type: "data", data: "FFFF" },
    ] as const;
    const parts = forms.map((data) => file("", { data }));
    expect(dataIn(user(parts))).toEqual(["https://a.example/b.png", "FFFF"]);
    for (const data of [null, 5, {}, { url: 5 }])
      expect(dataIn(user([file("", { data })]))).toEqual([]);
  });

  it("may be with a provider", () => {
    const uploaded = file("", { data: { type: "reference", reference: { openai: "file-1" } } });
    expect(itemMedia(user([uploaded]))).toMatchObject([
      {
        data: "openai: file-1",
        mediaType: "image/png",
        uploaded: { reference: { openai: "file-1" } },
      },
    ]);
    const words = {
      data: { type: "reference", reference: { openai: "file-1" } },
      mediaType: "text/csv",
    };
    expect(itemMedia(user([file("", words)]))).toEqual([]);
  });

  it("are none in notes and ends of turns", () => {
    const place = { turn: 1, position: 5, time: 1 };
    expect(itemMedia({ kind: "note", text: "A note.", ...place })).toEqual([]);
    expect(itemMedia({ kind: "turn-end", reason: "stop", ...place })).toEqual([]);
  });
});

describe("a note", () => {
  const note = (more: Partial<Medium>): string =>
    omittedNote({ part: {}, mediaType: "image/png", data: "AAAAAAAA", ...more });

  it("says the name, the type and the size, as far as they are known", () => {
    expect(note({})).toContain("The file (image/png, 6 bytes) is no longer shown");
    expect(note({ filename: 'a "b".png' })).toContain(
      'The file "a \\"b\\".png" (image/png, 6 bytes)',
    );
    expect(note({ blob: { bytes: 9 } })).toContain("(image/png, 9 bytes)");
    expect(note({ data: "data:image/png;base64,AAAA" })).toContain("(image/png, 3 bytes)");
    expect(note({ data: "AAAAA" })).toContain("3 bytes");
  });

  it("says where a file is that was not in the request", () => {
    const address = "HTTPS://a.example/b.png";
    expect(note({ data: address })).toMatch(
      /\(image\/png\) is no longer shown.* HTTPS:\/\/a\.example\/b\.png\]$/,
    );
    const blob = blobReference("a".repeat(64));
    expect(note({ data: blob, blob: { bytes: 9 } })).toContain(
      `9 bytes) is no longer shown: the request would be too large. ${blob}]`,
    );
    const uploaded = { mediaType: "image/png", reference: { openai: "file-1" } } as never;
    expect(note({ data: "openai: file-1", uploaded })).toMatch(
      /\(image\/png\).* openai: file-1\]$/,
    );
    expect(note({})).toMatch(/too large\.\]$/);
  });
});

describe("media are omitted", () => {
  const there = [{ id: "m1", media: 1 }, { id: "m2", media: 2 }, { media: 3 }] as const;

  it("all before a position, the first at it, by message, and none after it", () => {
    expect(omittedIn(user("."), undefined)).toBe(0);
    expect(omittedIn(user("."), { before: 4, there: [...there] })).toBe(0);
    expect(omittedIn(user("."), { before: 6, there: [...there] })).toBe(Number.POSITIVE_INFINITY);
    const at = { before: 5, there: [...there] };
    expect(omittedIn(user("."), at)).toBe(1);
    expect(omittedIn(user(".", { id: "m2" }), at)).toBe(2);
    expect(omittedIn(user(".", { id: "m3" }), at)).toBe(0);
    expect(omittedIn(step([]), at)).toBe(3);
  });

  const all = { before: 9, there: [] };
  const noteFor = (data: string): string => omittedNote({ part: {}, mediaType: "image/png", data });

  it("from a message: notes take the places of its first files", () => {
    const message = user([text, file("AAAA"), file("EEEE")]);
    const shown = (omitted: Parameters<typeof omittedItem>[1]): unknown => {
      const item = omittedItem(message, omitted);
      return item.kind === "user" ? item.content : item;
    };
    const [first, second] = ["AAAA", "EEEE"].map((data) => ({ type: "text", text: noteFor(data) }));
    expect(shown(all)).toEqual([text, first, second]);
    expect(shown({ before: 5, there: [{ id: "m1", media: 1 }] })).toEqual([
      text,
      first,
      file("EEEE"),
    ]);
    expect(shown(all)).toEqual([text, first, second]);
    expect(shown({ before: 5, there: [{ id: "m1", media: 9 }] })).toEqual([text, first, second]);
    expect(omittedItem(message, undefined)).toBe(message);
    expect(omittedItem(message, { before: 4, there: [] })).toBe(message);
    const words = user("See.");
    expect(omittedItem(words, all)).toBe(words);
  });

  it("from a step: its files become text, files of reasoning go, and results have notes", () => {
    const failed = call(
      { status: "failed", error, modelOutput: { type: "content", value: [seen] } },
      "b",
    );
    const other = call({ status: "waiting" }, "c");
    const item = omittedItem(step([made, thought, looked, failed, other]), all);
    const parts = item.kind === "step" ? item.parts : [];
    expect(parts).toEqual([
      { kind: "text", id: "", text: noteFor("BBBB"), open: false },
      {
        ...looked,
        outcome: {
          ...looked.outcome,
          modelOutput: { type: "content", value: [text, { type: "text", text: noteFor("DDDD") }] },
        },
      },
      {
        ...failed,
        outcome: {
          ...failed.outcome,
          modelOutput: { type: "content", value: [{ type: "text", text: noteFor("DDDD") }] },
        },
      },
      other,
    ]);
    expect(parts[3]).toBe(other);
    const first = omittedItem(step([made, looked]), { before: 5, there: [{ media: 1 }] });
    expect(first).toMatchObject({ parts: [{ kind: "text" }, looked] });
  });
});
