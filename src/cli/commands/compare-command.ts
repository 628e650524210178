/** `turnlog compare`: tries a changed agent on recorded sessions, whose tools answer from the recording, and reports. */

import { readFile } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import type { Agent } from "../../agent/index.ts";
import { readSessionFile } from "../../archive/exchange/index.ts";
import {
  compare,
  htmlOf,
  junitOf,
  report,
  shownFigures,
  type ComparedSession,
  type CompareOptions,
  type CompareSource,
  type Comparison,
  type MissPolicy,
  type PairAllowed,
} from "../../compare/index.ts";
import {
  defined,
  TurnlogError,
  type AgentDescription,
  type BlobStore,
  type EventLog,
  type SessionEvent,
} from "../../events/index.ts";
import { memoryBlobs } from "../../store/blobs/index.ts";
import { checkPosition, differentKey, listSessions } from "../../state/index.ts";
import {
  changedAgent,
  changedChatAgent,
  chatAgentIn,
  namedModel,
} from "../chat/model/changed-agent.ts";
import { hasAsked } from "../chat/model/chat-agent.ts";
import { DONE, FAILED, UsageError, type ExitCode, unreadable } from "../output/error-report.ts";
import { writeLine, writeLines, type Channel, type Output } from "../output/output.ts";
import { jsonText, visibleName } from "../output/visible-text.ts";
import { unlessInterrupted } from "../settings/environment.ts";
import { namedFile } from "../settings/named-file.ts";
import { openSessions } from "../settings/store-folder.ts";
import { amount, excerpt, linesOf, tableRows } from "../wording/wording.ts";
import { momentBefore, type Given } from "./option-values.ts";
import type { compareOptions } from "./command-options.ts";

type Options = Given<typeof compareOptions>;

export async function compareSessions(
  named: readonly string[],
  options: Options,
  output: Output,
): Promise<ExitCode> {
  assertUsed(named, options);
  const { file: files, results: folder, runs, concurrency, budget, experiment, json } = options;
  // A path that cannot be written is reported before models are called.
  const pages = await pagesOf(options, output);
  const isOneStore =
    files === undefined && !options.remote && folder && resolve(folder) === resolve(options.dir);
  await using log =
    files === undefined ? await openSessions(options, { readOnly: !isOneStore }) : undefined;
  const apart = { ...options, dir: folder ?? "", remote: undefined };
  await using other =
    folder === undefined || isOneStore
      ? undefined
      : await openSessions(apart, { readOnly: false, creates: true });
  const recorded =
    log === undefined
      ? await filedSessions(files ?? [])
      : await storedSessions(log, named, options);
  const agents = await agentsOf(options, recorded);
  const { source, sessions, blobs } = recorded;
  return await unlessInterrupted(async (signal) => {
    const found = await compare(source, {
      ...agents,
      ...(Array.isArray(source) ? {} : { sessions }),
      ...defined({ blobs, experiment, concurrency, results: isOneStore ? log : other }),
      ...(budget === undefined ? {} : { budget: { dollars: budget } }),
      runs,
      allow: allowedBy(options),
      signal,
      onCompared: tellsProgress(sessions.length * runs, output.progress),
    });
    // An interrupted comparison is no result.
    signal.throwIfAborted();
    for (const { file, textOf } of pages) await file.write([textOf(found).trimEnd()]);
    const { data } = output;
    await writeLines(data, json ? [jsonText(found)] : summaryLines(found, data));
    return found.counts.worse + found.counts.stopped === 0 ? DONE : FAILED;
  });
}

/** Refuses options that have no effect together. @throws UsageError */
function assertUsed(named: readonly string[], options: Options): void {
  const { file, where, since, onMiss, live, simulateModel } = options;
  const isChosen = where !== undefined || since !== undefined;
  const ways = [named.length > 0, file !== undefined, isChosen].filter(Boolean);
  if (ways.length === 0)
    throw new UsageError(
      "Name the sessions to compare, choose some by --where and --since, or read some by --file.",
    );
  if (ways.length > 1)
    throw new UsageError(
      "Sessions are named, chosen by --where and --since, or read by --file: use one of these ways.",
    );
  if (onMiss === "simulate" && live !== undefined)
    throw new UsageError("--on-miss simulate runs no tool: leave it out, or leave --live out.");
  if (onMiss !== "simulate" && simulateModel !== undefined)
    throw new UsageError("--simulate-model is only for --on-miss simulate: add that.");
}

async function pagesOf({ out, junit }: Options, output: Output) {
  const asked = [
    { name: out, textOf: htmlOf },
    { name: junit, textOf: junitOf },
  ].flatMap(({ name, textOf }) => (name === undefined ? [] : { name, textOf }));
  return await Promise.all(
    asked.map(async ({ name, textOf }) => ({ file: await namedFile(name, output), textOf })),
  );
}

/** What was changed on purpose is no difference. */
function allowedBy({ allow = [], model, instructions }: Options): readonly PairAllowed[] {
  return [
    ...allow,
    ...(model === undefined ? [] : ["model" as const]),
    ...(instructions === undefined ? [] : ["instructions" as const]),
  ];
}

// The recorded sessions.

interface Recorded {
  readonly source: CompareSource;
  readonly sessions: readonly string[];
  readonly eventsOf: (session: string) => Promise<readonly SessionEvent[]>;
  /** Media of files. */
  readonly blobs?: BlobStore;
}

async function storedSessions(
  log: EventLog,
  named: readonly string[],
  { where, since }: Options,
): Promise<Recorded> {
  const eventsOf: Recorded["eventsOf"] = (session) => Array.fromAsync(log.read(session));
  for (const session of named) await checkPosition(log, session);
  if (named.length > 0) return { source: log, sessions: [...new Set(named)], eventsOf };
  const { agent, actor, ...metadata } = where ?? {};
  const from = since === undefined ? 0 : momentBefore("--since", since, Date.now());
  const rows = await Array.fromAsync(listSessions(log));
  const chosen = rows
    .filter(
      (row) =>
        row.messages > 0 &&
        row.updatedAt >= from &&
        (agent === undefined || row.agent === agent) &&
        differentKey(row.metadata, metadata) === undefined &&
        // A sub-agent is part of its parent, and what an experiment made is no recording.
        row.parent === undefined &&
        (row.metadata?.["experiment"] === undefined || Object.hasOwn(metadata, "experiment")),
    )
    .toSorted((one, other) => other.updatedAt - one.updatedAt);
  const sessions: string[] = [];
  for (const { session } of chosen)
    if (actor === undefined || (await eventsOf(session)).some(isOfActor)) sessions.push(session);
  if (sessions.length > 0) return { source: log, sessions, eventsOf };
  throw new TurnlogError(
    "SESSION_NOT_FOUND",
    "No session with a message is as --where and --since say: `turnlog sessions` lists them all.",
  );

  function isOfActor({ type, data }: SessionEvent): boolean {
    return type === "message.queued" && data.by === actor;
  }
}

/** By the names of the files: all fixtures have one name. @throws UsageError, and what `readSessionFile` throws */
async function filedSessions(files: readonly string[]): Promise<Recorded> {
  const blobs = memoryBlobs();
  const events = new Map<string, readonly SessionEvent[]>();
  for (const file of files) {
    const session = basename(file, extname(file));
    if (events.has(session))
      throw new UsageError(
        `Two files are named ${JSON.stringify(session)}, which names the session in the report: rename one.`,
      );
    const found = await readSessionFile(await fileLines(file), {
      onBlob: async ({ content }) => void (await blobs.put(content)),
    });
    events.set(session, found.events);
  }
  return {
    source: [...events].map(([session, own]) => ({ session, events: own })),
    sessions: [...events.keys()],
    eventsOf: (session) => Promise.resolve(events.get(session) ?? []),
    blobs,
  };
}

async function fileLines(file: string): Promise<readonly string[]> {
  try {
    return (await readFile(file, "utf8")).trimEnd().split("\n");
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

// The agents: as they were recorded, and as candidates.

type Agents = Pick<CompareOptions, "agent" | "recordedAgent" | "onMiss">;

async function agentsOf(options: Options, { sessions, eventsOf }: Recorded): Promise<Agents> {
  const { agent: file, model: name, instructions, dir } = options;
  const changes = defined({ model: name, instructions });
  if (file !== undefined) {
    const { own, agent } = await changedAgent(file, changes);
    // An unchanged module is the candidate: no program has the agent as it was.
    const isChanged = Object.keys(changes).length > 0;
    const onMiss = await policyOf(options, agent);
    return { agent, ...(isChanged && { recordedAgent: own }), onMiss };
  }
  let canAsk = false;
  const descriptions: AgentDescription[] = [];
  for (const session of sessions) {
    const events = await eventsOf(session);
    descriptions.push(chatAgentIn(session, events[0]));
    canAsk ||= hasAsked(events);
  }
  const { own, agent, model } = await changedChatAgent(changes, { dir, canAsk });
  const tools = descriptions.reduce((all, one) => ({ ...all, ...agent(one).tools }), {});
  return { agent, recordedAgent: own, onMiss: await policyOf(options, { model, tools }) };
}

async function policyOf(
  { onMiss, live, simulateModel }: Pick<Options, "onMiss" | "live" | "simulateModel">,
  { model, tools = {} }: Pick<Agent, "model" | "tools">,
): Promise<MissPolicy> {
  const unknown = live?.find((name) => !Object.hasOwn(tools, name));
  if (unknown !== undefined)
    throw new UsageError(
      `--live ${unknown}: the agent has no such tool. It has ${Object.keys(tools).join(", ") || "none"}.`,
    );
  if (live !== undefined) return { live };
  if (onMiss !== "simulate") return "stop";
  return { simulate: simulateModel === undefined ? model : await namedModel(simulateModel) };
}

// What is told.

const WHY_LENGTH = 160;

/** One line for each run. */
function tellsProgress(total: number, progress: Channel): (one: ComparedSession) => void {
  let done = 0;
  return (one) => {
    done += 1;
    const [reported] = report("", "", [one]).sessions;
    const why = reported?.stopped?.why ?? reported?.first;
    const about = `${done}/${total} ${nameOf(one)}: ${reported?.verdict}`;
    const line = why === undefined ? about : `${about}. ${visibleName(excerpt(why, WHY_LENGTH))}`;
    void writeLine(progress, line).catch(() => {});
  };
}

function nameOf({ session, run }: { readonly session: string; readonly run: number }): string {
  return run === 1 ? visibleName(session) : `${visibleName(session)}, run ${run}`;
}

function summaryLines(found: Comparison, data: Channel): readonly string[] {
  const { experiment, candidate, counts, first } = found;
  const verdicts = (["equal", "better", "worse", "different", "stopped"] as const).map(
    (verdict) => `${counts[verdict]} ${verdict}`,
  );
  const runs = counts.runs === counts.sessions ? "" : `, ${amount(counts.runs, "run")}`;
  const missed = Map.groupBy(
    found.sessions.flatMap((one) => one.misses),
    ({ toolName }) => toolName,
  );
  const names = [...missed].map(([name, calls]) => `${visibleName(name)} ${calls.length}`);
  return linesOf(
    data.style("bold", visibleName(experiment)),
    candidate !== experiment && visibleName(candidate),
    "",
    `${amount(counts.sessions, "session")}${runs}: ${verdicts.join(", ")}`,
    `${counts.replayed} of ${amount(counts.runs, "recording")} proved to repeat exactly.`,
    counts.misses > 0 &&
      `${amount(counts.misses, "call")} had no answer in the recordings: ${names.join(", ")}.`,
    figureLines(found),
    first.length > 0 && ["", "Read first:"],
    first.map((one) => `  ${nameOf(one)}: ${visibleName(one.reason)}`),
  );
}

function figureLines(found: Comparison): readonly string[] {
  const rows = shownFigures(found).map(
    ({ name, recorded, candidate, difference, interval = "" }) => [
      visibleName(name),
      recorded,
      candidate,
      difference,
      interval,
    ],
  );
  if (rows.length === 0) return [];
  const all = [["Per session", "recorded", "candidate", "difference", "95 %"], ...rows];
  return ["", ...tableRows(all, (column) => column >= 1 && column <= 3)];
}
