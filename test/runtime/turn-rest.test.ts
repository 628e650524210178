/** When a message's turn starts, and its state when nothing continues by itself. */

import { spawnSync } from "node:child_process";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { openSession, reopen } from "../support/with-runtime.ts";

const pay = tool({ inputSchema: z.object({}), execute: () => "paid" });
const toolApproval = () => "user-approval" as const;

describe("`turn.started`", () => {
  it("resolves with the position of the delivery, and with it again later and after a restart", async () => {
    const hold = gate();
    const model = scriptedModel([saying("One ", hold, "moment."), "Two."]);
    await using open = await openSession({ model });
    const first = await open.session.send("Go.");
    const second = await open.session.send("More.", { id: "second" });
    const steps: string[] = [];
    const waiting = second.started.then((start) => {
      steps.push("started");
      return start;
    });
    await hold.reached;
    expect((await first.started).turn).toBe(1);
    steps.push("open");
    hold.open();
    const start = await waiting;
    expect(steps).toEqual(["open", "started"]);
    const delivered = (await open.events()).filter(({ type }) => type === "message.delivered");
    expect(start).toEqual({ position: delivered[1]?.position, turn: 2 });
    expect(second.queuePosition).toBeLessThan(start.position);
    await second.result;
    await using again = await reopen(open, { model });
    expect(await (await again.session.turn("second")).started).toEqual(start);
  });

  it("rejects for a message that is withdrawn", async () => {
    const hold = gate();
    await using open = await openSession({ model: scriptedModel([saying("One ", hold, "two.")]) });
    await open.session.send("Go.");
    await hold.reached;
    const turn = await open.session.send("More.");
    const started = turn.started;
    await open.session.withdraw(turn.messageId);
    await expect(started).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    await expect(turn.untilRest()).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    hold.open();
  });
});

describe("`turn.untilRest`", () => {
  it("resolves with the calls that wait for approval, and then with the end", async () => {
    const model = scriptedModel([calling(call("pay", "c", {})), "Paid.", "Next."]);
    await using open = await openSession({ model, tools: { pay }, toolApproval });
    const turn = await open.session.send("Pay.");
    const behind = await open.session.send("And then?");
    const { approvals } = await open.session.atRest();
    const [approval] = approvals;
    expect(approval).toMatchObject({ callId: "c", toolName: "pay" });
    expect(await turn.untilRest()).toMatchObject({ kind: "waiting", approvals });
    expect(await behind.untilRest()).toMatchObject({ kind: "waiting", approvals });
    await using again = await reopen(open, { model, tools: { pay }, toolApproval });
    const same = await again.session.turn(turn.messageId);
    expect(await same.untilRest()).toMatchObject({ kind: "waiting", approvals });
    await again.session.approve(approval?.approvalId ?? "");
    expect(await same.untilRest()).toMatchObject({
      kind: "ended",
      result: { text: "Paid.", finishReason: "stop" },
    });
    const after = await again.session.turn(behind.messageId);
    expect(await after.untilRest()).toMatchObject({ kind: "ended", result: { text: "Next." } });
  });

  it("says that a message is held behind a turn that was cancelled", async () => {
    const hold = gate();
    const model = scriptedModel([saying("One ", hold, "two."), "More it is."]);
    await using open = await openSession({ model });
    const first = await open.session.send("Go.");
    await hold.reached;
    const held = await open.session.send("More.");
    await open.session.cancel();
    expect(await first.untilRest()).toMatchObject({
      kind: "ended",
      result: { finishReason: "cancelled" },
    });
    expect(await held.untilRest()).toEqual({ kind: "held" });
    await open.session.resume();
    expect(await held.untilRest()).toMatchObject({ kind: "ended" });
  });

  it("throws what `result` throws", async () => {
    const model = scriptedModel([{ failure: new Error("No.") }]);
    await using open = await openSession({ model, maxRetries: 0 });
    const turn = await open.session.send("Go.");
    await expect(turn.untilRest()).rejects.toMatchObject({ code: "TURN_FAILED" });
  });
});

it("a promise of a turn without a handler ends no process", () => {
  const program = `
    import { createRuntime } from "./src/public/index.ts";
    import { scriptedModel } from "./src/public/testing.ts";
    const model = scriptedModel([{ failure: new Error("No.") }]);
    const runtime = await createRuntime({ memory: true, agent: { model, maxRetries: 0 } });
    const session = await runtime.session("s");
    const turn = await session.send("Go.");
    const { result, started } = turn;
    turn.untilRest();
    await session.idle();
    const waiting = await session.send("Again.");
    waiting.result; waiting.started; waiting.untilRest();
    await runtime.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const told = await result.catch((error) => error.code);
    console.log(told, typeof started);
  `;
  const child = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", program], {
    encoding: "utf8",
  });
  expect(child.stderr).not.toContain("Error");
  expect(child.stdout).toBe("TURN_FAILED object\n");
  expect(child.status).toBe(0);
});
