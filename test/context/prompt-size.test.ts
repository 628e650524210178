/** The size of a whole prompt is remembered between prompts, and is still the sum of its messages. */

import fc from "fast-check";
import type { ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import { lengthEstimator } from "../support/length-estimator.ts";
import { meter, type Meter } from "../../src/context/estimate/message-size.ts";
import { promptSize } from "../../src/context/estimate/context-estimate.ts";

const message = fc
  .string({ maxLength: 40 })
  .map((content): ModelMessage => ({ role: "user", content }));

/** What comes of a prompt next: more of it, less of it, another message in its midst, or two readers. */
const change = fc.record({
  kind: fc.constantFrom("add", "cut-end", "cut-begin", "exchange"),
  at: fc.nat(20),
  message,
});

function textOf(messages: readonly ModelMessage[], measure: Meter): number {
  return messages.reduce((sum, one) => sum + measure.message(one).text, 0);
}

describe("the size of a prompt", () => {
  it("is the sum over its messages, whatever was measured before", () => {
    const model = { provider: "p", modelId: "m" };
    fc.assert(
      fc.property(
        fc.array(message, { minLength: 1, maxLength: 5 }),
        fc.array(change, { maxLength: 30 }),
        (begin, changes) => {
          const measures = [
            meter(lengthEstimator, model),
            meter(lengthEstimator, { ...model, modelId: "n" }),
          ];
          let messages: readonly ModelMessage[] = begin;
          for (const { kind, at, message: other } of changes) {
            const index = at % Math.max(1, messages.length);
            if (kind === "add") messages = [...messages, other];
            else if (kind === "cut-end") messages = messages.slice(0, index);
            else if (kind === "cut-begin") messages = messages.slice(index);
            else messages = messages.toSpliced(index, 1, other);
            for (const measure of measures) {
              expect(promptSize(messages, measure).text).toBeCloseTo(textOf(messages, measure), 6);
            }
          }
        },
      ),
    );
  });

  it("measures no message twice while the prompt only grows", () => {
    let measured = 0;
    const measure: Meter = {
      ...meter(lengthEstimator, { provider: "p", modelId: "counted" }),
      message: () => {
        measured += 1;
        return { text: 1, media: 0, around: 0, bytes: 1 };
      },
    };
    const messages: ModelMessage[] = [];
    for (let count = 1; count <= 100; count++) {
      messages.push({ role: "user", content: `${count}` });
      expect(promptSize([...messages], measure).text).toBe(count);
    }
    expect(measured).toBe(100);
  });
});
