/** The size of each kind of content in a message: text, files, calls and results. */

import { describe, expect, it } from "vitest";
import type { AssistantContent, ModelMessage, ToolResultPart, UserContent } from "ai";
import { meter, type MessageSize } from "../../src/context/estimate/message-size.ts";
import { lengthEstimator } from "../support/length-estimator.ts";

const model = { provider: "p", modelId: "m" };
const measure = meter(lengthEstimator, model);
/** What surrounds any message. */
const frame = measure.message({ role: "user", content: "" });

const textSize = (text: string): MessageSize => ({
  text: lengthEstimator.text(text),
  media: 0,
  around: 0,
  bytes: Buffer.byteLength(text),
});

function sizeOf(message: ModelMessage): MessageSize {
  const { text, media, around, bytes } = measure.message(message);
  return { text, media, around: around - frame.around, bytes };
}

const user = (...content: Exclude<UserContent, string>): MessageSize =>
  sizeOf({ role: "user", content });
const reply = (...content: Exclude<AssistantContent, string>): MessageSize =>
  sizeOf({ role: "assistant", content });

function resultOf(output: ToolResultPart["output"]): MessageSize {
  const { text, media, bytes } = measure.result({
    type: "tool-result",
    toolCallId: "c",
    toolName: "work",
    output,
  });
  return { text, media, around: 0, bytes };
}

const words = "Grüße aus Ålesund, and more words than few.";

it("text has the tokens of its words and the bytes of UTF-8, in whatever part it is", () => {
  const size = textSize(words);
  expect(sizeOf({ role: "user", content: words })).toEqual(size);
  expect(user({ type: "text", text: words })).toEqual(size);
  expect(reply({ type: "reasoning", text: words })).toEqual(size);
  expect(measure.text(words)).toEqual(size);
  const twice = { ...size, text: 2 * size.text, bytes: 2 * size.bytes };
  expect(user({ type: "text", text: words }, { type: "text", text: words })).toEqual(twice);
});

it("each message and each result has tokens around it", () => {
  expect(frame.around).toBeGreaterThan(0);
  expect(frame).toMatchObject({ text: 0, media: 0, bytes: 0 });
  const call = reply({ type: "tool-call", toolCallId: "c", toolName: "work", input: { a: words } });
  const inside = textSize(`work${JSON.stringify({ a: words })}`);
  expect(call).toEqual({ ...inside, around: call.around });
  expect(call.around).toBeGreaterThan(0);
  const none = reply({ type: "tool-call", toolCallId: "c", toolName: "work", input: undefined });
  expect(none).toEqual({ ...textSize("work{}"), around: call.around });
  const result = { type: "tool-result", toolCallId: "c", toolName: "work" } as const;
  const output = { type: "text", value: words } as const;
  expect(measure.result({ ...result, output })).toEqual({
    ...textSize(words),
    around: call.around,
  });
  expect(reply({ ...result, output })).toEqual({ ...textSize(words), around: call.around });
});

describe("a result has the size of what the model is shown", () => {
  it.each<[string, ToolResultPart["output"], string]>([
    ["text", { type: "text", value: words }, words],
    ["an error in words", { type: "error-text", value: words }, words],
    ["JSON", { type: "json", value: { words } }, JSON.stringify({ words })],
    ["JSON of an error", { type: "error-json", value: [words] }, JSON.stringify([words])],
    ["a refusal with its reason", { type: "execution-denied", reason: words }, words],
    ["a refusal", { type: "execution-denied" }, ""],
    ["content of text", { type: "content", value: [{ type: "text", text: words }] }, words],
    ["no content", { type: "content", value: [] }, ""],
  ])("%s", (_, output, text) => {
    expect(resultOf(output)).toEqual(textSize(text));
  });

  it("all parts of its content, files too", () => {
    const data = "A".repeat(400);
    const file = { type: "file-data", data, mediaType: "image/png" } as const;
    const size = resultOf({ type: "content", value: [{ type: "text", text: words }, file] });
    expect(size).toMatchObject({ text: textSize(words).text });
    expect(size.media).toBeGreaterThan(0);
    expect(size.bytes).toBe(Buffer.byteLength(words) + data.length);
    const custom = { type: "custom", providerOptions: { p: { words } } } as const;
    expect(resultOf({ type: "content", value: [custom] })).toEqual(
      textSize(JSON.stringify(custom)),
    );
  });
});

describe("a file", () => {
  const data = Buffer.from(words).toString("base64");

  it("of text has the size of its text, in every form that it comes in", () => {
    const mediaType = "text/plain";
    const size = textSize(words);
    expect(user({ type: "file", data, mediaType })).toEqual(size);
    expect(user({ type: "file", data: `data:text/plain;base64,${data}`, mediaType })).toEqual(size);
    expect(user({ type: "file", data: Buffer.from(words), mediaType })).toEqual(size);
    expect(user({ type: "file", data: { type: "text", text: words }, mediaType })).toEqual(size);
    expect(user({ type: "file", data: { type: "data", data }, mediaType })).toEqual(size);
    const address = "https://a.example/words.txt";
    expect(user({ type: "file", data: new URL(address), mediaType })).toEqual(textSize(address));
    const named = { type: "url", url: new URL(address) } as const;
    expect(user({ type: "file", data: named, mediaType })).toEqual(textSize(address));
  });

  it("of an image has tokens of media, and the bytes of its base64", () => {
    const image = user({ type: "file", data, mediaType: "image/png" });
    expect(image).toMatchObject({ text: 0, around: 0, bytes: data.length });
    expect(image.media).toBeGreaterThan(0);
    expect(user({ type: "image", image: data })).toEqual(image);
    expect(reply({ type: "file", data, mediaType: "image/png" })).toEqual(image);
    const blob = { bytes: 300, width: 40, height: 30 };
    const measured = { type: "file", data: "@blob:", mediaType: "image/png", blob } as const;
    expect(user(measured)).toMatchObject({ text: 0, bytes: 400 });
  });

  it("that is with its provider has the bytes of its name only", () => {
    const reference = { p: "file-1" };
    const part = {
      type: "file",
      data: { type: "reference", reference },
      mediaType: "image/png",
    } as const;
    expect(user(part)).toMatchObject({ text: 0, bytes: "p: file-1".length });
    const elsewhere = user({
      ...part,
      data: { type: "reference", reference: { other: "file-1" } },
    });
    expect(elsewhere.text).toBeGreaterThan(0);
    expect(elsewhere.media).toBe(0);
  });
});

it("a meter and a message are made and measured once", () => {
  expect(meter(lengthEstimator, { ...model })).toBe(measure);
  expect(meter(lengthEstimator, { ...model, modelId: "n" })).not.toBe(measure);
  expect(meter(lengthEstimator, { ...model, modelId: "n" }).model.modelId).toBe("n");
  const message: ModelMessage = { role: "user", content: words };
  expect(measure.message(message)).toBe(measure.message(message));
});

it("parallel calls and their results have the tokens of their ids where the model reads them", () => {
  const id = "toolu_01234567890123";
  const output = { type: "text", value: "" } as const;
  const around = (provider: string, calls: number): readonly number[] => {
    const own = meter(lengthEstimator, { provider, modelId: "m" });
    const bare = own.message({ role: "user", content: "" }).around;
    const each = Array.from({ length: calls }, () => ({ toolCallId: id, toolName: "work" }));
    const made = each.map((call) => ({ type: "tool-call", ...call, input: {} }) as const);
    const results = each.map((call) => ({ type: "tool-result", ...call, output }) as const);
    return [
      own.message({ role: "assistant", content: made }).around - bare,
      own.message({ role: "tool", content: results }).around - bare,
    ];
  };
  const tokens = lengthEstimator.text(id);
  expect(around("anthropic", 1)).toEqual([9, 9]);
  expect(around("anthropic", 2)).toEqual([18 + 2 * tokens, 18 + 2 * tokens]);
  expect(around("google", 1)).toEqual([15, 15]);
  expect(around("google", 2)).toEqual([30, 30]);
});
