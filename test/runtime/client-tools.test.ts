/** Calls of tools without `execute`: a client runs them, and the session waits for their outputs. */

import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, openMemoryLog, type Session } from "../../src/public/index.ts";
import { scriptedModel, type ScriptedModel } from "../../src/models/index.ts";
import { replay } from "../../src/replay/index.ts";
import { allow } from "../support/answering.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { openSession } from "../support/with-runtime.ts";

const city = z.object({ city: z.string() });
const locate = tool({ inputSchema: z.object({}), outputSchema: city });

function asking(...ids: readonly string[]): ScriptedModel {
  return scriptedModel([calling(...ids.map((id) => call("locate", id))), "You are there."]);
}

/** The results of the calls in the model's last prompt. */
function told(model: ScriptedModel): string {
  return JSON.stringify(model.calls.at(-1)?.prompt.filter(({ role }) => role === "tool"));
}

async function waiting(session: Session): Promise<readonly string[]> {
  const { outputRequests } = await session.atRest();
  return outputRequests.flatMap(({ status, requestId }) =>
    status === "waiting" ? [requestId] : [],
  );
}

describe("a call of a tool without execute", () => {
  it("waits for its output, which the model then gets, and says so meanwhile", async () => {
    const model = asking("1");
    await using open = await openSession({ model, tools: { locate } });
    const { session } = open;
    const turn = await session.send("Where am I?");
    expect(await turn.untilRest()).toMatchObject({
      kind: "waiting",
      approvals: [],
      outputRequests: [{ requestId: "s~1~1~1", callId: "1", toolName: "locate", input: {} }],
    });
    const { toolCalls, state, summary } = await session.atRest();
    expect(toolCalls).toMatchObject([{ callId: "1", status: "awaiting-output" }]);
    expect([state.value, summary.status]).toEqual(["tools", "awaiting-output"]);
    const answer = await session.answerCall("s~1~1~1", { output: { city: "Ulm" } });
    expect(answer).toMatchObject({ status: "recorded", request: { status: "answered" } });
    expect(await turn.result).toMatchObject({ finishReason: "stop", text: "You are there." });
    expect(told(model)).toContain('{"type":"json","value":{"city":"Ulm"}}');
    expect((await open.types()).filter((type) => type.startsWith("tool."))).toEqual([
      "tool.output-requested",
      "tool.succeeded",
    ]);
  });

  it("takes an error instead, which the model gets", async () => {
    const model = asking("1");
    await using open = await openSession({ model, tools: { locate } });
    const turn = await open.session.send("Where am I?");
    const [id = ""] = await waiting(open.session);
    await open.session.answerCall(id, { error: "The user refuses to say." });
    expect(await turn.result).toMatchObject({ finishReason: "stop" });
    expect(told(model)).toContain('{"type":"error-text","value":"The user refuses to say."}');
  });

  it("refuses an output that its schema does not accept, and still waits", async () => {
    await using open = await openSession({ model: asking("1"), tools: { locate } });
    const { session } = open;
    const turn = await session.send("Where am I?");
    const [id = ""] = await waiting(session);
    await expect(session.answerCall(id, { output: { town: "Ulm" } })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      details: { toolName: "locate" },
    });
    const both = { output: 1, error: "" };
    // @ts-expect-error An answer is an output or an error.
    await expect(session.answerCall(id, both)).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    expect(await waiting(session)).toEqual([id]);
    await session.answerCall(id, { output: { city: "Ulm" } });
    await turn.result;
  });

  it("shows the model its output as toModelOutput makes it", async () => {
    const model = asking("1");
    const shown = tool({
      inputSchema: z.object({}),
      outputSchema: z.object({ at: z.coerce.date() }),
      toModelOutput: ({ output: { at } }) => ({ type: "text", value: `in ${at.getFullYear()}` }),
    });
    await using open = await openSession({ model, tools: { locate: shown } });
    const turn = await open.session.send("When?");
    await open.session.answerCall((await waiting(open.session))[0] ?? "", {
      output: { at: "2020-02-02T00:00:00Z" },
    });
    await turn.result;
    expect(told(model)).toContain('{"type":"text","value":"in 2020"}');
  });

  it("takes the same answer again as a no-op and refuses another, also when it has ended", async () => {
    await using open = await openSession({ model: asking("1"), tools: { locate } });
    const { session } = open;
    const turn = await session.send("Where am I?");
    const [id = ""] = await waiting(session);
    await session.answerCall(id, { output: { city: "Ulm" } });
    await turn.result;
    const { position } = await session.view();
    expect(await session.answerCall(id, { output: { city: "Ulm" } })).toMatchObject({
      status: "already-answered",
    });
    for (const other of [{ output: { city: "Bonn" } }, { error: "No." }])
      await expect(session.answerCall(id, other)).rejects.toMatchObject({ code: "CALL_ANSWERED" });
    expect((await session.view()).position).toBe(position);
  });

  it("records who answered, and the list of sessions says that one is awaited", async () => {
    const agent = { model: asking("1", "2"), tools: { locate } };
    await using open = await openSession(agent);
    const { session } = open;
    const turn = await session.send("Where am I?");
    const [one = "", two = ""] = await waiting(session);
    const status = async (): Promise<readonly string[]> =>
      (await Array.fromAsync(open.runtime.sessions())).map((listed) => listed.status);
    expect(await status()).toEqual(["awaiting-output"]);
    const answered = await session.answerCall(one, { output: { city: "Ulm" }, by: "ann" });
    expect(answered.request.answered).toMatchObject({ by: "ann" });
    expect(await status()).toEqual(["awaiting-output"]);
    await expect(session.answerCall(one, { error: "No.", by: "bob" })).rejects.toThrow(" of ann ");
    await session.answerCall(two, { error: "Lost.", by: "bob" });
    await turn.result;
    expect(await status()).toEqual(["idle"]);
    const { history } = await session.view();
    const names = history.flatMap((item) =>
      item.kind === "step"
        ? item.parts.flatMap((part) =>
            part.kind === "call" ? [part.outputRequest?.settled?.by] : [],
          )
        : [],
    );
    expect(names).toEqual(["ann", "bob"]);
    const events = await open.events();
    expect(await replay(events, agent)).toEqual({
      events: events.length,
      parts: expect.anything() as unknown,
    });
    for (const answer of [{ output: 1, by: "" }, { output: 1, error: "No." }, { by: "ann" }])
      // @ts-expect-error What is wrong here is wrong at run time too.
      await expect(session.answerCall(one, answer)).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
  });

  it("is found by its call id while no other call has that id", async () => {
    const model = scriptedModel([
      calling(call("locate", "same")),
      calling(call("locate", "same")),
      "You are there.",
    ]);
    await using open = await openSession({ model, tools: { locate } });
    const { session } = open;
    const turn = await session.send("Where am I, twice?");
    await waiting(session);
    await session.answerCall("same", { output: { city: "Ulm" } });
    expect(await waiting(session)).toEqual(["s~1~2~same"]);
    const again = session.answerCall("same", { output: { city: "Ulm" } });
    await expect(again).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    await expect(again).rejects.toThrow("s~1~2~same");
    await session.answerCall("s~1~2~same", { output: { city: "Bonn" } });
    await turn.result;
    expect(told(model)).toContain("Bonn");
  });

  it("waits for approval first, if its tool needs one", async () => {
    // oxlint-disable-next-line typescript/no-deprecated
    const guarded = tool({ ...locate, needsApproval: true });
    await using open = await openSession({ model: asking("1"), tools: { locate: guarded } });
    const { session } = open;
    const turn = await session.send("Where am I?");
    await session.atRest();
    expect(await waiting(session)).toEqual([]);
    await allow(session, "1");
    await session.answerCall((await waiting(session))[0] ?? "", { output: { city: "Ulm" } });
    await turn.result;
    expect((await open.types()).filter((type) => type.startsWith("tool."))).toEqual([
      "tool.approval-requested",
      "tool.approval-answered",
      "tool.output-requested",
      "tool.succeeded",
    ]);
  });

  it("waits beside calls that run here, and all of them answer the step", async () => {
    const here = tool({ inputSchema: z.object({}), execute: () => "here" });
    const model = scriptedModel([calling(call("locate", "1"), call("here", "2")), "Done."]);
    await using open = await openSession({ model, tools: { locate, here } });
    const turn = await open.session.send("Both.");
    await open.session.answerCall((await waiting(open.session))[0] ?? "", {
      output: { city: "Ulm" },
    });
    await turn.result;
    expect(told(model)).toMatch(/Ulm.*here/);
  });

  it("is skipped when its turn is cancelled or out of time, and the model reads that no answer came", async () => {
    const model = scriptedModel([calling(call("locate", "1")), "Good."]);
    await using open = await openSession({ model, tools: { locate } });
    const { session } = open;
    await session.send("Where am I?");
    const [id = ""] = await waiting(session);
    expect(await session.cancel()).toMatchObject({ was: "tools", ended: "cancelled" });
    await expect(session.answerCall(id, { output: { city: "Ulm" } })).rejects.toMatchObject({
      code: "COMMAND_REFUSED",
    });
    await (
      await session.send("Never mind.")
    ).result;
    expect(told(model)).toContain("before the client answered this call");
    expect((await session.view()).outputRequests).toMatchObject([{ status: "lapsed" }]);
  });

  it("keeps messages waiting: a steered one comes with its output", async () => {
    const model = asking("1");
    await using open = await openSession({ model, tools: { locate } });
    const { session } = open;
    const turn = await session.send("Where am I?");
    const [id = ""] = await waiting(session);
    await session.send("In German, please.", { delivery: "steer" });
    await session.answerCall(id, { output: { city: "Ulm" } });
    await turn.result;
    expect(JSON.stringify(model.calls[1]?.prompt)).toMatch(/Ulm.*In German/);
    expect(model.calls).toHaveLength(2);
  });

  it("is answered after a restart, by another process, whatever its recovery is", async () => {
    for (const recovery of ["stop", "continue"] as const) {
      const log = await openMemoryLog();
      const agent = { model: asking("1"), tools: { locate } };
      const first = await createRuntime({ log, agent });
      const before = await first.session("s");
      (await before.send("Where am I?")).result.catch(() => {});
      const [id = ""] = await waiting(before);
      await first.close();
      const model = scriptedModel(["You are there."]);
      await using second = await createRuntime({ log, recovery, agent: { ...agent, model } });
      const session = await second.session("s");
      expect(await waiting(session)).toEqual([id]);
      await session.answerCall(id, { output: { city: "Ulm" } });
      await session.idle();
      expect((await session.view()).summary.lastEnd).toBe("stop");
      expect(told(model)).toContain("Ulm");
    }
  });

  it("waits in a fork under a new id, and an answer in one does not count in the other", async () => {
    const tools: ToolSet = { locate };
    const model = scriptedModel([calling(call("locate", "1")), "There.", "There."]);
    await using open = await openSession({ model, tools });
    const { session } = open;
    await session.send("Where am I?");
    const [id = ""] = await waiting(session);
    const fork = await session.fork({ id: "f" });
    expect(await waiting(fork)).toEqual(["f~1~1~1"]);
    await session.answerCall(id, { output: { city: "Ulm" } });
    await session.idle();
    await expect(fork.answerCall(id, { output: { city: "Ulm" } })).rejects.toMatchObject({
      code: "COMMAND_REFUSED",
    });
    await fork.answerCall("f~1~1~1", { output: { city: "Bonn" } });
    await fork.idle();
    expect(told(model)).toContain("Bonn");
    // What was answered before a fork has one id in both.
    const later = await session.fork({ id: "g" });
    expect((await later.view()).outputRequests).toMatchObject([{ requestId: id }]);
  });

  it("stores the media of its output beside the log, as those of other tools", async () => {
    const model = asking("1");
    const photo = tool({
      inputSchema: z.object({}),
      outputSchema: z.string(),
      toModelOutput: ({ output }) => ({
        type: "content",
        value: [{ type: "file", mediaType: "image/png", data: { type: "data", data: output } }],
      }),
    });
    await using open = await openSession({ model, tools: { locate: photo } });
    const turn = await open.session.send("Show me.");
    const [id = ""] = await waiting(open.session);
    const picture = Buffer.alloc(40_000, 7).toString("base64");
    await open.session.answerCall(id, { output: `data:image/png;base64,${picture}` });
    await turn.result;
    const types = await open.types();
    expect(types.indexOf("blob.stored")).toBeLessThan(types.indexOf("tool.succeeded"));
    expect(types).toContain("blob.stored");
    expect(
      await open.session.answerCall(id, { output: `data:image/png;base64,${picture}` }),
    ).toMatchObject({
      status: "already-answered",
    });
  });

  it("comes again in a replay with its recorded answer", async () => {
    const agent = { model: asking("1", "2"), tools: { locate } };
    await using open = await openSession(agent);
    const turn = await open.session.send("Where am I?");
    const [one = "", two = ""] = await waiting(open.session);
    await open.session.answerCall(two, { output: { city: "Ulm" } });
    await open.session.answerCall(one, { error: "Lost." });
    await turn.result;
    const events = await open.events();
    expect(await replay(events, agent)).toEqual({
      events: events.length,
      parts: expect.anything() as unknown,
    });
    const execute = (): { city: string } => ({ city: "Ulm" });
    const other = { ...agent, tools: { locate: tool({ ...locate, execute }) } };
    expect(await replay(events, other)).toMatchObject({
      difference: {
        recorded: { type: "tool.output-requested" },
        replayed: { type: "tool.started" },
      },
    });
  });

  it("comes again in a replay as its schema made it, and is not asked to fit the schema again", async () => {
    const count = tool({
      inputSchema: z.object({}),
      outputSchema: z.string().transform((text) => text.length),
    });
    const agent = {
      model: scriptedModel([calling(call("count", "1")), "Four."]),
      tools: { count },
    };
    await using open = await openSession(agent);
    const turn = await open.session.send("How long?");
    const [id = ""] = await waiting(open.session);
    await open.session.answerCall(id, { output: "four" });
    await turn.result;
    const events = await open.events();
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "tool.succeeded",
        data: expect.objectContaining({ output: 4 }) as unknown,
      }),
    );
    expect(await replay(events, agent)).toEqual({
      events: events.length,
      parts: expect.anything() as unknown,
    });
  });

  it("takes each of two answers at the same moment at most once", async () => {
    await using open = await openSession({ model: asking("1"), tools: { locate } });
    const { session } = open;
    const turn = await session.send("Where am I?");
    const [id = ""] = await waiting(session);
    const answers = await Promise.allSettled([
      session.answerCall(id, { output: { city: "Ulm" } }),
      session.answerCall(id, { output: { city: "Bonn" } }),
      session.answerCall(id, { output: { city: "Ulm" } }),
    ]);
    await turn.result;
    expect(answers).toMatchObject([
      { status: "fulfilled", value: { status: "recorded" } },
      { status: "rejected", reason: { code: "CALL_ANSWERED" } },
      { status: "fulfilled", value: { status: "already-answered" } },
    ]);
    await seen(session, "tool.succeeded");
  });
});
