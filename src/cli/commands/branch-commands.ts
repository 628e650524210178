/** `turnlog rewind`, `checkout`, `branches` and `fork`: to an earlier place of a session, to another branch, or on from there in a session of its own. They run nothing. */

import { rewoundSchema, type RewindPlace, type Rewound } from "../../commands/index.ts";
import { jsonText, visibleName } from "../output/visible-text.ts";
import { UsageError, refuseIdle } from "../output/error-report.ts";
import { writeLine, writeLines, type Output } from "../output/output.ts";
import { openPort } from "../settings/session-port.ts";
import { openSessions, ownerOf } from "../settings/store-folder.ts";
import { amount } from "../wording/wording.ts";
import { sessionBranches, stateAt } from "../../state/index.ts";
import { branchLine } from "../show/show-history.ts";
import type { Given } from "./option-values.ts";
import type { tell as tellOption, rewindOptions, forkOptions } from "./command-options.ts";
import type { Agent } from "../../agent/index.ts";
import { defined, shellWord, type EventLog } from "../../events/index.ts";
import { forkName } from "../chat/host/resumed-session.ts";

type RewindOptions = Given<typeof rewindOptions>;

const inTheOtherProcess =
  "A session of a store in use can be rewound by its own process: `session.rewind({ beforeTurn })` in a program, /undo in a chat; `session.checkout(branch)` and /branches <number> return.";

export async function rewind(
  session: string,
  { tell, ...options }: RewindOptions,
  output: Output,
): Promise<void> {
  await move(session, "rewind", [{ ...onlyPlace(options), tell }], options, output);
}

export async function checkout(
  session: string,
  branch: number,
  { tell, ...options }: Given<[typeof tellOption]>,
  output: Output,
): Promise<void> {
  await move(session, "checkout", [branch, { tell }], options, output);
}

async function move(
  session: string,
  name: Move,
  args: readonly unknown[],
  options: Given,
  { data, progress }: Output,
): Promise<void> {
  await using port = await openPort(options, { elsewhere: inTheOtherProcess });
  const before = await port.log.revision(session);
  const rewound = rewoundSchema.parse(await port.post(session, name, args));
  if (options.json) return await writeLine(data, jsonText({ session, ...rewound }));
  const sentence = rewound.position > before ? movedSentence : sameSentence;
  await writeLine(data, sentence(name, session, rewound));
  await writeLines(progress, effectLines(rewound));
}

/** @throws UsageError unless one place is named */
function onlyPlace({ to, beforeTurn, beforeMessage }: Omit<RewindOptions, "tell">): RewindPlace {
  const [place, ...others]: readonly RewindPlace[] = [
    ...(to === undefined ? [] : [{ to }]),
    ...(beforeTurn === undefined ? [] : [{ beforeTurn }]),
    ...(beforeMessage === undefined ? [] : [{ beforeMessage }]),
  ];
  if (place !== undefined && others.length === 0) return place;
  throw new UsageError(
    "A rewind goes to one place: use exactly one of --to <position>, --before-turn <n> and --before-message <id>.",
  );
}

type Move = "rewind" | "checkout";

function movedSentence(name: Move, session: string, { branch, to, turns }: Rewound): string {
  const where =
    name === "rewind"
      ? `back at position ${to}, on the new branch ${branch}`
      : `on branch ${branch} again, at position ${to}`;
  return `Session ${session} is ${where}; ${amount(turns.length, "turn")} left the active branch.`;
}

function sameSentence(name: Move, session: string, { branch, to }: Rewound): string {
  const where =
    name === "rewind"
      ? `at position ${to}, on branch ${branch}`
      : `on branch ${branch}, at position ${to}`;
  return `Session ${session} is already ${where}: nothing changed.`;
}

function effectLines({ effects }: Rewound): readonly string[] {
  if (effects.length === 0) return [];
  return [
    `${amount(effects.length, "call")} had run, and their effects are not undone:`,
    ...effects.map(({ turn, step, toolName, callId, status }) =>
      visibleName(
        `  turn ${turn}, step ${step}: ${toolName} (${callId}), ${status === "succeeded" ? "succeeded" : "its outcome is unknown"}`,
      ),
    ),
  ];
}

export async function branches(
  session: string,
  { json, ...place }: Given,
  { data }: Output,
): Promise<void> {
  await using log = await openSessions(place, { readOnly: true, withoutKey: "redact" });
  const found = sessionBranches(await stateAt(log, session));
  await writeLines(
    data,
    found.map((branch) => (json ? jsonText(branch) : branchLine(branch))),
  );
}

// A session that shares another's events up to a position.

type ForkOptions = Given<typeof forkOptions>;

export async function fork(
  session: string,
  options: ForkOptions,
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
async function assertHere(options: ForkOptions): Promise<void> {
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
  { agent: file, model, instructions, dir }: ForkOptions,
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
