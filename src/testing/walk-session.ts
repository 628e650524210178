/** Takes a path through the session machine with a real agent and a scripted model. */

import { APICallError } from "@ai-sdk/provider";
import { createRuntime, type Session } from "../runtime/index.ts";
import { verifySession } from "../archive/verify/index.ts";
import type { Agent } from "../agent/index.ts";
import type { SessionEvent } from "../events/index.ts";
import { check, milliseconds, optionsOf } from "../validation/index.ts";
import { structuralTypes } from "../machines/index.ts";
import { scriptedModel, type ScriptedStep } from "../models/index.ts";
import { promptProblems } from "../projections/index.ts";
import { walkCallId, type WalkMove, type WalkPath } from "./session-walk.ts";

export interface WalkSessionOptions {
  /** Milliseconds to wait for an event that must happen. Default: 2,000. */
  readonly patienceMs?: number;
}

const schema = optionsOf<WalkSessionOptions>({ patienceMs: milliseconds }, {});

const structural: ReadonlySet<string> = new Set(structuralTypes);

/**
 * Walks one path in memory and describes in words where the session differs from the machine, breaks a
 * law, or would send a prompt that providers refuse. Empty if everything is right.
 * @param agent - Its model is not called. Exactly the calls with `asks` must need approval.
 * @example
 * const [path] = sessionPaths({ messages: 1 });
 * if (path !== undefined) expect(await walkSession(path, agent)).toEqual([]);
 */
export async function walkSession(
  path: WalkPath,
  agent: Agent,
  options: WalkSessionOptions = {},
): Promise<readonly string[]> {
  check(schema, options, "walkSession", { name: "options" });
  const { patienceMs = 2000 } = options;
  let reply: (step: ScriptedStep) => void = () => {};
  const model = scriptedModel(async () => {
    const given = Promise.withResolvers<ScriptedStep>();
    reply = given.resolve;
    return await given.promise;
  });
  await using runtime = await createRuntime({ memory: true, agent: { ...agent, model } });
  const session = await runtime.session("walk");
  const seen = follow(session);
  try {
    let replies = 0;
    for (const { move, after } of path) {
      if (isReply(move)) {
        replies += 1;
        reply(replyOf(move, replies));
      } else await act(session, move, walkCallId(replies));
      const found = await seen.first(after.types.length, patienceMs);
      const wrong = difference(after.types, found);
      if (wrong !== undefined) return [`after ${namesOf(path, move)}: ${wrong}`];
      const calls = after.types.filter((type) => type === "step.started").length;
      if (after.machine.matches({ streaming: "calling" }))
        await called(model.calls, calls, patienceMs);
    }
    const { problems } = await verifySession(runtime.log, session.id);
    return [
      ...problems.map(({ position, rule, what }) => `${position} ${rule}: ${what}`),
      ...promptProblems((await session.view()).prompt)
        .filter(({ rule }) => rule !== "ends-with-input")
        .map(({ message, rule, what }) => `message ${message} ${rule}: ${what}`),
    ];
  } finally {
    seen.stop();
  }
}

function isReply({ type }: WalkMove): boolean {
  return type === "answer" || type === "call" || type === "refuse";
}

function replyOf(move: WalkMove, replies: number): ScriptedStep {
  if (move.type === "refuse") {
    return {
      failure: new APICallError({
        message: "Refused on a walk.",
        url: "https://walk.invalid",
        requestBodyValues: {},
        // No fault of the conversation, which would be sent again with less.
        statusCode: 401,
        isRetryable: false,
      }),
    };
  }
  if (move.type !== "call") return `Reply ${replies}.`;
  const { toolName, input } = move.call;
  return { parts: [{ type: "tool-call", toolCallId: walkCallId(replies), toolName, input }] };
}

async function act(session: Session, { type }: WalkMove, callId: string): Promise<void> {
  if (type === "send") {
    const turn = await session.send("Go on.");
    // The log shows how it ends.
    turn.result.catch(() => undefined);
  } else if (type === "cancel") await session.cancel();
  else if (type === "approve" || type === "deny") {
    const { approvals } = await session.view();
    const asked = approvals.findLast((one) => one.callId === callId);
    // Without a question, the walk reports the event that came instead.
    if (asked !== undefined) await session[type](asked.approvalId).catch(() => undefined);
  }
}

interface Following {
  /** The types of the first events that move the machine; fewer if no more come. */
  first(count: number, patienceMs: number): Promise<readonly string[]>;
  stop(): void;
}

function follow(session: Session): Following {
  const stop = new AbortController();
  const types: string[] = [];
  let more = Promise.withResolvers<void>();
  const read = async (): Promise<void> => {
    for await (const event of session.events({ signal: stop.signal })) {
      if (isHeard(event)) types.push(event.type);
      more.resolve();
      more = Promise.withResolvers();
    }
  };
  // Ends with the walk.
  read().catch(() => undefined);
  return {
    async first(count, patienceMs) {
      while (types.length < count && (await inTime(more.promise, patienceMs)));
      return types;
    },
    stop: () => {
      stop.abort();
    },
  };
}

function isHeard({ type }: SessionEvent): boolean {
  return structural.has(type);
}

async function inTime(promise: Promise<void>, patienceMs: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => {
    late.resolve(false);
  }, patienceMs);
  try {
    return await Promise.race([promise.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The model is called once its step is durable. */
async function called(calls: readonly unknown[], count: number, patienceMs: number): Promise<void> {
  const until = performance.now() + patienceMs;
  while (calls.length < count && performance.now() < until) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The first event that differs. Whether a tool succeeds does not count. */
function difference(expected: readonly string[], found: readonly string[]): string | undefined {
  const length = Math.max(expected.length, found.length);
  for (let index = 0; index < length; index++) {
    const [due, came] = [expected[index], found[index]];
    if (due === came || (due === "tool.succeeded" && came === "tool.failed")) continue;
    return `${came ?? "nothing"} came where ${due ?? "nothing"} was due`;
  }
  return undefined;
}

function namesOf(path: WalkPath, last: WalkMove): string {
  const upTo = path.findIndex(({ move }) => move === last) + 1;
  return path
    .slice(0, upTo)
    .map(({ move }) => (move.type === "call" ? `call ${move.call.toolName}` : move.type))
    .join(", ");
}
