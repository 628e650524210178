/** Files in a prompt, by what each provider publishes. */

import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { ModelName } from "../../src/events/index.ts";
import { lengthEstimator } from "../support/length-estimator.ts";
import { mediaMeasures, mediaTokens } from "../../src/context/media-tokens.ts";
import { meter } from "../../src/context/message-size.ts";

const claude: ModelName = { provider: "anthropic", modelId: "claude-sonnet-4-5" };
const newerClaude: ModelName = { provider: "anthropic", modelId: "claude-opus-5-5" };
const gpt4o: ModelName = { provider: "openai", modelId: "gpt-4o" };
const gpt41mini: ModelName = { provider: "openai", modelId: "gpt-4.1-mini" };
const gpt5: ModelName = { provider: "openai", modelId: "gpt-5" };
const gemini2: ModelName = { provider: "google", modelId: "gemini-2.5-pro" };
const gemini3: ModelName = { provider: "google", modelId: "gemini-3-pro-preview" };

/** A PNG of that size, as far as its header. */
function png(width: number, height: number): string {
  const header = Buffer.alloc(33);
  header.write("\u0089PNG\r\n\u001A\n", 0, "latin1");
  header.writeUInt32BE(13, 8);
  header.write("IHDR", 12, "latin1");
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  header.writeUInt8(8, 24);
  return Buffer.concat([header, deflateSync(Buffer.alloc(64))]).toString("base64");
}

describe("an image", () => {
  it.each<[string, ModelName, number, number, number]>([
    ["Claude 4.5: area / 750", claude, 1000, 1000, 1333],
    [
      "Claude 4.8: larger pictures",
      { provider: "anthropic", modelId: "claude-opus-4-8" },
      4000,
      3000,
      4000,
    ],
    ["Claude 4.5, scaled down to what it takes", claude, 4000, 3000, 1600],
    ["newer Claude, which takes more", newerClaude, 1920, 1080, 2765],
    ["newer Claude, scaled down", newerClaude, 4032, 3024, 4000],
    ["GPT-4o: the documented example of four tiles", gpt4o, 1024, 1024, 765],
    ["GPT-4o: the documented example of six tiles", gpt4o, 2048, 4096, 1105],
    ["GPT-5: smaller tiles", gpt5, 1024, 1024, 70 + 4 * 140],
    ["GPT-4.1 mini: the patches of the documented example", gpt41mini, 1024, 1024, 1659],
    ["Gemini 2.5, small", gemini2, 300, 300, 258],
    ["Gemini 2.5, in tiles", gemini2, 1536, 768, 516],
    ["Gemini 3, whatever its size", gemini3, 4032, 3024, 1120],
  ])("costs by its size: %s", (_, model, width, height, tokens) => {
    const counted = mediaTokens(png(width, height), "image/png", model) ?? 0;
    expect(Math.abs(counted - tokens)).toBeLessThan(10);
  });

  it("costs the same as a data URL", () => {
    const data = png(500, 500);
    expect(mediaTokens(`data:image/png;base64,${data}`, "image/png", claude)).toBe(
      mediaTokens(data, "image/png", claude),
    );
  });

  it("that cannot be read, or is only an address, costs a usual image and never its base64", () => {
    for (const data of ["AAAA", "A".repeat(1_000_000), "https://example.com/a.png"]) {
      const counted = mediaTokens(data, "image/png", claude) ?? 0;
      expect(counted).toBeGreaterThan(500);
      expect(counted).toBeLessThan(2000);
    }
  });
});

describe("other files", () => {
  const seconds = Buffer.alloc(16_000 * 10).toString("base64");

  it("cost by how long they play", () => {
    expect(mediaTokens(seconds, "audio/mpeg", gemini2)).toBeCloseTo(320, 0);
    expect(mediaTokens(seconds, "audio/mpeg", gpt4o)).toBeCloseTo(100, 0);
    expect(mediaTokens(seconds, "audio/wav", gemini2)).toBeCloseTo(160, 0);
  });

  it("cost by their pages", () => {
    const pdf = Buffer.from("%PDF-1.4 /Type /Pages /Type /Page /Type/Page").toString("base64");
    expect(mediaTokens(pdf, "application/pdf", claude)).toBe(4600);
    expect(mediaTokens(pdf, "application/pdf", gemini2)).toBe(516);
    expect(mediaTokens(pdf, "application/pdf", gemini3)).toBe(1120);
  });

  it("are left to the estimator of texts where they are text", () => {
    expect(mediaTokens("aGVsbG8=", "text/plain", claude)).toBeUndefined();
    expect(mediaTokens("e30=", "application/json", claude)).toBeUndefined();
  });
});

describe("a reference to a blob", () => {
  it.each<[string, string, Buffer]>([
    ["a picture", "image/png", Buffer.from(png(1234, 777), "base64")],
    ["a picture that cannot be read", "image/png", Buffer.alloc(5000, 7)],
    ["a document with pages", "application/pdf", Buffer.from("%PDF /Type /Page /Type /Page ")],
    ["a document that hides its pages", "application/pdf", Buffer.alloc(222_222, 7)],
    ["sound", "audio/mpeg", Buffer.alloc(100_001, 7)],
    ["a film", "video/mp4", Buffer.alloc(300_002, 7)],
    ["anything else", "application/zip", Buffer.alloc(12_345, 7)],
  ])("costs what the content costs: %s", (_, mediaType, content) => {
    const blob = mediaMeasures(content, mediaType);
    const data = content.toString("base64");
    for (const model of [claude, newerClaude, gpt4o, gpt41mini, gpt5, gemini2, gemini3]) {
      const counted = mediaTokens(data, mediaType, model);
      expect(mediaTokens("@blob:", mediaType, model, blob)).toBe(counted);
      const meters = meter(lengthEstimator, model);
      const inline = { role: "user", content: [{ type: "file", data, mediaType }] } as const;
      const file = { type: "file", data: "@blob:", mediaType, blob } as const;
      expect(meters.message({ role: "user", content: [file] })).toEqual(
        meters.message(inline as never),
      );
    }
  });
});
