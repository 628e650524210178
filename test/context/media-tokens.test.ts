/** Files in a prompt, by what each provider publishes. */

import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { ModelName } from "../../src/events/index.ts";
import { lengthEstimator } from "../support/length-estimator.ts";
import {
  mediaMeasures,
  mediaTokens,
  uploadedTokens,
} from "../../src/context/estimate/media-tokens.ts";
import { meter } from "../../src/context/estimate/message-size.ts";

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

/** A JPEG of that size and orientation, as far as its header. */
function jpeg(width: number, height: number, orientation: number): Buffer {
  const exif = Buffer.alloc(36);
  exif.writeUInt16BE(0xffe1, 0);
  exif.writeUInt16BE(34, 2);
  exif.write("Exif", 4, "latin1");
  exif.write("MM", 10, "latin1");
  exif.writeUInt16BE(42, 12);
  exif.writeUInt32BE(8, 14);
  // One entry: the orientation, a short.
  exif.writeUInt16BE(1, 18);
  exif.writeUInt16BE(0x0112, 20);
  exif.writeUInt16BE(3, 22);
  exif.writeUInt32BE(1, 24);
  exif.writeUInt16BE(orientation, 28);
  const frame = Buffer.alloc(19);
  frame.writeUInt16BE(0xffc0, 0);
  frame.writeUInt16BE(17, 2);
  frame.writeUInt8(8, 4);
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), exif, frame, Buffer.from([0xff, 0xd9])]);
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

describe("an image of a known size", () => {
  const cost = (modelId: string, width: number, height: number, provider = "openai"): number =>
    mediaTokens("@blob:", "image/png", { provider, modelId }, { bytes: 9, width, height }) ?? 0;

  it("costs GPT models tiles of 512 pixels after two reductions, or patches of 32", () => {
    for (const modelId of ["gpt-4o", "gpt-4.1", "gpt-4.1-2025-04-14", "gpt-4.5", "o1", "openai/o3"])
      expect([modelId, cost(modelId, 512, 512)]).toEqual([modelId, 85 + 170]);
    expect(cost("gpt-4o", 513, 512)).toBe(85 + 2 * 170);
    expect(cost("gpt-4o", 768, 768)).toBe(85 + 4 * 170);
    expect(cost("gpt-4o", 1536, 1536)).toBe(85 + 4 * 170);
    expect(cost("gpt-4o", 8192, 1024)).toBe(85 + 4 * 170);
    for (const modelId of ["gpt-5", "gpt-5-chat-latest", "gpt-5-2025-08-07"])
      expect([modelId, cost(modelId, 512, 512)]).toEqual([modelId, 70 + 140]);
    for (const [modelId, factor] of [
      ["gpt-4.1-mini", 1.62],
      ["gpt-4.1-nano", 2.46],
      ["o4-mini", 1.62],
      ["gpt-5-mini", 1.2],
      ["gpt-6", 1.2],
    ] as const) {
      expect([modelId, cost(modelId, 64, 33)]).toEqual([modelId, 4 * factor]);
      expect([modelId, cost(modelId, 4000, 4000)]).toEqual([modelId, 1536 * factor]);
    }
  });

  it("costs Claude its area, after a reduction of the longer edge", () => {
    const claudeCost = (modelId: string, width: number, height: number): number =>
      cost(modelId, width, height, "anthropic");
    expect(claudeCost("claude-opus-5", 750, 100)).toBe(100);
    expect(claudeCost("claude-opus-5", 4000, 750)).toBe((2000 * 375) / 750);
    expect(claudeCost("claude-opus-5", 2000, 2000)).toBeCloseTo(5333.3, 1);
    for (const modelId of ["claude-3-opus", "claude-sonnet-4-5", "claude-opus-4@20250514"]) {
      expect(claudeCost(modelId, 3136, 750)).toBeCloseTo((1568 * 375) / 750, 6);
      expect(claudeCost(modelId, 1500, 1500)).toBe(1600);
    }
  });

  it("costs Gemini 2 tiles of 768 pixels, but for a small one", () => {
    const tiles = (width: number, height: number): number =>
      cost("gemini-2.5-pro", width, height, "google") / 258;
    expect([tiles(384, 384), tiles(385, 384), tiles(384, 769), tiles(769, 769)]).toEqual([
      1, 1, 2, 4,
    ]);
    expect(tiles(300, 3000)).toBe(4);
  });

  it("that is not known is a screenshot's, and that of an address is fixed", () => {
    const usual = mediaTokens("@blob:", "image/png", gpt4o, { bytes: 9 });
    expect(usual).toBe(cost("gpt-4o", 1280, 720));
    expect(mediaTokens("@blob:", "image/png", newerClaude, { bytes: 9 })).toBe((1280 * 720) / 750);
    expect(mediaTokens("@blob:", "image/png", gpt4o, { bytes: 9, width: 5 })).toBe(usual);
    expect(mediaTokens("@blob:", "image/png", gpt4o, { bytes: 9, height: 5 })).toBe(usual);
    expect(mediaTokens("HTTPS://a.example/b", "image/png", gpt4o)).toBe(1100);
    expect(mediaTokens("http://a.example/b", "application/pdf", gpt4o)).toBe(2500);
    expect(uploadedTokens("image/png", gpt4o)).toBe(usual);
    expect(uploadedTokens("application/pdf", gpt4o)).toBe(2500);
  });
});

describe("what a file shows of itself", () => {
  const bytesOf = (base64: string): Buffer => Buffer.from(base64, "base64");

  it("are its bytes, the pixels of a picture and the pages of a document", () => {
    const picture = bytesOf(png(40, 30));
    expect(mediaMeasures(picture, "image/png")).toEqual({
      bytes: picture.length,
      width: 40,
      height: 30,
    });
    expect(mediaMeasures(picture, "application/zip")).toEqual({ bytes: picture.length });
    expect(mediaMeasures(bytesOf(png(0, 30)), "image/png")).not.toHaveProperty("width");
    expect(mediaMeasures(bytesOf(png(40, 0)), "image/png")).not.toHaveProperty("height");
    const document = Buffer.from("%PDF /Type /Pages /Type /Page\n/Type/Page");
    expect(mediaMeasures(document, "application/pdf")).toEqual({
      bytes: document.length,
      pages: 2,
    });
    expect(mediaMeasures(Buffer.from("%PDF"), "application/pdf")).toEqual({ bytes: 4 });
    // A view into a larger buffer.
    const within = Buffer.concat([Buffer.from("/Type /Page"), document]).subarray(11);
    expect(mediaMeasures(within, "application/pdf").pages).toBe(2);
  });

  it("is as it is shown: a picture that lies on its side has its edges exchanged", () => {
    const sizes = [1, 4, 5, 8].map((orientation) => {
      const { width, height } = mediaMeasures(jpeg(40, 30, orientation), "image/jpeg");
      return [width, height];
    });
    expect(sizes).toEqual([
      [40, 30],
      [40, 30],
      [30, 40],
      [30, 40],
    ]);
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

  it("cost by their bytes where nothing else is known", () => {
    const cost = (mediaType: string, bytes: number, model = gpt4o): number | undefined =>
      mediaTokens("@blob:", mediaType, model, { bytes });
    expect(cost("video/mp4", 125_000)).toBe(263);
    expect(cost("audio/pcm", 32_000, gemini2)).toBe(32);
    expect(cost("audio/l16", 32_000)).toBe(10);
    expect(cost("application/zip", 400)).toBe(100);
    expect(cost("application/pdf", 50_000)).toBe(1000);
    expect(cost("application/pdf", 50_001)).toBe(2000);
    expect(cost("application/pdf", 0)).toBe(1000);
    expect(cost("text/plain", 400)).toBe(100);
    expect(cost("application/json", 400)).toBe(100);
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
