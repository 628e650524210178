/** An agent uses another one as its MCP server: what the inner one asks waits in the outer one's inbox. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { createRuntime } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/public/testing.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const agent = fileURLToPath(new URL("inner-agent.mjs", import.meta.url));

it("asks the outer session's person, and pays once", async () => {
  await using folder = await temporaryFolder({});
  const input = { message: "Pay, please." };
  const call = { type: "tool-call", toolCallId: "a", toolName: "pay__cashier", input } as const;
  const model = scriptedModel([{ parts: [call] }, "It is paid."]);
  await using runtime = await createRuntime({
    memory: true,
    agent: { model },
    mcp: {
      pay: {
        command: process.execPath,
        args: [main, "--dir", join(folder.path, "store"), "mcp-server", "--agent", agent],
        env: { PAYMENTS: folder.path },
      },
    },
  });
  const session = await runtime.session();
  const turn = await session.send("Pay for me.");
  await turn.untilRest();
  const [asked] = await runtime.approvals();
  assert(asked?.kind === "approval");
  const message = 'Allow pay?\n{\n  "euros": 9\n}';
  expect(asked.approval.question).toMatchObject({ kind: "form", message });
  await session.approve(asked.approval.approvalId, { content: {} });
  expect((await turn.result).text).toBe("It is paid.");
  const { prompt } = await session.view();
  expect(JSON.stringify(prompt.messages)).toContain("Paid 9 euros.");
  expect(await readFile(join(folder.path, "payments"), "utf8")).toBe("9;");
});
