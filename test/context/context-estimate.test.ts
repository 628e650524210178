/** What the estimate of the next prompt builds on, and what it says of itself. */

import { describe, expect, it } from "vitest";
import { defaultEstimator, tokenizer } from "../../src/context/estimate/token-estimator.ts";
import {
  estimateContext,
  type ContextEstimate,
  type EstimateInput,
} from "../../src/context/estimate/context-estimate.ts";
import { gpt, Session } from "./session.ts";

const instructions = "You are careful. ".repeat(20);
const tools = JSON.stringify([{ name: "read", description: "Reads a file." }]);

function estimate(session: Session, more: Partial<EstimateInput> = {}): ContextEstimate {
  const { history, view, usage, calibration, counts } = session;
  return estimateContext({
    model: gpt,
    instructions,
    tools,
    history,
    view,
    usage,
    calibration,
    counts,
    ...more,
  });
}

const around = (tokens: number): [number, number] => [tokens * 0.9, tokens * 1.1 + 20];

function expectAbout(actual: number, tokens: number): void {
  const [least, most] = around(tokens);
  expect(actual).toBeGreaterThanOrEqual(least);
  expect(actual).toBeLessThanOrEqual(most);
}

const prose = "The ship leaves the harbour at dawn and comes back in the evening. ".repeat(40);
const proseTokens = defaultEstimator.text(prose);

describe("the estimate", () => {
  it("is a guess of everything before the first bill, and says so", () => {
    const session = new Session();
    session.ask(prose);
    const made = estimate(session);
    expect(made.basis).toBe("estimated");
    expect(made.since).toBeUndefined();
    expect(made.recorded).toMatchObject({ tokens: made.tokens, basis: "length", factor: 1 });
    // The tools of GPT-5 have a preamble.
    expectAbout(made.tokens - 84, proseTokens + defaultEstimator.text(instructions + tools));
  });

  it("is what was billed when nothing came after it", () => {
    const session = new Session();
    session.ask("Go.");
    session.start();
    session.say("Gone.");
    session.finish({ inputTokens: 5000, outputTokens: 7 });
    session.end();
    expect(estimate(session)).toMatchObject({
      tokens: 5007,
      basis: "measured",
      since: { step: 1, input: 5000, output: 7, added: 0, removed: 0 },
    });
  });

  it("adds to the last bill what tools and users said since", () => {
    const session = new Session();
    session.ask("Go.");
    session.start();
    session.call("a");
    session.finish({ inputTokens: 5000, outputTokens: 50 }, "tool-calls");
    session.answer("a", prose);
    const afterTool = estimate(session);
    expect(afterTool.basis).toBe("anchored");
    expectAbout(afterTool.tokens - 5050, proseTokens);
    const { since } = afterTool;
    expect(5050 + (since?.added ?? 0)).toBe(afterTool.tokens);
    session.end();
    session.ask(prose);
    expectAbout(estimate(session).tokens - 5050, 2 * proseTokens);
  });

  it("takes off what was pruned since", () => {
    const session = new Session();
    session.ask("Go.");
    session.work(prose);
    session.start();
    session.say("Read.");
    session.finish({ inputTokens: 5000, outputTokens: 10 });
    session.record({
      type: "context.pruned",
      data: { calls: [{ step: 1, callId: "c0" }], savedTokens: 1 },
    });
    const made = estimate(session);
    expectAbout(5010 - made.tokens, proseTokens);
    expectAbout(made.since?.removed ?? 0, 5010 - made.tokens);
  });

  it("counts a result that was pruned before it was sent as its placeholder", () => {
    const session = new Session();
    session.ask("Go.");
    session.work(prose);
    session.record({
      type: "context.pruned",
      data: { calls: [{ step: 1, callId: "c0" }], savedTokens: 1 },
    });
    expect(estimate(session).since?.removed).toBe(0);
    expect(estimate(session).tokens).toBeLessThan(1100 + 40);
  });

  it("is what was counted when nothing came after it, whatever was billed before", () => {
    const session = new Session();
    session.ask("Go.");
    session.start();
    session.say("Gone.");
    session.finish({ inputTokens: 5000, outputTokens: 7 });
    session.end();
    session.ask(prose);
    session.count(4321);
    expect(estimate(session)).toMatchObject({
      tokens: 4321,
      basis: "counted",
      since: { input: 4321, output: 0, added: 0, removed: 0 },
      recorded: { tokens: 4321, basis: "counted", guessedTokens: 0 },
    });
    expect(estimate(session).since).not.toHaveProperty("step");
  });

  it("adds to a count what came since, and takes off what was pruned, until the next bill", () => {
    const session = new Session();
    session.ask("Go.");
    session.work(prose);
    session.count(4000);
    session.start();
    session.say(prose);
    session.finish({ basis: "estimated" });
    const said = estimate(session);
    expect(said.basis).toBe("anchored");
    expectAbout(said.tokens - 4000, proseTokens);
    session.record({
      type: "context.pruned",
      data: { calls: [{ step: 1, callId: "c0" }], savedTokens: 1 },
    });
    expectAbout(said.tokens - estimate(session).tokens, proseTokens);
    session.end();
    session.ask("More.");
    session.start();
    session.finish({ inputTokens: 7000, outputTokens: 10 });
    expect(estimate(session)).toMatchObject({ since: { step: 3, input: 7000 } });
  });

  it("does not build on a count of another model, of another agent, or of before a compaction", () => {
    const counted = (): Session => {
      const session = new Session();
      session.ask(prose);
      session.count(4000);
      return session;
    };
    const other = { provider: "anthropic", modelId: "claude-opus-4-6" };
    expect(estimate(counted(), { model: other }).basis).toBe("estimated");
    const configured = counted();
    const agent = { digest: "d", model: gpt, tools: [] };
    configured.record({ type: "session.configured", data: { agent } });
    expect(estimate(configured).basis).toBe("estimated");
    const from = { session: "p", position: 1 };
    const forked = counted();
    forked.record({ type: "session.forked", data: { from } });
    expect(estimate(forked).basis).toBe("counted");
    forked.record({ type: "session.forked", data: { from, agent } });
    expect(estimate(forked).basis).toBe("estimated");
    const compacted = counted();
    compacted.record({
      type: "context.compacted",
      data: {
        strategy: "s",
        covers: { from: 3, to: 3 },
        summary: "A tale.",
        beforeTokens: 9,
        afterTokens: 1,
      },
    });
    expect(estimate(compacted).basis).toBe("estimated");
  });

  it("takes reasoning off a count that its provider drops when the turn is over", () => {
    const session = new Session();
    session.ask("Think.");
    session.start();
    session.think("Well.");
    session.call("a");
    session.finish({ inputTokens: 1100, outputTokens: 300, reasoningTokens: 250 }, "tool-calls");
    session.answer("a", "");
    session.count(1500);
    expect(estimate(session).tokens).toBe(1500);
    session.end();
    session.ask("Again.");
    expect(estimate(session).since).toMatchObject({ input: 1500, removed: 250 });
  });

  it("starts anew after another model, a compaction and an undoing, and says so", () => {
    const session = new Session();
    session.ask(prose);
    session.start();
    session.say("Read.");
    session.finish({ inputTokens: 99_000 });
    const other = { provider: "anthropic", modelId: "claude-opus-4-6" };
    expect(estimate(session, { model: other })).toMatchObject({ basis: "estimated" });
    session.record({
      type: "context.compacted",
      data: {
        strategy: "s",
        covers: { from: 3, to: 3 },
        summary: "A tale.",
        beforeTokens: 9,
        afterTokens: 1,
      },
    });
    const compacted = estimate(session);
    expect(compacted.basis).toBe("estimated");
    expect(compacted.tokens).toBeLessThan(proseTokens);
    session.record({ type: "context.restored", data: { position: session.position } });
    expect(estimate(session).basis).toBe("estimated");
    expect(estimate(session).tokens).toBeGreaterThan(proseTokens);
  });

  it("leaves reasoning out that is not sent back, or only within its turn", () => {
    const session = new Session();
    session.ask("Go.");
    session.start();
    session.say("Done.");
    session.finish({ inputTokens: 1000, outputTokens: 500, reasoningTokens: 480 });
    expect(estimate(session).tokens).toBe(1020);
    session.end();
    session.ask("Think.");
    session.start();
    session.think("Well.");
    session.call("a");
    session.finish({ inputTokens: 1100, outputTokens: 300, reasoningTokens: 250 }, "tool-calls");
    session.answer("a", "");
    expect(estimate(session).since).toMatchObject({ input: 1100, output: 300 });
    session.end();
    session.ask("Again.");
    expect(estimate(session).since).toMatchObject({ input: 1100, output: 50 });
  });

  it("builds on the last bill that says something: none of zero, of a failed step or of a guess", () => {
    const session = new Session();
    session.ask("Go.");
    session.start();
    session.call("a");
    session.finish({ inputTokens: 5000, outputTokens: 50 }, "tool-calls");
    session.answer("a", "");
    for (const billed of [{ inputTokens: 0 }, { basis: "estimated" } as const]) {
      session.start();
      session.call("a");
      session.finish(billed, "tool-calls");
      session.answer("a", "");
      expect(estimate(session).since).toMatchObject({ step: 1, input: 5000, output: 50 });
    }
    session.start();
    session.say("Half a");
    const error = { name: "Error", message: "It broke off." };
    const usage = { basis: "measured", inputTokens: 6000, outputTokens: 9 } as const;
    session.record({ type: "step.failed", data: { step: session.step, error, usage } });
    expect(estimate(session).since?.input).not.toBe(6000);
  });

  it("takes off only what was pruned after the bill, and only what the bill had", () => {
    const session = new Session();
    const prune = (step: number): void => {
      const data = { calls: [{ step, callId: "c0" }], savedTokens: 1 };
      session.record({ type: "context.pruned", data });
    };
    session.ask("Go.");
    session.work(prose);
    session.work(prose);
    session.ask("Then.");
    prune(1);
    session.start();
    session.call("c0");
    session.finish({ inputTokens: 5000, outputTokens: 10 }, "tool-calls");
    session.answer("c0", prose);
    expect(estimate(session).since?.removed).toBe(0);
    // The bill did not have the result of its own step.
    const added = estimate(session).since?.added ?? 0;
    prune(3);
    expect(estimate(session).since?.removed).toBe(0);
    expectAbout(added - (estimate(session).since?.added ?? 0), proseTokens);
    prune(2);
    expectAbout(estimate(session).since?.removed ?? 0, proseTokens);
  });

  it("takes off the reasoning of the turn that was billed, and of no earlier one", () => {
    const session = new Session();
    for (const turn of [1, 2]) {
      session.ask(`Think ${turn}.`);
      for (const reasoningTokens of [100 * turn, 30 * turn]) {
        session.start();
        session.think("Well.");
        session.call("a");
        session.finish({ inputTokens: 1000, outputTokens: 400, reasoningTokens }, "tool-calls");
        session.answer("a", "");
      }
      session.end();
    }
    session.ask("Again.");
    // The last step's own reasoning is not in the bill's input: its output is less by it.
    expect(estimate(session).since).toMatchObject({ removed: 200, output: 340 });
  });

  it("takes off no reasoning of a step that sent none back", () => {
    const session = new Session();
    session.ask("Think.");
    for (const thinks of [false, true, true]) {
      session.start();
      if (thinks) session.think("Well.");
      session.call("a");
      session.finish({ inputTokens: 1000, outputTokens: 400, reasoningTokens: 70 }, "tool-calls");
      session.answer("a", "");
    }
    session.end();
    session.ask("Again.");
    expect(estimate(session).since).toMatchObject({ removed: 70, output: 330 });
  });

  it("divides into parts that add up, counting backwards to the messages", () => {
    const session = new Session();
    const data =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
    session.record({
      type: "message.queued",
      data: {
        id: "m",
        content: [
          { type: "text", text: prose },
          { type: "file", data, mediaType: "image/png" },
        ],
        delivery: "steer",
      },
    });
    session.record({ type: "message.delivered", data: { ids: ["m"], turn: 1, boundary: "turn" } });
    const { breakdown, tokens, warnings, bytes } = estimate(session);
    expect(breakdown.media).toBe(210);
    const sum = breakdown.instructions + breakdown.tools + breakdown.messages + breakdown.media;
    expect(sum).toBe(tokens);
    expect(warnings).toEqual([]);
    expect(bytes).toBe(prose.length + data.length + instructions.length + tools.length);
  });

  it("warns when the parts that are known would be more than the whole", () => {
    const session = new Session();
    session.ask("Go.");
    session.start();
    session.finish({ inputTokens: 20, outputTokens: 1 });
    const { breakdown, warnings } = estimate(session);
    expect(breakdown.messages).toBe(0);
    expect(warnings).toHaveLength(1);
  });

  it("of a prompt without messages is that of the fixed parts, which is no reason to warn", () => {
    const { tokens, breakdown, warnings } = estimate(new Session());
    expect(breakdown).toMatchObject({ messages: 0, media: 0 });
    // Each of them is rounded.
    expect(Math.abs(tokens - breakdown.instructions - breakdown.tools)).toBeLessThanOrEqual(1);
    expect(warnings).toEqual([]);
    const standing = estimate(new Session(), { standing: 500, tools: "" });
    expect(standing.breakdown.instructions).toBe(500);
    const scaled = estimate(new Session(), { standing: 500, tools: "", scale: 1.5 });
    expect(scaled.tokens).toBe(750);
  });

  it("reserves for the reply what the model may say, and at the most half of the window", () => {
    const bufferOf = (limits: EstimateInput["limits"]): number | undefined =>
      estimate(new Session(), limits === undefined ? {} : { limits }).room?.outputBuffer;
    expect(bufferOf({ contextWindow: 200_000 })).toBe(32_000);
    expect(bufferOf({ contextWindow: 200_000, maxOutputTokens: 4000 })).toBe(4000);
    expect(bufferOf({ contextWindow: 20_001 })).toBe(10_000);
    expect(bufferOf({ maxOutputTokens: 4000 })).toBeUndefined();
    const { room, tokens } = estimate(new Session(), { limits: { contextWindow: 20_000 } });
    expect(room).toMatchObject({ window: 20_000, free: 10_000 - tokens, used: tokens / 10_000 });
  });

  it("tells how much room is left beside the reply, and how far the last estimate was off", () => {
    const session = new Session();
    session.ask("Go.");
    session.start();
    session.say("Gone.");
    session.finish({ inputTokens: 70_000, outputTokens: 0 });
    const { room, lastError } = estimate(session, {
      limits: { contextWindow: 200_000, maxOutputTokens: 60_000 },
    });
    expect(room).toEqual({
      window: 200_000,
      outputBuffer: 32_000,
      free: 98_000,
      used: 70_000 / 168_000,
    });
    expect(lastError).toEqual({ step: 1, basis: "length", estimated: 1, billed: 70_000 });
    expect(estimate(session).room).toBeUndefined();
  });

  it("counts with a user's tokenizer where there is one, and does not correct it", () => {
    const session = new Session();
    session.ask("one two three four");
    const estimator = tokenizer((text) => text.split(" ").length);
    const model = { provider: "anthropic", modelId: "claude-opus-4-6" };
    const made = estimate(session, { estimator, instructions: "a b", tools: "c", model });
    expect(made.recorded).toMatchObject({ guessedTokens: 4 + 2 + 1, factor: 1 });
  });

  it("is the same for the same states", () => {
    const session = new Session();
    session.ask(prose);
    session.work(prose, prose);
    expect(estimate(session)).toEqual(estimate(session));
  });
});
