/** `turnlog fork`: creates a session that shares another's events up to a position. Runs nothing. */

import type { Agent } from "../../agent/index.ts";
import { defined, shellWord, type EventLog } from "../../events/index.ts";
import { forkName } from "../chat/host/resumed-session.ts";
import { refuseIdle } from "../output/error-report.ts";
import { writeLine, writeLines, type Output } from "../output/output.ts";
import { jsonText } from "../output/visible-text.ts";
import { openPort } from "../settings/session-port.ts";
import { ownerOf } from "../settings/store-folder.ts";
import type { Given } from "./option-values.ts";
import type { forkOptions } from "./command-options.ts";

type Options = Given<typeof forkOptions>;

export async function fork(
  session: string,
  options: Options,
  { data, progress }: Output,
): Promise<void> {
  const { json, position, id = forkName(session), agent: file, model } = options;
  await assertHere(options);
  await using port = await openPort(options, { withoutKey: "redact" });
  const agent = await agentOf(session, options, port.log);
  await port.post(session, "fork", [{ id, ...defined({ position, agent }) }]);
  const [entry] = await Array.fromAsync(port.log.list({ prefix: id }));
  const from = entry?.forkedFrom ?? { session, position: await port.log.revision(session) };
  await writeLines(data, [json ? jsonText({ session: id, from }) : id]);
  if (json) return;
  const name = `--session ${shellWord(id)}`;
  const by = model === undefined ? "" : ` --model ${shellWord(model)}`;
  const next =
    file === undefined
      ? `turnlog ${name}${by}`
      : `turnlog studio ${name} --agent ${shellWord(file)}`;
  await writeLine(
    progress,
    `It shares the events of ${from.session} up to ${from.position}. Continue it with: ${next}`,
  );
}

/** @throws UsageError for another agent where the one of another process runs the fork */
async function assertHere(options: Options): Promise<void> {
  const { agent, model, instructions } = options;
  const given = {
    "--agent": agent !== undefined,
    "--model": model !== undefined,
    "--instructions": instructions !== undefined,
  };
  if (!Object.values(given).includes(true)) return;
  const owner = await ownerOf(options);
  if (owner !== undefined)
    refuseIdle(given, ` would have no effect: ${owner.name} has the store open. Leave it out.`);
}

/** The agent that the fork records as its own; undefined for that of the session. */
async function agentOf(
  session: string,
  { agent: file, model, instructions, dir }: Options,
  log: EventLog,
): Promise<Agent | undefined> {
  if (file === undefined && model === undefined && instructions === undefined) return undefined;
  const changes = defined({ model, instructions });
  // Loaded when it is needed: a plain fork loads no model.
  const { changedAgent, changedChatAgent, chatAgentIn } =
    await import("../chat/model/changed-agent.ts");
  if (file !== undefined) return (await changedAgent(file, changes)).agent;
  const [created] = await Array.fromAsync(log.read(session, { to: 1 }));
  const recorded = chatAgentIn(session, created);
  const { agent } = await changedChatAgent(changes, { dir, canAsk: true });
  return agent(recorded);
}
