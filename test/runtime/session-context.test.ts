/** The figures of a session's context as its log tells them: what a live session says, without model or key. */

import { describe, expect, it } from "vitest";
import { dropOldest, openMemoryLog, readContext, type Agent } from "../../src/public/index.ts";
import { billingModel } from "../support/billing-model.ts";
import { call, calling } from "../support/script.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

const words = "words and more words of a tale ".repeat(60);
const limits = { billing: { contextWindow: 20_000, maxOutputTokens: 4000 } };
const catalogue = { limits: () => undefined, cost: () => undefined };

function agentOf(): Agent {
  return {
    model: billingModel((_, index) =>
      index % 2 === 0 ? calling(call("echo", `${index}`, { value: words })) : `Answer ${index}.`,
    ),
    instructions: "You tell tales. ".repeat(30),
    tools: { echo },
    context: { limits, catalogue },
  };
}

async function told(agent: Agent): Promise<OpenSession> {
  const open = await openSession(agent);
  for (let turn = 0; turn < 4; turn++) {
    await (
      await open.session.send("Go on.")
    ).result;
    if (turn === 2) await open.session.compact(dropOldest({ keepTurns: 1 }));
  }
  return open;
}

describe("the context of a session in a log", () => {
  it("is what the live session says, for who has its agent at hand", async () => {
    const agent = agentOf();
    await using open = await told(agent);
    const { due: _, ...live } = await open.session.context();
    const other = { instructions: "Another one.", tools: {} };
    const found = await readContext(open.log, open.session.id, { agents: [other, agent] });
    expect(found).toEqual({
      ...live,
      session: open.session.id,
      position: (await open.session.view()).position,
      standing: "agent",
    });
  });

  it("is at every step's position what was estimated there", async () => {
    const agent = agentOf();
    await using open = await told(agent);
    const steps = (await open.events()).flatMap((event) =>
      event.type === "step.started" ? [event] : [],
    );
    expect(steps.map(({ data }) => data.estimate.basis)).toContain("anchored");
    for (const { position, data } of steps) {
      const { tokens } = await readContext(open.log, open.session.id, {
        position: position - 1,
        agents: [agent],
      });
      expect(tokens).toBe(data.estimate.tokens);
    }
  });

  it("has instructions and tools in one sum without the agent, and the same total", async () => {
    await using open = await told(agentOf());
    const { tokens, breakdown } = await open.session.context();
    const found = await readContext(open.log, open.session.id, { catalogue });
    expect(found).toMatchObject({ standing: "log", tokens, breakdown: { tools: 0, media: 0 } });
    const sum = breakdown.instructions + breakdown.tools;
    expect(sum).toBeGreaterThan(100);
    expect(Math.abs(found.breakdown.instructions - sum) / sum).toBeLessThan(0.05);
    const { instructions, messages } = found.breakdown;
    expect(instructions + messages).toBe(tokens);
  });

  it("has the provider's preamble about tools, by whether the model has to call one", async () => {
    const claude = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" };
    const agent = { ...agentOf(), model: { ...billingModel(() => "Told."), ...claude } };
    await using open = await told(agent);
    const { tokens, breakdown } = await open.session.context();
    const found = await readContext(open.log, open.session.id, { catalogue });
    expect(found).toMatchObject({ standing: "log", tokens });
    const sum = breakdown.instructions + breakdown.tools;
    expect(Math.abs(found.breakdown.instructions - sum) / sum).toBeLessThan(0.05);
    expect(breakdown.tools).toBeGreaterThan(496);
    await using forced = await openSession({ ...agent, toolChoice: "required" });
    const { breakdown: more } = await forced.session.context();
    expect(more.tools - breakdown.tools).toBe(588 - 496);
  });

  it("goes by the first bill of an agent that took the session over", async () => {
    await using log = await openMemoryLog();
    const first = await openSession(agentOf(), { log });
    await (
      await first.session.send("Go on.")
    ).result;
    const second = { ...agentOf(), instructions: "Others tell it. ".repeat(300) };
    await using open = await reopen(first, second, { log });
    expect(await readContext(log, "s", { catalogue })).toMatchObject({ standing: "unknown" });
    await (
      await open.session.send("Go on.")
    ).result;
    const { breakdown } = await open.session.context();
    const found = await readContext(log, "s", { catalogue });
    expect(found.standing).toBe("log");
    const sum = breakdown.instructions + breakdown.tools;
    // The provider counts a tenth more than we do.
    expect(found.breakdown.instructions / sum).toBeGreaterThan(0.95);
    expect(found.breakdown.instructions / sum).toBeLessThan(1.3);
  });

  it("counts instructions and tools as nothing before the first step, and says so", async () => {
    await using open = await openSession(agentOf());
    const found = await readContext(open.log, open.session.id, { catalogue });
    expect(found).toMatchObject({ position: 1, standing: "unknown", tokens: 0 });
    await expect(readContext(open.log, open.session.id, { position: 2 })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    await expect(readContext(open.log, "nobody")).rejects.toMatchObject({
      code: "SESSION_NOT_FOUND",
    });
  });
});
