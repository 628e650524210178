import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { frame } from "./wire-stream.ts";

const chunks = ['{"type":"one"}', '{"type":"two"}'];

function framed(family: Parameters<typeof frame>[0]): string {
  return Buffer.from(frame(family, chunks)).toString();
}

describe("framing", () => {
  it("names the type of each event where the provider is Anthropic", () => {
    expect(framed("anthropic")).toBe(
      'event: one\ndata: {"type":"one"}\n\nevent: two\ndata: {"type":"two"}\n\n',
    );
  });

  it("ends an OpenAI chat with [DONE]", () => {
    expect(framed("openai-chat")).toBe(
      'data: {"type":"one"}\n\ndata: {"type":"two"}\n\ndata: [DONE]\n\n',
    );
  });

  it("sends plain data events for OpenAI responses and Google", () => {
    const plain = 'data: {"type":"one"}\n\ndata: {"type":"two"}\n\n';
    expect([framed("openai-responses"), framed("google")]).toEqual([plain, plain]);
  });

  it("puts a chunk of Bedrock into a binary frame: lengths, its type as a header, its body, checksums", () => {
    const bytes = Buffer.from(frame("amazon-bedrock", ['{"messageStop":{"stopReason":"é"}}']));
    const [length, headers] = [bytes.readUInt32BE(0), bytes.readUInt32BE(4)];
    expect(length).toBe(bytes.length);
    expect(bytes.readUInt32BE(8)).toBe(crc32(bytes.subarray(0, 8)));
    expect(bytes.readUInt32BE(length - 4)).toBe(crc32(bytes.subarray(0, length - 4)));
    expect(bytes.toString("latin1", 12, 12 + headers)).toContain(
      "\u000B:event-type\u0007\u0000\u000BmessageStop",
    );
    expect(bytes.toString("utf8", 12 + headers, length - 4)).toBe('{"stopReason":"é"}');
  });
});
