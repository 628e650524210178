/**
 * An agent that checks the backups by a schedule and asks before it deletes one. The first process ends while
 * a question waits and the next check is due later; the second one goes on with both. Runs offline:
 * `node examples/cron-agent.ts`.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tool } from "ai";
import { z } from "zod";
import { createRuntime, type Agent, type Session } from "turnlog";
import { scriptedModel } from "turnlog/testing";

/** In a product this is a day. */
const INTERVAL_MS = 300;

const disk = new Set(["monday.tar", "tuesday.tar", "wednesday.tar"]);

const agent: Agent = {
  instructions: "Keep the two newest backups.",
  model: scriptedModel(({ prompt }) => {
    const last = prompt.at(-1);
    if (last?.role === "tool") return `There are ${disk.size} backups now.`;
    if (disk.size <= 2) return "Nothing to delete.";
    const call = { type: "tool-call", toolCallId: "1", toolName: "deleteBackup" } as const;
    return { parts: [{ ...call, input: { name: "monday.tar" } }] };
  }),
  tools: {
    deleteBackup: tool({
      inputSchema: z.object({ name: z.string() }),
      execute: ({ name }) => disk.delete(name),
    }),
  },
  toolApproval: { deleteBackup: "user-approval" },
};

/** Plans the next check. Its id names the time, so that a restart does not plan it twice. */
async function planCheck(session: Session, time: number): Promise<void> {
  const notBefore = new Date(time);
  await session.send("Check the backups.", { id: `check-${notBefore.toISOString()}`, notBefore });
}

const dir = await mkdtemp(join(tmpdir(), "turnlog-cron-"));
const options = { dir, agent, resume: "all", recovery: "continue" } as const;

const first = await createRuntime(options);
const backups = await first.session("backups", { metadata: { team: "ops" } });
const check = await backups.send("Check the backups.");
await planCheck(backups, Date.now() + INTERVAL_MS);
await check.untilRest();
await first.close();

const second = await createRuntime(options);
for (const question of await second.approvals({ where: { team: "ops" } })) {
  if (question.kind !== "approval") continue;
  const { approvalId, toolName, input } = question.approval;
  console.log(`${question.session} asks: ${toolName} ${JSON.stringify(input)}`);
  await (await second.session(question.session)).approve(approvalId, { by: "ann" });
}

const session = await second.session("backups");
for await (const { type } of session.events()) {
  const { history, summary } = await session.view();
  if (type === "turn.ended" && summary.turns === 2 && summary.status === "idle") {
    for (const item of history) {
      if (item.kind === "user") console.log(item.content);
      if (item.kind !== "step") continue;
      for (const part of item.parts) if (part.kind === "text") console.log(`  ${part.text}`);
    }
    break;
  }
}
await second.close();
await rm(dir, { recursive: true });
