/** What content is, by its bytes. */
import { describe, expect, it } from "vitest";
import { imageFault } from "../../src/media/blob-offload.ts";
import { mediaTypeOf } from "../../src/media/media-type.ts";
import { mediaMeasures } from "../../src/context/index.ts";
import { animatedGif, jpeg, pdf, png, wav } from "../support/media.ts";

const size = { width: 30, height: 20 };
const text = Buffer.from("a,b\n1,2\n");
const binary = Buffer.from([0, 1, 2, 250, 251]);

describe("the type of content", () => {
  it.each<[string, Uint8Array, string, string]>([
    ["a picture, as it is said", png(size), "image/png", "image/png"],
    ["a picture with another's name", jpeg(size), "image/png", "image/jpeg"],
    ["a picture with a range for a name", png(size), "image/*", "image/png"],
    ["a picture that nobody named", animatedGif(size), "", "image/gif"],
    ["a picture that is called a document", png(size), "application/pdf", "image/png"],
    ["a document that is called a picture", pdf(1), "image/png", "application/pdf"],
    ["a usual misspelling", jpeg(size), "image/jpg", "image/jpeg"],
    ["sound under one of its names", wav(1), "audio/x-wav", "audio/x-wav"],
    ["text that is called a picture", text, "image/png", "text/plain"],
    ["text of a kind", text, "text/csv", "text/csv"],
    ["text of a kind, however it is written", text, " TEXT/CSV", "text/csv"],
    ["text that begins as pictures do", Buffer.from("BMW, a report"), "text/plain", "text/plain"],
    ["a picture that is called text", png(size), "text/plain", "image/png"],
    ["a document of letters that is called text", pdf(1), "text/plain", "application/pdf"],
    ["JSON", Buffer.from("[]"), "application/json", "application/json"],
    ["a picture in XML", Buffer.from("<svg xmlns='a'/>"), "image/svg+xml", "image/svg+xml"],
    ["bytes that are called a picture", binary, "image/png", "application/octet-stream"],
    ["bytes that are called text", binary, "text/plain", "application/octet-stream"],
    ["bytes of a kind without a signature", binary, "audio/l16", "audio/l16"],
    ["nothing at all", Buffer.alloc(0), "image/png", "application/octet-stream"],
  ])("of %s", async (_, content, declared, is) => {
    expect(await mediaTypeOf(content, declared)).toBe(is);
  });
});

describe("a picture", () => {
  it("has its size, as it is shown", () => {
    const turned = jpeg({ ...size, orientation: 6 });
    expect(mediaMeasures(png(size), "image/png")).toMatchObject(size);
    expect(mediaMeasures(jpeg(size), "image/jpeg")).toMatchObject(size);
    expect(mediaMeasures(turned, "image/jpeg")).toMatchObject({ width: 20, height: 30 });
    expect(mediaMeasures(animatedGif(size), "image/gif")).toMatchObject(size);
    expect(mediaMeasures(png({ width: 1, height: 1 }), "image/png")).toMatchObject({ width: 1 });
  });

  it("that was cut off is found to be broken, also where its size can be read", () => {
    const whole: readonly (readonly [Buffer, string])[] = [
      [png({ ...size, seed: 1 }), "image/png"],
      [jpeg(size), "image/jpeg"],
      [animatedGif(size), "image/gif"],
    ];
    for (const [content, mediaType] of whole) {
      expect(imageFault(content, mediaType, true)).toBeUndefined();
      expect(
        imageFault(Buffer.concat([content, Buffer.alloc(999)]), mediaType, true),
      ).toBeUndefined();
      // The end of a GIF is one byte, which its pixels may have too.
      const cut = mediaType === "image/gif" ? undefined : "it ends before it is complete";
      expect(imageFault(content.subarray(0, -3), mediaType, true)).toBe(cut);
      expect(imageFault(content, mediaType, false)).toMatch(/header/);
    }
  });
});
