/** What models take beside text: by type, by size, and how much of it in one request. */

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  asBase64,
  filesTooMany,
  mediaRefusal,
  modelMedia,
  type MediaFile,
  type MediaLimits,
} from "../../src/context/model-media.ts";

const claude = { provider: "anthropic.messages", modelId: "claude-opus-4-8" };
const gemini = { provider: "google.generative-ai", modelId: "gemini-3-flash" };
const gpt = { provider: "openai.responses", modelId: "gpt-5" };

function limitsOf(model: typeof claude): MediaLimits {
  const limits = modelMedia(model);
  if (limits === undefined) throw new Error("Nothing is known of it.");
  return limits;
}

const shot: MediaFile = { mediaType: "image/png", bytes: 400_000, width: 1280, height: 720 };

describe("what a model takes", () => {
  it.each([
    [claude, "image/heic", "type"],
    [claude, "audio/wav", "type"],
    [claude, "application/zip", "type"],
    [claude, "application/pdf", undefined],
    [gemini, "image/heic", undefined],
    [gemini, "image/gif", "type"],
    [gemini, "audio/flac", undefined],
    [gpt, "image/webp", undefined],
    [gpt, "video/mp4", "type"],
    [{ provider: "openai", modelId: "gpt-4o-audio-preview" }, "audio/wav", undefined],
    [{ provider: "openai", modelId: "o3-mini" }, "image/png", "type"],
    [{ provider: "deepseek", modelId: "deepseek-chat" }, "image/png", "type"],
  ])("is known of %o and %s", (model, mediaType, kind) => {
    expect(mediaRefusal({ mediaType, bytes: 100 }, limitsOf(model), 1)?.kind).toBe(kind);
  });

  it("is not known of models that no table has, and what the user says goes before any", () => {
    expect(modelMedia({ provider: "acme", modelId: "llama-4" })).toBeUndefined();
    const told = modelMedia({ provider: "deepseek", modelId: "deepseek-vl" }, ["image/"]);
    expect(told && mediaRefusal(shot, told, 1)).toBeUndefined();
  });
});

describe("a picture that is too large", () => {
  it("is to be scaled to what the model looks at where it has too many bytes, as base64", () => {
    const limits = limitsOf(claude);
    const bytes = (5 * 1024 * 1024 * 3) / 4;
    expect(mediaRefusal({ ...shot, bytes }, limits, 1)).toBeUndefined();
    expect(mediaRefusal({ ...shot, bytes: bytes + 1 }, limits, 1)).toEqual({
      kind: "picture",
      longestEdge: 1568,
    });
  });

  it("has fewer pixels among many others than alone", () => {
    const limits = limitsOf(claude);
    const large = { ...shot, width: 3000, height: 100 };
    expect(mediaRefusal(large, limits, 20)).toBeUndefined();
    expect(mediaRefusal(large, limits, 21)).toEqual({ kind: "picture", longestEdge: 2000 });
    expect(mediaRefusal({ ...large, height: 8001 }, limits, 1)).toEqual({
      kind: "picture",
      longestEdge: 8000,
    });
  });

  it("is no matter of pages, which documents have", () => {
    const limits = limitsOf(claude);
    const plan = { mediaType: "application/pdf", bytes: 1000, pages: 101 };
    expect(mediaRefusal(plan, limits, 0)).toEqual({ kind: "pages", most: 100 });
    expect(mediaRefusal({ ...plan, pages: 100 }, limits, 0)).toBeUndefined();
  });
});

describe("a request with too many files", () => {
  it("loses the oldest, and so many that the next ones fit too", () => {
    const limits = limitsOf(claude);
    const shots = (count: number): MediaFile[] => Array.from({ length: count }, () => shot);
    expect(filesTooMany(shots(60), 0, limits)).toBe(0);
    // 32 MB hold 62 of 533,336 characters, three quarters of it 47.
    expect(filesTooMany(shots(70), 0, limits)).toBe(23);
    const small = Array.from({ length: 101 }, () => ({ ...shot, bytes: 10 }));
    expect(filesTooMany(small, 0, limits)).toBe(26);
    expect(filesTooMany(shots(1), 40 * 1024 * 1024, limits)).toBe(1);
  });

  it("is within its limits afterwards, whatever there was, or has no file left", () => {
    const file = fc.record({
      mediaType: fc.constantFrom("image/png", "application/pdf"),
      bytes: fc.nat(9_000_000),
    });
    const limits = limitsOf(claude);
    fc.assert(
      fc.property(fc.array(file, { maxLength: 150 }), fc.nat(60_000_000), (files, other) => {
        const rest = files.slice(filesTooMany(files, other, limits));
        const characters = rest.reduce((sum, { bytes }) => sum + asBase64(bytes), other);
        const pictures = rest.filter(({ mediaType }) => mediaType === "image/png").length;
        expect(rest.length === 0 || (characters <= 32 * 1024 * 1024 && pictures <= 100)).toBe(true);
      }),
    );
  });
});
