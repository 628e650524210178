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
});
