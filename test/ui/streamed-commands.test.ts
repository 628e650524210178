/**
 * Law 13 under commands drawn by lot, on a runtime: what a page streams, live, late or from a position, are
 * the chunks of the log, and they make the messages of the fold. In any protocol, a reader that resumes behind a
 * position has what it would have had without a break.
 */

import { tool } from "ai";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  streamEvents,
  uiStream,
  type EventEncoder,
  type Session,
} from "../../src/public/index.ts";
import { TurnlogError, type SessionEvent } from "../../src/events/index.ts";
import { uiEncoder, uiMessageChunks, type SessionChunk } from "../../src/ui/index.ts";
import { improvisedModel } from "../support/improvised-model.ts";
import { patience, runs } from "../support/runs.ts";
import { expectLaw } from "./law-13.ts";
import { eventually } from "../support/eventually.ts";

vi.setConfig({ testTimeout: patience });

const inputSchema = z.object({ key: z.string() });
const tools = {
  note: tool({ inputSchema, execute: ({ key }) => `noted ${key}` }),
  pay: tool({ inputSchema, execute: ({ key }) => `paid ${key}` }),
  ask: tool({ inputSchema, outputSchema: z.string() }),
};

const commands = [
  "send",
  "send",
  "steer",
  "cancel",
  "approve",
  "deny",
  "answer",
  "answer",
  "rest",
  "regenerate",
  "edit",
] as const;
type Command = (typeof commands)[number];

/** Obeys where it can: a command that the session refuses was drawn at the wrong moment. */
async function act(session: Session, command: Command, id: string): Promise<void> {
  const view = await session.view();
  const asked = view.approvals.find(({ status }) => status === "waiting")?.approvalId ?? "";
  switch (command) {
    case "send":
    case "steer":
      await session.send(id, { id, delivery: command === "send" ? "follow-up" : "steer" });
      return;
    case "cancel":
      await session.cancel();
      return;
    case "approve":
      await session.approve(asked, { reason: id });
      return;
    case "deny":
      await session.deny(asked);
      return;
    case "answer": {
      const request = view.outputRequests.find(({ status }) => status === "waiting");
      await session.answerCall(request?.requestId ?? "", { output: id });
      return;
    }
    case "rest":
      await session.atRest();
      return;
    case "regenerate":
      await session.regenerate();
      return;
    case "edit": {
      const replaces = view.history.findLast(({ kind }) => kind === "user");
      if (replaces?.kind === "user") await session.send(id, { id, replaces: replaces.id });
    }
  }
}

/** The chunks of each turn, by its number. */
function byTurn(chunks: readonly SessionChunk[]): ReadonlyMap<number, readonly SessionChunk[]> {
  const turns = new Map<number, SessionChunk[]>();
  let turn: SessionChunk[] = [];
  for (const chunk of chunks) {
    if (chunk.type === "start") turns.set(chunk.messageMetadata?.turn ?? 0, (turn = []));
    turn.push(chunk);
  }
  return turns;
}

/** Sends each event, with its place in its turn, which only the events before it tell. */
const placed: EventEncoder<number, string> = {
  initial: () => 0,
  encode: (place, { type, position }) => ({
    state: type === "turn.ended" ? 0 : place + 1,
    chunks: [`${type} ${position}`, ...(place % 3 === 0 ? [`place ${place}`] : [])],
  }),
  repeats: (chunk) => chunk.startsWith("turn.started"),
};

/** What a reader has that breaks off behind a position and resumes is what another one has. */
async function expectResumes<State, Chunk>(
  session: Session,
  after: number,
  encoder: EventEncoder<State, Chunk>,
): Promise<void> {
  const read = async (place: Parameters<typeof streamEvents>[1]) => {
    const items = await Array.fromAsync(streamEvents(session, place, encoder));
    return items.flatMap(({ position, chunks }) => chunks.map((chunk) => ({ position, chunk })));
  };
  type One = Awaited<ReturnType<typeof read>>[number];
  const isLater = ({ position }: One): boolean => position > after;
  for (const place of [{ from: 1 }, {}]) {
    const whole = await read(place);
    const isRepeated = ({ chunk }: One): boolean => encoder.repeats?.(chunk) === true;
    const resumed = await read({ ...place, after });
    expect(resumed).toEqual(whole.filter((one) => isLater(one) || isRepeated(one)));
  }
  // A reader of all turns resumes without reading the earlier ones.
  const all = await read({ from: 1 });
  const next = await read({ from: after + 1, after });
  expect(next.filter(isLater)).toEqual(all.filter(isLater));
  expect(next.length - next.filter(isLater).length).toBeLessThanOrEqual(1);
}

async function follow(session: Session, chunks: SessionChunk[]): Promise<void> {
  for await (const chunk of uiStream(session, { from: 1, untilRest: false })) chunks.push(chunk);
}

async function expectStreams(drawn: readonly Command[], cut: number): Promise<void> {
  const live: SessionChunk[] = [];
  const runtime = await createRuntime({
    memory: true,
    agent: {
      model: improvisedModel({ tools: ["note", "pay", "ask"] }),
      tools,
      toolApproval: { pay: "user-approval" },
    },
  });
  const session = await runtime.session("s");
  const following = follow(session, live);
  following.catch(() => {});
  for (const [index, command] of drawn.entries()) {
    await act(session, command, `m${index}`).catch((error: unknown) => {
      if (!TurnlogError.isInstance(error)) throw error;
    });
  }
  await session.atRest();
  const events: SessionEvent[] = await Array.fromAsync(runtime.log.read("s"));
  const all = await Array.fromAsync(uiMessageChunks(events, { session: "s" }));
  for (const [turn, chunks] of byTurn(all)) {
    expect(await Array.fromAsync(uiStream(session, { turn }))).toEqual(chunks);
    const after = Math.floor(events.length * cut);
    const tail = await Array.fromAsync(uiStream(session, { turn, after }));
    expect(tail.slice(0, 1)).toEqual(chunks.slice(0, 1));
    expect(tail.slice(1)).toEqual(tail.length === 1 ? [] : chunks.slice(1 - tail.length));
  }
  const position = Math.floor(events.length * cut);
  await expectResumes(session, position, placed);
  await expectResumes(session, position, uiEncoder({ session: "s" }));
  await eventually(() => {
    expect(live.length).toBe(all.length);
  });
  expect(live).toEqual(all);
  await expectLaw(events);
  await runtime.close();
  await expect(following).rejects.toMatchObject({ code: "RUNTIME_CLOSED" });
}

describe("what a page streams", () => {
  it("are the chunks of the log, whatever is commanded when", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...commands), { minLength: 1, maxLength: 12 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        expectStreams,
      ),
      { ...runs(25), endOnFailure: true },
    );
  });
});
