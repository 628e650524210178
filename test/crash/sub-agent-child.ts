/**
 * A session whose agent calls a sub-agent, which thinks, calls a tool and answers. The process kills itself at
 * one place: `sub-agent-child.ts <dir> <place>`.
 */

import { writeSync } from "node:fs";
import { z } from "zod";
import { createRuntime, openLog, type EventLog } from "../../src/public/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { places, subAgentAgent, type Place } from "./sub-agent-agent.ts";

const [dir, place] = z
  .tuple([z.string(), z.enum(["never", ...places])])
  .parse(process.argv.slice(2));

function at(here: Place): void {
  if (here === place) process.kill(process.pid, "SIGKILL");
}

const log = await openLog({ dir });
/** Dies before or after an append to one of the sessions. */
const watched: EventLog = wrapLog(log, {
  append: async (session, expected, events, options) => {
    const types = events.map(({ type }) => type);
    const isParent = session === "p";
    if (isParent && types.includes("tool.succeeded")) at("before-the-result");
    if (!isParent && types.includes("session.created")) at("before-the-session");
    const appended = await log.append(session, expected, events, options);
    if (!isParent && types.includes("session.created")) at("after-the-session");
    if (!isParent && types.includes("message.queued")) at("after-the-task");
    if (!isParent && types.includes("part.text-delta")) at("in-the-text");
    if (isParent && types.includes("tool.succeeded")) at("after-the-result");
    return appended;
  },
});
const runtime = await createRuntime({
  log: watched,
  agent: subAgentAgent(() => at("in-the-tool")),
});
const turn = await (await runtime.session("p")).send("Go", { id: "m" });
writeSync(1, `${(await turn.result).text}\n`);
await runtime.close();
await log.close();
