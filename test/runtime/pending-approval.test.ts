/** A call that waits for a person: the runtime may be closed meanwhile, and nothing is lost by it. */

import { tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, openMemoryLog } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { allow } from "../support/answering.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";

it("waits on over a restart, tells those who wait here, and runs when it is approved", async () => {
  const log = await openMemoryLog();
  const ran: string[] = [];
  const deploy = tool({
    inputSchema: z.object({}),
    // oxlint-disable-next-line typescript/no-deprecated
    needsApproval: true,
    execute: () => {
      ran.push("deploy");
      return "deployed";
    },
  });
  const tools = { deploy };
  const first = await createRuntime({
    log,
    agent: { model: scriptedModel([calling(call("deploy", "1"))]), tools },
  });
  const session = await first.session("release");
  const turn = await session.send("Ship it.");
  const failure = turn.result.catch((error: unknown) => error);
  await seen(session, "tool.approval-requested");
  await first.close();
  expect(await failure).toMatchObject({ code: "RUNTIME_CLOSED" });
  expect(ran).toEqual([]);

  await using second = await createRuntime({
    log,
    agent: { model: scriptedModel(["Shipped."]), tools },
  });
  const resumed = await second.session("release");
  await allow(resumed, "1");
  await resumed.idle();
  expect(ran).toEqual(["deploy"]);
  expect((await resumed.view()).summary.lastEnd).toBe("stop");
});
