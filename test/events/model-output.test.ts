/** Which parts of a reply are content: a reply of others alone says nothing, and the model is asked once more. */

import { expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import { saysSomething } from "../../src/events/catalogue/model-output.ts";

const call = { toolCallId: "c", toolName: "work" };
const ran = { ...call, output: 1, providerExecuted: true };

const says: readonly EventBody[] = [
  { type: "part.text-delta", data: { id: "t", text: " a" } },
  { type: "part.tool-call", data: { ...call, input: {} } },
  { type: "part.file", data: { data: "AAAA", mediaType: "image/png" } },
  { type: "part.custom", data: { kind: "openai.note" } },
  { type: "part.tool-result", data: ran },
  { type: "part.tool-error", data: { ...call, error: "It broke.", providerExecuted: true } },
];

const saysNothing: readonly EventBody[] = [
  { type: "part.text-start", data: { id: "t" } },
  { type: "part.text-delta", data: { id: "t", text: " \n" } },
  { type: "part.reasoning-delta", data: { id: "r", text: "Hm." } },
  { type: "part.source", data: { sourceType: "url", id: "u", url: "https://a.invalid" } },
  { type: "part.custom", data: { kind: "anthropic.message_start" } },
  { type: "part.custom", data: { kind: "anthropic.fallback" } },
  { type: "part.tool-result", data: { ...ran, providerExecuted: false } },
];

function isContent(body: EventBody): boolean {
  return saysSomething({ position: 1, time: 1, ...body });
}

it.each(says)("content is $type: $data", (body) => {
  expect(isContent(body)).toBe(true);
});

it.each(saysNothing)("no content is $type: $data", (body) => {
  expect(isContent(body)).toBe(false);
});
