/** Files that lie with a provider: which models are shown them, and what the others are told. */

import { describe, expect, it } from "vitest";
import { uploadNote, uploadRefusal } from "../../src/context/models/model-media.ts";
import type { UploadedFile } from "../../src/events/index.ts";

const file = (mediaType: string, ...holders: readonly string[]): UploadedFile => ({
  mediaType,
  reference: Object.fromEntries(holders.map((holder) => [holder, "file-1"])),
});
const elsewhere = "it lies with another provider";
const refused = "this model does not take such files";

describe("an uploaded file is shown", () => {
  it.each([
    ["openai.responses", "image/png", ["openai"], undefined],
    ["openai.responses", "image/png", ["anthropic"], elsewhere],
    ["openai.responses", "image/png", ["anthropic", "openai"], undefined],
    ["azure.responses", "image/png", ["azure"], undefined],
    ["azure.chat", "image/png", ["azure"], elsewhere],
    ["groq.chat", "image/png", ["groq"], elsewhere],
    ["amazon-bedrock", "image/png", ["amazon-bedrock"], elsewhere],
    ["google.vertex", "image/png", ["google"], elsewhere],
    ["google.generative-ai", "image/png", ["google"], undefined],
    ["google.generative-ai", "image", ["google"], refused],
    ["google.generative-ai", "image/*", ["google"], refused],
    ["moonshotai.chat", "video/mp4", ["moonshotai"], undefined],
    ["moonshotai.chat", "image", ["moonshotai"], undefined],
    ["moonshotai.chat", "application/pdf", ["moonshotai"], refused],
    ["deepseek.chat", "image/png", ["deepseek"], undefined],
    ["deepseek.chat", "video/mp4", ["deepseek"], refused],
  ])("by %s, of type %s, lying with %j: %s", (provider, mediaType, holders, why) => {
    const model = { provider, modelId: "m" };
    expect(uploadRefusal(file(mediaType, ...holders), model)).toBe(why);
  });

  it("to a model that is not known, and by the kinds that a model takes", () => {
    expect(uploadRefusal(file("image/png"), undefined)).toBeUndefined();
    const model = { provider: "openai", modelId: "m" };
    const limits = { types: ["image/jpeg", "text/"] };
    expect(uploadRefusal(file("image/png", "openai"), model, limits)).toBeUndefined();
    expect(uploadRefusal(file("video/mp4", "openai"), model, limits)).toBe(refused);
    expect(uploadRefusal(file("video/mp4", "openai"), model, {})).toBeUndefined();
  });
});

it("a note says what is not shown, why, and where it lies", () => {
  expect(uploadNote(file("image/png", "openai"), "it is blue")).toBe(
    "[The file (image/png) is not shown here: it is blue. openai: file-1]",
  );
  expect(uploadNote({ ...file("image/png", "openai"), filename: 'a"b' }, "it is blue")).toBe(
    '[The file "a\\"b" (image/png) is not shown here: it is blue. openai: file-1]',
  );
});
