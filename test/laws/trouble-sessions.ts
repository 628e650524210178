/** A session to record: refusals, cancels and deaths, one after the other. */

import { APICallError, tool } from "ai";
import { z } from "zod";
import type { Agent, Session } from "../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { seen } from "../support/seen.ts";
import type { Stage } from "./stage.ts";
import { call } from "../support/script.ts";

function providerError(statusCode: number, message: string): APICallError {
  const responseHeaders = { "retry-after-ms": "0" };
  return new APICallError({
    message,
    statusCode,
    responseHeaders,
    url: "https://provider.invalid",
    requestBodyValues: { secret: "of the request" },
    isRetryable: statusCode === 503,
  });
}

const deaf = (): Promise<string> => new Promise<string>(() => {});

export function troubledAgent(steps: readonly ScriptedStep[]): Agent {
  return {
    instructions: "You fare badly.",
    model: scriptedModel(steps),
    tools: {
      quick: tool({ inputSchema: z.object({}), execute: async () => "done" }),
      deaf: tool({ inputSchema: z.object({}), execute: deaf }),
    },
  };
}

/** A refusal that is tried again, a failure in mid-stream, and a cancel while the model speaks. */
async function refusals({ open, die }: Stage): Promise<void> {
  const pause = gate();
  const session = await open(
    troubledAgent([
      { failure: providerError(503, "Overloaded") },
      "At last.",
      {
        parts: [
          { type: "text", deltas: ["I was about to"] },
          { type: "break", error: providerError(400, "The connection was reset") },
        ],
      },
      {
        parts: [
          { type: "reasoning", deltas: ["Hm, "] },
          { type: "text", deltas: ["It ", pause] },
        ],
      },
    ]),
  );
  await (
    await session.send("Are you there?", { id: "m1" })
  ).result;
  await (await session.send("Go on.", { id: "m2" })).result.catch(expectFailure);
  const turn = await session.send("Once more.", { id: "m3" });
  await pause.reached;
  await session.send("And this?", { id: "m4" });
  await session.cancel({ reason: "too slow" });
  await turn.result;
  await session.withdraw("m4", "never mind");
  die();
}

function expectFailure(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "TURN_FAILED")) throw error;
}

/** A death while the model speaks, one while tools run, and a turn that continues by itself after it. */
async function deaths({ open, die }: Stage): Promise<void> {
  const pause = gate();
  const speaking = await open(
    troubledAgent([
      {
        parts: [
          { type: "reasoning", deltas: ["Well"] },
          { type: "text", deltas: ["On", "ce ", pause] },
        ],
      },
    ]),
  );
  await speaking.send("Tell me a story.", { id: "m5" });
  await pause.reached;
  await speaking.send("A long one.", { id: "m6", delivery: "steer" });
  await seen(speaking, "part.text-delta", ({ text }) => text === "ce ");
  die();
  const working = await open(troubledAgent([{ parts: [call("quick", "1"), call("deaf", "2")] }]));
  await working.resume();
  await seen(working, "tool.succeeded", ({ callId }) => callId === "1");
  await seen(working, "tool.started", ({ callId }) => callId === "2");
  die();
}

/** Goes on where tools were running, then a cancel while a tool does not listen. */
async function afterwards({ open }: Stage): Promise<Session> {
  const session = await open(
    troubledAgent([
      "I do not know what became of it.",
      { parts: [call("deaf", "1"), call("quick", "2")] },
    ]),
    "continue",
  );
  await session.idle();
  const turn = await session.send("Try again.", { id: "m7" });
  await seen(session, "tool.succeeded", ({ step }) => step === 7);
  await session.cancel();
  await turn.result;
  return session;
}

export async function troubleSession(stage: Stage): Promise<Session> {
  await refusals(stage);
  await deaths(stage);
  return await afterwards(stage);
}
