/** Which parts are files that were uploaded to a provider, in every form that the AI SDK accepts. */
import { expect, it } from "vitest";
import { fileReferenceSchema, uploadedFile } from "../../src/events/values/file-reference.ts";
import { measuresIn } from "../../src/events/values/blob-measures.ts";

const reference = { openai: "file-1", google: "files/2" };

it.each([
  ["by its names", { data: reference }],
  ["by its names, as an event has them", { data: { type: "reference", reference } }],
  ["in an output", { providerReference: reference }],
  ["in an older output", { fileId: reference }],
])("a file is known %s", (_, part) => {
  expect(uploadedFile({ ...part, mediaType: "text/plain", filename: "a" })).toEqual({
    reference,
    mediaType: "text/plain",
    filename: "a",
  });
  expect(uploadedFile({ ...part, type: "image-file-id" })).toEqual({
    reference,
    mediaType: "image",
  });
  expect(uploadedFile({ ...part, type: "file-id" })?.mediaType).toBe("application");
  expect(uploadedFile(part)?.mediaType).toBe("application");
});

it("a file that has its content or an address is none", () => {
  const parts: readonly object[] = [
    { data: "AAAA" },
    { data: null },
    { data: new Uint8Array([1]) },
    { data: new URL("https://example.test") },
    { data: { type: "data", data: "AAAA" } },
    { data: { type: "reference" } },
    { fileId: "file-1" },
    { url: "https://example.test" },
    {},
  ];
  for (const part of parts) expect(uploadedFile(part)).toBeUndefined();
});

it("a reference names one provider at least, each with a name that says something", () => {
  const refused: readonly unknown[] = [
    {},
    [],
    ["file-1"],
    null,
    "file-1",
    { openai: "" },
    { openai: "file-1", google: 1 },
    { type: "data", data: "AAAA" },
    new Uint8Array([1]),
  ];
  for (const names of refused)
    expect(fileReferenceSchema.safeParse({ type: "reference", reference: names }).success).toBe(
      false,
    );
  expect(fileReferenceSchema.safeParse({ type: "reference", reference }).success).toBe(true);
  expect(fileReferenceSchema.safeParse({ type: "data", reference }).success).toBe(false);
});

it("a part has the measures of its blob, if they are some", () => {
  expect(measuresIn({ blob: { bytes: 3 } })).toEqual({ bytes: 3 });
  for (const part of [{}, { blob: undefined }, { blob: null }, { blob: { bytes: -1 } }])
    expect(measuresIn(part)).toBeUndefined();
});
