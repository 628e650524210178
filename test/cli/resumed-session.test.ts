/** What a person is told who comes back to a session. */
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openIssues } from "../../src/cli/chat/host/resumed-session.ts";
import { openMemoryLog } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime } from "../../src/runtime/index.ts";

const call = { type: "tool-call", toolCallId: "c1", toolName: "hang", input: {} } as const;

describe("coming back to a session", () => {
  it("says that a turn was cut off, that a call's outcome is unknown, and what still waits", async () => {
    await using log = await openMemoryLog();
    const hang = tool({
      inputSchema: z.object({}),
      execute: () => new Promise<string>(() => {}),
    });
    const agent = { model: scriptedModel([{ parts: [call] }]), tools: { hang } };
    // Its process dies here: nothing of it is ever heard again.
    const dead = await createRuntime({ log, agent });
    const before = await dead.session("one");
    await before.send("go");
    for await (const { type } of before.events()) if (type === "tool.started") break;
    await before.send("and then");
    await using runtime = await createRuntime({ log, agent });
    const session = await runtime.session("one");
    await session.idle();
    expect(openIssues(await session.view())).toEqual([
      expect.stringMatching(
        /^The process died during the last turn\. .* send a message to continue\.$/,
      ),
      expect.stringMatching(/^1 call had started and has an unknown outcome/),
      "1 message still waiting; your next message delivers them too.",
    ]);
  });

  it("says which call waits for the client that runs it", async () => {
    const hang = tool({ inputSchema: z.object({}), outputSchema: z.string() });
    const agent = { model: scriptedModel([{ parts: [call] }]), tools: { hang } };
    await using runtime = await createRuntime({ memory: true, agent });
    const session = await runtime.session("one");
    await session.send("go");
    expect(openIssues(await session.atRest())).toEqual([
      'The call of hang waits for the client that runs it: its program answers with session.answerCall("one~1~1~c1", …). Esc in a conversation cancels the turn instead.',
    ]);
  });

  it("says nothing of a session that ended as it should", async () => {
    const agent = { model: scriptedModel(["fine"]) };
    await using runtime = await createRuntime({ memory: true, agent });
    const session = await runtime.session("one");
    await (
      await session.send("go")
    ).result;
    expect(openIssues(await session.view())).toEqual([]);
  });
});
