/** Calls that fit no tool: the agent may mend them, and what is not mended goes back to the model. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Agent } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { containing } from "./tools.ts";

type Repair = NonNullable<Agent["repairToolCall"]>;

const weather = tool({
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `Sunny in ${city}`,
});

const calls = [call("whether", "1", { city: "Ulm" }), call("weather", "2", { town: "Ulm" })];

describe.each(["language-model-call", "stream-text"] as const)("By way of %s", (stepSource) => {
  /** The results that the model gets of both calls. */
  async function told(repairToolCall?: Repair): Promise<readonly unknown[]> {
    const model = scriptedModel([calling(...calls), "I see."]);
    const mending = repairToolCall === undefined ? {} : { repairToolCall };
    await using open = await openSession({ model, tools: { weather }, ...mending }, { stepSource });
    const turn = await open.session.send("How is the weather?");
    expect(await turn.result).toMatchObject({ text: "I see.", finishReason: "stop" });
    const answer = model.calls[1]?.prompt.find((message) => message.role === "tool");
    return (answer?.content ?? []).map((part) =>
      part.type === "tool-result" ? part.output : part,
    );
  }

  it("an unknown tool and an invalid input go back to the model as results", async () => {
    expect(await told()).toEqual([
      { type: "error-text", value: containing("unavailable tool 'whether'") },
      { type: "error-text", value: containing("Invalid input for tool weather") },
    ]);
  });

  it("the agent's repair hook may mend them: they run as if they had been made so", async () => {
    const asked: string[] = [];
    const answers = await told(async ({ toolCall, error, tools }) => {
      asked.push(`${toolCall.toolCallId} ${error.name} ${Object.keys(tools).join()}`);
      return { ...toolCall, toolName: "weather", input: JSON.stringify({ city: "Ulm" }) };
    });
    expect(asked).toEqual([
      "1 AI_NoSuchToolError weather,read_tool_output",
      "2 AI_InvalidToolInputError weather,read_tool_output",
    ]);
    expect(answers).toEqual([
      { type: "text", value: "Sunny in Ulm" },
      { type: "text", value: "Sunny in Ulm" },
    ]);
  });

  it("the hook sees the whole prompt of the step, not only what is new in it", async () => {
    const seen: number[] = [];
    const model = scriptedModel([
      calling(call("weather", "1", { city: "Ulm" })),
      calling(...calls),
      "I see.",
    ]);
    const repairToolCall: Repair = ({ messages }) => {
      seen.push(messages.length);
      return Promise.resolve(null);
    };
    const agent = { model, tools: { weather }, repairToolCall };
    await using open = await openSession(agent, { stepSource });
    const turn = await open.session.send("How is the weather?");
    await turn.result;
    expect(seen).toEqual([3, 3]);
  });

  it("what the hook leaves as it is, or breaks over, goes back to the model", async () => {
    const answers = await told(({ toolCall }) => {
      if (toolCall.toolCallId === "1") return Promise.resolve(null);
      throw new Error("I cannot mend this.");
    });
    expect(answers).toEqual([
      { type: "error-text", value: containing("unavailable tool 'whether'") },
      { type: "error-text", value: containing("I cannot mend this.") },
    ]);
  });
});
