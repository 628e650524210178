/** Text that looks like content: what is none costs no more than its length. */

import { describe, expect, it } from "vitest";
import { base64Content, dataUrlContent, embeddedDataUrl } from "../../src/media/file-data.ts";

/** So long that the square of it would take hours. */
const LONG = 5_000_000;

describe("content in a text", () => {
  it("is base64 with spaces in it and behind it, and nothing else", () => {
    expect(base64Content("aGVs\n bG8= \n ")).toEqual(Buffer.from("hello"));
    expect(base64Content("aGVsbG8=!")).toBe(undefined);
    expect(base64Content("aG=VsbG8")).toBe(undefined);
    expect(base64Content(`${" ".repeat(LONG)}!`)).toBe(undefined);
    expect(base64Content(`${"A".repeat(LONG)}!`)).toBe(undefined);
  });

  it("is that of a `data:` URL, with parameters or none", () => {
    const found = dataUrlContent("data:text/plain;charset=utf-8;base64,aGVsbG8=");
    expect(found).toEqual({ content: Buffer.from("hello"), declared: "text/plain" });
    expect(dataUrlContent("data:,a%20b")?.content).toEqual(Buffer.from("a b"));
    for (const piece of [";", "a", ";a", "data:"])
      expect(dataUrlContent(`data:${piece.repeat(LONG)}`)).toBe(undefined);
    expect(dataUrlContent(`data:text/plain;base64,${" ".repeat(LONG)}!`)).toBe(undefined);
  });

  it("is found within a text that only begins like one again and again", () => {
    const url = "data:image/png;base64,aGVsbG8=";
    for (const piece of [";a", "data:", "data:a/", "data:a/a;base64"])
      expect(`data:a/a${piece.repeat(LONG / 5)} ${url}`.match(embeddedDataUrl)).toEqual([url]);
  });
});
