/** What models take beside text: by type and by size. */

import { describe, expect, it } from "vitest";
import {
  mediaRefusal,
  modelMedia,
  type MediaLimits,
} from "../../src/context/models/model-media.ts";

const claude = { provider: "anthropic.messages", modelId: "claude-opus-4-8" };
const haiku = { provider: "anthropic.messages", modelId: "claude-haiku-4-5" };
const gemini = { provider: "google.generative-ai", modelId: "gemini-3-flash" };
const gpt = { provider: "openai.responses", modelId: "gpt-5" };

function limitsOf(model: typeof claude): MediaLimits {
  const limits = modelMedia(model);
  if (limits === undefined) throw new Error("Nothing is known of it.");
  return limits;
}

const shot = { mediaType: "image/png", bytes: 400_000, width: 1280, height: 720 };

describe("what a model takes", () => {
  it.each([
    [claude, "image/heic", "type"],
    [claude, "audio/wav", "type"],
    [claude, "application/zip", "type"],
    [claude, "application/pdf", undefined],
    [claude, "text/plain", undefined],
    [claude, "text/csv", "type"],
    [gemini, "text/csv", undefined],
    [gpt, "text/plain", "type"],
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

  it("is not known of models that no table has", () => {
    expect(modelMedia({ provider: "acme", modelId: "llama-4" })).toBeUndefined();
    expect(modelMedia({ provider: "acme", modelId: "deepseek-vl2" })).toBeUndefined();
  });

  it("is less where others serve it, and where its window is small", () => {
    const bedrock = { provider: "amazon-bedrock", modelId: "anthropic.claude-opus-4-8" };
    expect(limitsOf(bedrock).requestCharacters).toBeLessThan(20 * 1024 * 1024);
    expect([limitsOf(claude).pictures, limitsOf(haiku).pictures]).toEqual([600, 100]);
    const older = ["claude-sonnet-4-5-20250929", "claude-opus-4", "anthropic/claude-sonnet-4.5"];
    const newer = ["claude-opus-4-6", "claude-sonnet-4-6@20260201", "claude-opus-5"];
    const pages = (modelId: string): unknown => limitsOf({ provider: "anthropic", modelId }).pages;
    expect(older.map(pages)).toEqual([100, 100, 100]);
    expect(newer.map(pages)).toEqual([600, 600, 600]);
  });
});

it("is what the providers' documents say: pictures and pages, and megabytes of a request", () => {
  const figures = (provider: string, modelId: string): readonly unknown[] => {
    const { pictures, pages, requestCharacters = 0 } = limitsOf({ provider, modelId });
    // Fields and escapes, which are not counted, take a twentieth.
    return [pictures, pages, requestCharacters / 2 ** 20 / 0.95].map(
      (figure) => figure && Math.round(figure * 1000) / 1000,
    );
  };
  expect(figures("anthropic", "claude-opus-5")).toEqual([600, 600, 32]);
  expect(figures("amazon-bedrock", "anthropic.claude-opus-5")).toEqual([600, 600, 20]);
  expect(figures("vertex.anthropic", "claude-haiku-4-5")).toEqual([100, 100, 30]);
  expect(figures("openai", "gpt-5")).toEqual([500, undefined, 50]);
  expect(figures("openai", "gpt-4o-audio-preview")).toEqual([undefined, undefined, 50]);
  expect(figures("google.generative-ai", "gemini-3-flash")).toEqual([3600, 1000, 100]);
  expect(figures("google.vertex", "gemini-3-flash")).toEqual([3600, 1000, 20]);
});

describe("a file that is too large", () => {
  it("is to be scaled to what the model looks at, where it is a picture with too many bytes as base64", () => {
    const limits = limitsOf(claude);
    const bytes = (5 * 1024 * 1024 * 3) / 4;
    expect(mediaRefusal({ ...shot, bytes }, limits, 1)).toBeUndefined();
    const refusal = { kind: "characters", most: 5 * 1024 * 1024, longestEdge: 1568 };
    expect(mediaRefusal({ ...shot, bytes: bytes + 1 }, limits, 1)).toEqual(refusal);
  });

  it("has fewer pixels among many others than alone", () => {
    const limits = limitsOf(claude);
    const large = { ...shot, width: 3000, height: 100 };
    expect(mediaRefusal(large, limits, 20)).toBeUndefined();
    const among = { kind: "edge", most: 2000, longestEdge: 2000 };
    expect(mediaRefusal(large, limits, 21)).toEqual(among);
    const alone = { kind: "edge", most: 8000, longestEdge: 8000 };
    expect(mediaRefusal({ ...large, height: 8001 }, limits, 1)).toEqual(alone);
  });

  it("is so by what it is over, and not by what it just reaches", () => {
    const limits: MediaLimits = { pictureEdge: 100, requestCharacters: 400, pages: 3 };
    const refusal = (more: object): unknown =>
      mediaRefusal({ mediaType: "image/png", bytes: 300, ...more }, limits, 1);
    expect(refusal({ width: 100, height: 100 })).toBeUndefined();
    expect(refusal({ width: 101, height: 1 })).toEqual({
      kind: "edge",
      most: 100,
      longestEdge: 100,
    });
    expect(refusal({ width: 1, height: 101 })).toMatchObject({ kind: "edge" });
    expect(refusal({})).toBeUndefined();
    expect(refusal({ bytes: 301 })).toEqual({ kind: "characters", most: 400, longestEdge: 100 });
    const pdf = { mediaType: "application/pdf" };
    expect(refusal(pdf)).toBeUndefined();
    expect(refusal({ ...pdf, bytes: 301 })).toEqual({ kind: "request", most: 400 });
    expect(refusal({ ...pdf, pages: 3 })).toBeUndefined();
    expect(refusal({ ...pdf, pages: 4 })).toEqual({ kind: "pages", most: 3 });
    const free = { mediaType: "image/png", bytes: 1e9, width: 1e6, height: 1e6, pages: 1e6 };
    expect(mediaRefusal(free, {}, 1e6)).toBeUndefined();
    const small = { pictureCharacters: 4, requestCharacters: 400 };
    expect(mediaRefusal({ mediaType: "image/png", bytes: 9 }, small, 1)).toEqual({
      kind: "characters",
      most: 4,
      longestEdge: 1568,
    });
    const narrow = { pictureCharacters: 400, requestCharacters: 4 };
    expect(mediaRefusal({ mediaType: "image/png", bytes: 9 }, narrow, 1)).toMatchObject({
      most: 4,
    });
  });

  it("is a text that is sent as a file, and is not taken as one", () => {
    const taken = (mediaType: string, textFiles?: readonly string[]): boolean =>
      mediaRefusal({ mediaType, bytes: 9 }, textFiles === undefined ? {} : { textFiles }, 0) ===
      undefined;
    expect(taken("text/csv")).toBe(true);
    expect(taken("text/csv", ["text/plain"])).toBe(false);
    expect(taken("text/plain", ["text/plain"])).toBe(true);
    expect(taken("application/pdf", ["text/plain"])).toBe(true);
  });

  it("has too many pages, or alone more than a whole request", () => {
    const limits = limitsOf(haiku);
    const plan = { mediaType: "application/pdf", bytes: 1000, pages: 101 };
    expect(mediaRefusal(plan, limits, 0)).toEqual({ kind: "pages", most: 100 });
    expect(mediaRefusal({ ...plan, pages: 100 }, limits, 0)).toBeUndefined();
    const huge = { ...plan, pages: 1, bytes: 24_000_000 };
    expect(mediaRefusal(huge, limits, 0)?.kind).toBe("request");
    expect(mediaRefusal(huge, limitsOf(gpt), 0)).toBeUndefined();
  });
});
