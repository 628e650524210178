/** The inbox over all sessions: what waits for people and clients, and for how long. */

import { tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, openMemoryLog, type Runtime } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { TurnlogError } from "../../src/events/index.ts";
import { call, calling } from "../support/script.ts";

const pay = tool({ inputSchema: z.object({}), execute: () => 1 });
const locate = tool({ inputSchema: z.object({}), outputSchema: z.string() });

async function asking(
  more: object = {},
): Promise<{ runtime: Runtime; pass: (ms: number) => void }> {
  let now = 1000;
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === "tool" ? "Done." : calling(call("pay", "1"), call("locate", "2")),
  );
  const runtime = await createRuntime({
    log: await openMemoryLog(),
    agent: { model, tools: { pay, locate }, toolApproval: { pay: "user-approval" } },
    testing: { clock: () => now },
    ...more,
  });
  return {
    runtime,
    pass: (milliseconds) => {
      now += milliseconds;
    },
  };
}

it("has every question of every session that waits, oldest first, with its age", async () => {
  const { runtime, pass } = await asking();
  await using _ = runtime;
  await runtime.session("quiet");
  for (const userId of ["b", "a"]) {
    const session = await runtime.session(userId, { metadata: { userId } });
    await session.send("Pay.");
    await session.atRest();
    pass(500);
  }
  const found = await runtime.approvals();
  expect(found.map(({ session, kind, ageMs }) => [session, kind, ageMs])).toEqual([
    ["b", "approval", 1000],
    ["b", "output", 1000],
    ["a", "approval", 500],
    ["a", "output", 500],
  ]);
  expect(found[0]).toMatchObject({ metadata: { userId: "b" }, approval: { toolName: "pay" } });
  const mine = await runtime.approvals({ where: { userId: "a" } });
  expect(mine.map(({ session }) => session)).toEqual(["a", "a"]);

  const session = await runtime.session("a");
  for (const one of mine) {
    if (one.kind === "approval") await session.approve(one.approval.approvalId);
    if (one.kind === "output") await session.answerCall(one.request.requestId, { output: "here" });
  }
  await session.idle();
  expect((await runtime.approvals()).map((one) => one.session)).toEqual(["b", "b"]);
});

it("shows what waits beside a call that still runs", async () => {
  const hold = Promise.withResolvers<number>();
  const slow = tool({ inputSchema: z.object({}), execute: () => hold.promise });
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === "tool" ? "Done." : calling(call("slow", "1"), call("pay", "2")),
  );
  const agent = { model, tools: { pay, slow }, toolApproval: { pay: "user-approval" } } as const;
  const { runtime } = await asking({ agent });
  await using _ = runtime;
  const session = await runtime.session("s");
  await session.send("Pay.");
  for await (const { type } of session.events()) if (type === "tool.approval-requested") break;
  expect(await runtime.approvals()).toMatchObject([{ session: "s", kind: "approval" }]);
  hold.resolve(1);
  await session.cancel();
  expect(await runtime.approvals()).toEqual([]);
});

it("leaves out a session that cannot be read, and says so", async () => {
  const log = await openMemoryLog();
  const warnings: TurnlogError[] = [];
  const broken = wrapLog(log, {
    read: (id, range) => {
      if (id === "bad" && isBroken)
        throw new TurnlogError("LOG_DAMAGED", "Damaged.", { session: id });
      return log.read(id, range);
    },
  });
  let isBroken = false;
  const onWarning = (error: TurnlogError): void => {
    warnings.push(error);
  };
  const { runtime } = await asking({ log: broken, onWarning });
  await using _ = runtime;
  for (const id of ["bad", "good"]) {
    const session = await runtime.session(id);
    await session.send("Pay.");
    await session.atRest();
  }
  await Array.fromAsync(runtime.sessions());
  isBroken = true;
  const found = await runtime.approvals();
  expect(new Set(found.map(({ session }) => session))).toEqual(new Set(["good"]));
  expect(warnings).toMatchObject([{ code: "LOG_DAMAGED", session: "bad" }]);
});
