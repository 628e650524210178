/** Which outputs of tools a prompt can contain: each field that the AI SDK reads is checked. */
import { describe, expect, it } from "vitest";
import type { ModelOutput } from "../../src/events/catalogue/tool-events.ts";
import {
  contentFault,
  outputFault,
  sendableOutput,
} from "../../src/events/checks/content-fault.ts";
import { MOST_LEVELS, type JsonValue } from "../../src/events/values/json.ts";

const providerOptions = { openai: { a: 1 } };
const reference = { openai: "file-1" };
const url = "https://example.test/a";
const blob = { bytes: 3 };
const file = { mediaType: "image/png", filename: "a.png", blob };
const fileData: readonly object[] = [
  { type: "data", data: "AAAA" },
  { type: "url", url },
  { type: "reference", reference },
  { type: "text", text: "a" },
];

const parts: readonly object[] = [
  { type: "text", text: "a" },
  ...fileData.map((data) => ({ type: "file", data, ...file })),
  { type: "file-data", data: "AAAA", ...file },
  { type: "file-url", url, mediaType: "image/png" },
  { type: "file-id", fileId: "file-1" },
  { type: "file-id", fileId: reference },
  { type: "file-reference", providerReference: reference },
  { type: "image-data", data: "AAAA", ...file },
  { type: "image-url", url },
  { type: "image-file-id", fileId: "file-1" },
  { type: "image-file-reference", providerReference: reference },
  { type: "custom" },
].map((part) => ({ ...part, providerOptions }));

const outputs: readonly object[] = [
  { type: "text", value: "a", providerOptions },
  { type: "json", value: { a: [1] }, providerOptions },
  { type: "execution-denied", reason: "no", providerOptions },
  { type: "error-text", value: "a", providerOptions },
  { type: "error-json", value: null, providerOptions },
  ...parts.map((part) => ({ type: "content", value: [part] })),
];

/** The value with each of its fields in turn made wrong, and the name of that field. */
function* broken(value: unknown): Generator<readonly [field: string, value: unknown]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const put = (by: unknown): unknown =>
      Array.isArray(value) ? value.with(Number(key), by) : { ...value, [key]: by };
    yield [key, put(-0.5)];
    for (const [field, changed] of broken(inner)) yield [field, put(changed)];
  }
}

/** Any JSON is taken there: in a value of JSON, and in the options for a provider. */
function isFree(output: object, field: string): boolean {
  const isJson = "type" in output && String(output.type).endsWith("json");
  return field === "a" || (isJson && (field === "value" || field === "0"));
}

describe("what a tool gives the model", () => {
  it("is taken in every form of the AI SDK", () => {
    for (const output of outputs) expect(outputFault(output)).toBeUndefined();
  });

  it("is refused where any field is not what the SDK reads there", () => {
    const taken = outputs.flatMap((output) =>
      [...broken(output)]
        .filter(([field, changed]) => !isFree(output, field) && outputFault(changed) === undefined)
        .map(([field]) => ({ field, output })),
    );
    expect(taken).toEqual([]);
  });

  it("is refused with the field's name, and an unknown form as a whole", () => {
    expect(outputFault({ type: "text", value: 1 })).toMatch(/^`value`: /);
    for (const none of ["text", null]) expect(outputFault(none)).toMatch(/^Invalid input/);
    expect(outputFault({ type: "file-id", value: "a" })).toBeDefined();
    const noName = { type: "content", value: [{ type: "file-id", fileId: "" }] };
    expect(outputFault(noName)).toMatch(/^`value\[0\]\.fileId`: /);
    const noAddress = { type: "content", value: [{ type: "image-url", url: "no address" }] };
    expect(outputFault(noAddress)).toMatch("expected an address");
  });

  it("has a value where it is JSON, of as many levels as every function can walk", () => {
    const nested = (levels: number): unknown =>
      Array.from({ length: levels }).reduce<unknown>((inner) => [inner], "a");
    for (const type of ["json", "error-json"]) {
      expect(outputFault({ type, value: nested(MOST_LEVELS) })).toBeUndefined();
      expect(outputFault({ type, value: nested(MOST_LEVELS + 1) })).toMatch(
        `\`value\`: Invalid input: expected JSON of at most ${MOST_LEVELS} levels`,
      );
      expect(outputFault({ type })).toMatch(/^`value`: /);
    }
  });

  it("is sent as it is, or a sentence in its place, the same each time", () => {
    const good: ModelOutput = { type: "text", value: "a" };
    expect(sendableOutput(good)).toBe(good);
    const bad: ModelOutput = {
      type: "content",
      value: [{ type: "file", mediaType: "image/png", data: { type: "reference", reference: {} } }],
    };
    const sent = sendableOutput(bad);
    expect(sent).toMatchObject({ type: "error-text" });
    expect(sendableOutput(bad)).toBe(sent);
  });
});

const badMetadata = { openai: 1 };
/** As a program without types may give them. */
const bad: readonly (readonly [object, string])[] = [
  [
    {
      type: "tool.succeeded",
      data: {
        step: 1,
        callId: "c",
        output: 1,
        modelOutput: { type: "content", value: [{ type: "text" }] },
      },
    },
    "what the tool gives the model is not valid",
  ],
  [
    {
      type: "message.queued",
      data: {
        id: "m",
        delivery: "steer",
        content: [{ type: "text", text: "a", providerOptions: badMetadata }],
      },
    },
    "its `providerOptions` are not all objects",
  ],
  [
    { type: "part.text-start", data: { id: "b", providerMetadata: badMetadata } },
    "its `providerMetadata` are not all objects",
  ],
];

describe("an event that no prompt can contain", () => {
  it.each(bad)("is named: %j", (event, fault) => {
    // @ts-expect-error Not what the types allow.
    expect(contentFault(event)).toContain(fault);
  });

  it("is nested more deeply than a value of as many levels in the event's own fields", () => {
    const nested = (levels: number): JsonValue =>
      Array.from({ length: levels }).reduce<JsonValue>((inner) => [inner], "a");
    const fault = (levels: number): string | undefined =>
      contentFault({
        type: "tool.progressed",
        data: { step: 1, callId: "c", output: nested(levels) },
      });
    // The data itself is one of ten more.
    expect(fault(MOST_LEVELS + 9)).toBeUndefined();
    expect(fault(MOST_LEVELS + 10)).toBe("its data is nested more than 500 levels deep");
  });

  it("is no event of a program, and none without options that a provider would read", () => {
    const own = { type: "app.seen", data: { providerMetadata: badMetadata } } as const;
    expect(contentFault(own)).toBeUndefined();
    expect(contentFault({ type: "part.text-start", data: { id: "b" } })).toBeUndefined();
    const good = { id: "b", providerMetadata: { openai: { a: 1 } } };
    expect(contentFault({ type: "part.text-start", data: good })).toBeUndefined();
  });
});
