/** Law 16: what was shown for approval is what runs, in generated replies that use few ids for many calls. */

import { isDeepStrictEqual } from "node:util";
import { tool, type ToolSet } from "ai";
import { array, assert, asyncProperty, boolean, constantFrom, nat, record } from "fast-check";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  openMemoryLog,
  verifySession,
  viewSession,
  type Agent,
  type EventLog,
  type Session,
} from "../../src/public/index.ts";
import {
  scriptedModel,
  type ScriptedPart,
  type ScriptedStep,
  type ScriptedToolCall,
} from "../../src/models/index.ts";
import { readUIMessages, uiMessages } from "../../src/ui/index.ts";
import { patience, runs } from "../support/runs.ts";
import { storedEvents } from "../support/replay.ts";

vi.setConfig({ testTimeout: patience });

interface Ran {
  readonly toolCallId: string;
  readonly name: string;
  readonly input: unknown;
}

const inputSchema = z.object({ number: z.number(), note: z.string().default("none") });

/** Tools that run at once, ask before, are run by a client, and by the provider. */
function toolsOf(ran: Ran[]): ToolSet {
  const running = (name: string) =>
    tool({
      inputSchema,
      execute: (input, { toolCallId }) => {
        ran.push({ toolCallId, name, input });
        return input.number;
      },
    });
  const client = tool({ inputSchema, outputSchema: z.unknown() });
  const search: ToolSet[string] = {
    type: "provider",
    isProviderExecuted: true,
    id: "test.search",
    args: {},
    inputSchema,
    outputSchema: z.unknown(),
  };
  return { free: running("free"), asking: running("asking"), client, search };
}

interface Call {
  readonly id: string;
  readonly toolName: "free" | "asking" | "client" | "search";
  readonly streamed: boolean;
  readonly valid: boolean;
}

const call = record<Call>({
  id: constantFrom("a", "b", "a@2", ""),
  toolName: constantFrom("free", "asking", "asking", "client", "search"),
  streamed: boolean(),
  valid: constantFrom(true, true, true, false),
});

/** Each call of a session has an input that no other has. */
function partsOf({ id, toolName, streamed, valid }: Call, number: number): readonly ScriptedPart[] {
  const input = valid ? { number } : { number: "none" };
  const called: ScriptedToolCall = { type: "tool-call", toolCallId: id, toolName, input };
  const raw = {
    type: "tool-call",
    toolCallId: id,
    toolName,
    input: JSON.stringify(input),
  } as const;
  if (toolName !== "search") return streamed ? [called] : [{ type: "raw-part", part: raw }];
  const result = { type: "tool-result", toolCallId: id, toolName, result: number } as const;
  return [
    {
      type: "raw-part",
      part: { ...raw, input: JSON.stringify({ number }), providerExecuted: true },
    },
    { type: "raw-part", part: result },
  ];
}

async function answer(session: Session, yes: (at: number) => boolean): Promise<boolean> {
  const { approvals, outputRequests } = await session.atRest();
  const asked = approvals.filter(({ status }) => status === "waiting").toReversed();
  const requested = outputRequests.filter(({ status }) => status === "waiting").toReversed();
  for (const [at, { approvalId }] of asked.entries())
    await session[yes(at) ? "approve" : "deny"](approvalId);
  for (const { requestId, input } of requested)
    await session.answerCall(requestId, { output: input });
  return asked.length + requested.length > 0;
}

it.each(["language-model-call", "stream-text"] as const)(
  "every call runs with the input that was shown, by way of %s, also after a restart",
  async (stepSource) => {
    const reply = array(call, { minLength: 1, maxLength: 5 });
    const session = record({
      replies: array(reply, { minLength: 1, maxLength: 2 }),
      yes: array(boolean(), { minLength: 3, maxLength: 3 }),
      restarts: boolean(),
      places: nat(2),
    });
    await assert(
      asyncProperty(session, async ({ replies, yes, restarts, places }) => {
        let number = 0;
        const script = replies.map((calls): ScriptedStep => ({
          parts: calls.flatMap((one) => partsOf(one, (number += 1))),
          finishReason: "tool-calls",
        }));
        const ran: Ran[] = [];
        let step = 0;
        const agent: Agent = {
          model: scriptedModel(() => script[step++] ?? "Done."),
          tools: toolsOf(ran),
          toolApproval: { asking: "user-approval" },
          ...(places === 0 ? {} : { toolCallConcurrency: places }),
        };
        await using log = await openMemoryLog();
        const options = { log, stepSource, agent };
        let runtime = await createRuntime(options);
        await (await runtime.session("s")).send("Go.");
        for (let isAsked = true; isAsked;) {
          if (restarts) {
            await (await runtime.session("s")).atRest();
            await runtime.close();
            runtime = await createRuntime(options);
          }
          isAsked = await answer(await runtime.session("s"), (at) => yes[at] === true);
        }
        await runtime.close();
        await expectShownIsRun(log, ran);
      }),
      runs(25),
    );
  },
);

async function expectShownIsRun(log: EventLog, ran: readonly Ran[]): Promise<void> {
  const events = await storedEvents(log, "s");
  const { initial, fold } = uiMessages({ session: "s" });
  const { messages } = readUIMessages(events.reduce(fold, initial));
  const parts = messages.flatMap(({ message }) => message.parts);
  let step = 0;
  const calls = new Map<string, Ran>();
  const recorded: string[] = [];
  const unseen: unknown[] = [];
  const starts: unknown[] = [];
  const outputs: unknown[] = [];
  const expected: unknown[] = [];
  for (const { type, data } of events) {
    if (type === "step.started") ({ step } = data);
    if (type === "part.tool-call") {
      const { toolCallId, toolName: name, input } = data;
      recorded.push(`${step} ${toolCallId}`);
      calls.set(`${step} ${toolCallId}`, { toolCallId, name, input });
      if (!parts.some((part) => isDeepStrictEqual(callIn(part), { toolCallId, input })))
        unseen.push(data);
    }
    if (type === "tool.started") starts.push(calls.get(`${step} ${data.callId}`));
    if (type === "tool.succeeded") {
      const { name, input } = calls.get(`${step} ${data.callId}`) ?? {};
      outputs.push(data.output);
      expected.push(name === "client" ? input : inputSchema.parse(input).number);
    }
  }
  expect(new Set(recorded).size).toBe(recorded.length);
  // The page has a part for each call, with its input.
  expect(unseen).toEqual([]);
  expect(ran).toEqual(starts);
  expect(outputs).toEqual(expected);
  const { approvals } = await viewSession(log, "s");
  const asked = approvals.map(({ step: of, callId }) => calls.get(`${of} ${callId}`)?.input);
  expect(approvals.map(({ input }) => input)).toEqual(asked);
  expect((await verifySession(log, "s")).problems).toEqual([]);
}

function callIn(part: object): unknown {
  return "toolCallId" in part && "input" in part
    ? { toolCallId: part.toolCallId, input: part.input }
    : undefined;
}
