/**
 * `turnlog replay`: shows a session as the chat did, at a chosen pace; with `--check` it runs the
 * session's agent against the recorded answers and compares the events.
 */

import { setTimeout as delay } from "node:timers/promises";
import { resolve } from "node:path";
import type { EventLog, SessionEvent } from "../../events/index.ts";
import { recordedPace, type Pace } from "../../models/index.ts";
import { viewSession } from "../../state/index.ts";
import { readEnvironment, unlessInterrupted } from "../settings/environment.ts";
import { openSessions } from "../settings/store-folder.ts";
import { DONE, FAILED, type ExitCode, UsageError } from "../output/error-report.ts";
import { writeLine, type Output } from "../output/output.ts";
import { jsonText } from "../output/visible-text.ts";
import { amount } from "../wording/wording.ts";
import type { Given } from "./option-values.ts";
import type { replayOptions } from "./command-options.ts";

type Options = Given<typeof replayOptions>;

export async function replaySession(
  session: string,
  options: Options,
  output: Output,
): Promise<ExitCode> {
  assertUsed(options);
  await using log = await openSessions(options, { readOnly: true });
  // Throws if the session does not exist.
  await viewSession(log, session, 1);
  return await unlessInterrupted((signal) =>
    options.check
      ? check(session, log, options, output)
      : show(session, log, options, output, signal),
  );
}

/** Refuses options that have no effect together. @throws UsageError */
function assertUsed({ check: isCheck, agent, allow, maxGap, pace }: Options): void {
  if (allow !== undefined && !isCheck)
    throw new UsageError(
      "--allow is only for a check: add --check. A replay alone compares nothing.",
    );
  if (agent !== undefined && !isCheck)
    throw new UsageError("--agent is only for a check: add --check. A replay alone runs no agent.");
  if (maxGap !== undefined && (isCheck || pace === "at-once"))
    throw new UsageError("--max-gap needs a pace: add --pace recorded, and leave out --check.");
}

async function show(
  session: string,
  log: EventLog,
  { pace, maxGap, json }: Options,
  output: Output,
  signal: AbortSignal,
): Promise<ExitCode> {
  const showEvent = json ? jsonWriter(output) : await chatWriter(output, pace);
  const due = await dueTimes(session, log, pace, maxGap, signal);
  for await (const event of log.read(session)) {
    await due(event.position);
    if (signal.aborted) break;
    await showEvent(event);
  }
  return DONE;
}

/** A function that resolves when an event is due. At pace `at-once` the log is not read first. */
async function dueTimes(
  session: string,
  log: EventLog,
  pace: Pace,
  maxGap: number | undefined,
  signal: AbortSignal,
): Promise<(position: number) => Promise<void>> {
  if (pace === "at-once") return () => Promise.resolve();
  const events = await Array.fromAsync(log.read(session));
  const kept = recordedPace(events, pace, {
    time: {
      now: () => performance.now(),
      wait: async (milliseconds) => {
        await delay(milliseconds, undefined, { signal }).catch(() => undefined);
      },
    },
    ...(maxGap === undefined ? {} : { longestMs: maxGap * 1000 }),
  });
  return (position) => kept.due(position);
}

function jsonWriter({ data }: Output): (event: SessionEvent) => Promise<void> {
  return (event) => writeLine(data, jsonText(event));
}

async function chatWriter(
  output: Output,
  pace: Pace,
): Promise<(event: SessionEvent) => Promise<void>> {
  const { TurnScreen } = await import("../chat/screen/turn-screen.ts");
  const { redrawn } = await import("../chat/screen/live-output.ts");
  const screen = new TurnScreen(redrawn(output), {
    showsActivity: pace !== "at-once",
    isWhole: true,
  });
  return (event) => screen.show(event);
}

const ofTheChat =
  "This was the agent of `turnlog chat`. To check another one, name the module that exports it: --agent ./agent.ts";

async function check(
  session: string,
  log: EventLog,
  { agent: file, allow = [], dir, pace, json }: Options,
  { data, progress }: Output,
): Promise<ExitCode> {
  const { differenceText, replay } = await import("../../replay/index.ts");
  const events = await Array.fromAsync(log.read(session));
  const { instructions, compaction } = readEnvironment(process.env);
  const { hasAsked, recordedChatAgent } = await import("../chat/model/chat-agent.ts");
  const agent =
    file === undefined
      ? recordedChatAgent({
          folder: process.cwd(),
          store: resolve(dir),
          instructions,
          compaction,
          canAsk: hasAsked(events),
        })
      : await (await import("../settings/agent-module.ts")).agentOf(file);
  const { difference } = await replay(events, agent, { allow, pace });
  const same = difference === undefined ? events.length : difference.position - 1;
  if (json) {
    await writeLine(data, jsonText({ session, events: same, difference }));
  } else if (difference === undefined) {
    await writeLine(data, `Session ${session} is repeated exactly: ${amount(same, "event")}.`);
  } else {
    await writeLine(data, differenceText(difference));
    if (file === undefined) await writeLine(progress, ofTheChat);
  }
  return difference === undefined ? DONE : FAILED;
}
