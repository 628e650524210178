/** Runs a chat: opens the store and the session, runs one turn or a conversation, closes the store. */

import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Agent } from "../../agent/index.ts";
import { TurnlogError } from "../../events/index.ts";
import type { Runtime } from "../../runtime/index.ts";
import { createRuntime } from "../../sharing/index.ts";
import type { McpServers } from "../../mcp/index.ts";
import type { UserInput } from "../../media/index.ts";
import { isOwnerGone } from "../owner/owner-log.ts";
import type { StoreOwner } from "../owner/store-owner.ts";
import {
  keysIn,
  runtimeStore,
  type RuntimeStore,
  type StorePlace,
} from "../settings/store-folder.ts";
import type { ContextStrategy } from "../settings/environment.ts";
import { askingFirst } from "../settings/mcp-config.ts";
import { DEFAULT_DIR, writeSentence, type Output } from "../output/output.ts";
import {
  meantName,
  reportError,
  DONE,
  INTERRUPTED,
  TERMINATED,
  type ExitCode,
} from "../output/error-report.ts";
import {
  type ChatPlace,
  chatStore,
  type ChatStore,
  type ChatHost,
  type ChatSession,
  isAsking,
} from "./host/chat-session.ts";
import { loadedChatAgent } from "./model/chat-agent.ts";
import { chatModels } from "./model/chat-models.ts";
import { contextWarning } from "../wording/context-words.ts";
import { sentenceCase } from "../wording/wording.ts";
import { askLine } from "../output/question.ts";
import { ANSWERS, readAnswer } from "./line/chat-line.ts";
import { conversationOf } from "./screen/conversation-state.ts";
import { takeInterrupts, type Interrupts } from "./host/interrupts.ts";
import { mentionOf } from "./line/mentioned-files.ts";
import type { ModelChoice } from "./model/model-choice.ts";
import { introduceSession, waitingForClients } from "./host/resumed-session.ts";
import {
  beginRerun,
  finishTurn,
  rerunTurn,
  runTurn,
  type BegunRerun,
  type RerunRequest,
} from "./run-turn.ts";
import { ownerHost, ownerRerun } from "./owner-chat.ts";
import { jsonView, textView, type AskApproval } from "./screen/turn-screen.ts";

export interface ChatRun extends StorePlace {
  readonly durability: "sync" | "os";
  readonly hashChain: boolean;
  /** The folder of the keys, as given; undefined without encryption. */
  readonly keys?: string | undefined;
  readonly session: string;
  /** Whether the user typed the name: an unknown name may be mistyped. */
  readonly isNamed: boolean;
  /** The agent in place of the chat's. */
  readonly agent?: Agent;
  readonly choice: ModelChoice;
  /** The model of a name that is typed later. @throws UsageError */
  readonly choiceOf: (name: string) => ModelChoice;
  /** The command of the person's editor. */
  readonly editor: string | undefined;
  /** Whether nothing rings. */
  readonly quiet?: boolean;
  readonly showsNotices: boolean;
  /** Milliseconds before each word of the offline model. */
  readonly pace: number;
  readonly allowWrite: boolean;
  readonly mcp: McpServers;
  readonly instructions: string | undefined;
  readonly compaction: ContextStrategy | undefined;
  /** The only message, or undefined for a conversation. */
  readonly message: UserInput | undefined;
  /** Paths and addresses of files to attach to the first message of a conversation. */
  readonly attach: readonly string[];
  /** Runs a turn again instead of a message. */
  readonly rerun?: RerunRequest;
  /** The process that has the store open: its agent answers. */
  readonly owner?: StoreOwner | undefined;
  /** The process that now has the store open. @throws UsageError for options that its agent would ignore */
  readonly findOwner: () => Promise<StoreOwner | undefined>;
  /** Where this terminal stood when the process closed the store whose agent answered. */
  readonly goesOn?: ChatPlace;
  /** Whether a person at the terminal can answer questions. */
  readonly canAsk: boolean;
  readonly json: boolean;
  readonly debug: boolean;
  /** The command that started this process, to name in hints. */
  readonly startedBy: string;
}

const OFFLINE_NOTE =
  'The offline model answers: try "list all files". For a real one, name it by --model, or by /model to be remembered: openai:<model>, google:<model>, anthropic:<model>, <address>#<model>.';

/**
 * When several terminals use a store, one has it open and its agent answers the others. When that process ends,
 * another terminal opens the store, and all continue where they were.
 */
export async function runChat(given: ChatRun, output: Output): Promise<ExitCode> {
  let run = given;
  for (;;) {
    const { owner } = run;
    const ended =
      owner === undefined ? await runHere(run, output) : await runThere(owner, run, output);
    if (typeof ended === "number") return ended;
    if (owner !== undefined) {
      const words = `${sentenceCase(owner.name)} has closed the store.`;
      await writeSentence(output.progress, output.progress.style("dim", words));
    }
    run = { ...run, ...ended, owner: await run.findOwner() };
  }
}

/** What changes when a chat continues with another owner of the store. */
type Moved = Partial<Pick<ChatRun, "session" | "goesOn">>;

async function runThere(
  owner: StoreOwner,
  run: ChatRun,
  output: Output,
): Promise<ExitCode | Moved> {
  const { progress } = output;
  const words =
    owner.pid === undefined
      ? `The agent of ${owner.name} answers.`
      : `${sentenceCase(owner.name)} has the store open: its agent answers.`;
  await writeSentence(progress, progress.style("dim", words));
  const host = ownerHost(owner);
  try {
    return await runOn(host, chatStore(host), (place) => ownerRerun(owner, place), run, output);
  } catch (error) {
    if (!isOwnerGone(error)) throw error;
    const { session, message, rerun } = run;
    // The conversation had not begun.
    if (message === undefined && rerun === undefined) return {};
    throw new TurnlogError(
      "LOG_CLOSED",
      `${sentenceCase(owner.name)}, whose agent answered, has closed the store. Continue with: ${resumeCommand(run)}`,
      { session, cause: error },
    );
  }
}

async function runHere(run: ChatRun, output: Output): Promise<ExitCode | Moved> {
  await using opened = await runtimeStore(run);
  let runtime: Runtime;
  try {
    runtime = await ownRuntime(run, opened.options, output);
  } catch (error) {
    const isLocked = TurnlogError.isInstance(error) && error.code === "LOG_LOCKED";
    // Another terminal was faster.
    if (!isLocked || (await run.findOwner()) === undefined) throw error;
    return {};
  }
  await using _ = runtime;
  const store = chatStore(runtime, chatModels(runtime, run), Object.keys(run.mcp));
  return await runOn(runtime, store, (place) => beginRerun(runtime, place), run, output);
}

async function runOn(
  host: ChatHost,
  store: ChatStore,
  begin: (place: RerunRequest) => Promise<BegunRerun>,
  run: ChatRun,
  output: Output,
): Promise<ExitCode | Moved> {
  const { progress } = output;
  const { rerun } = run;
  return await untilStopped(host, run, output, async (interrupts) => {
    if (rerun === undefined)
      return await runSession(await openSession(host, run, output), store, run, output, interrupts);
    const view = run.json ? jsonView(output, run.session) : textView(output, asker(run), []);
    return await rerunTurn(await begin(rerun), rerun, { view, interrupts, progress });
  });
}

/** Runs `work`. A signal from outside closes the host, and the exit code says so. */
async function untilStopped<Ended>(
  host: Pick<ChatHost, "close">,
  { debug }: ChatRun,
  { progress }: Output,
  work: (interrupts: Interrupts) => Promise<Ended>,
): Promise<Ended | ExitCode> {
  using interrupts = takeInterrupts({
    signals: process,
    close: () =>
      host.close().catch(async (error: unknown) => {
        await reportError(progress, error, debug);
      }),
    leave: (code) => process.exit(code),
    now: () => performance.now(),
  });
  try {
    return await work(interrupts);
  } catch (error) {
    // A signal from outside closed the store, which causes this error.
    if (interrupts.ending.aborted) return TERMINATED;
    throw error;
  }
}

async function ownRuntime(
  run: ChatRun,
  store: RuntimeStore["options"],
  { progress }: Output,
): Promise<Runtime> {
  const { choice, allowWrite, canAsk, debug, instructions, compaction } = run;
  if (run.agent === undefined && choice.kind === "offline" && choice.because === "no-key") {
    await writeSentence(progress, progress.style("dim", OFFLINE_NOTE));
  }
  const dir = resolve(run.dir);
  const keys = keysIn(run.keys, dir);
  const agent =
    run.agent ??
    (
      await loadedChatAgent({
        choice,
        pace: run.pace,
        store: dir,
        keys: keys && run.keys && resolve(run.keys),
        allowWrite,
        canAsk,
        instructions,
        compaction,
      })
    )(process.cwd());
  return await createRuntime({
    ...store,
    hashChain: run.hashChain,
    ...(keys === undefined ? {} : { encryption: { keys } }),
    agent,
    // Elsewhere `--mcp` itself is the consent.
    mcp: canAsk ? askingFirst(run.mcp) : run.mcp,
    recovery: run.rerun === undefined ? "stop" : "continue",
    onWarning: (error) => void reportError(progress, error, debug),
  });
}

async function openSession(
  host: ChatHost,
  run: ChatRun,
  { progress }: Output,
): Promise<ChatSession> {
  const { session: id, choice, message, owner, goesOn } = run;
  if (goesOn !== undefined) {
    const session = await host.session(id);
    if (!isAsking(await session.view())) await session.idle();
    if (owner === undefined) {
      const words = `The store is open here now: ${choice.label} answers.`;
      await writeSentence(progress, progress.style("dim", words));
    }
    return session;
  }
  const isNew = (await host.log.revision(id)) === 0;
  const meant = isNew && run.isNamed ? await similarName(id, host) : undefined;
  const session = await host.session(id);
  // Wait until recovery has settled the work of a dead process; a waiting approval stays open.
  if (!isAsking(await session.view())) await session.idle();
  await introduceSession(progress, {
    session: id,
    resume: resumeCommand(run),
    model: owner === undefined ? choice.label : `the agent of ${owner.name}`,
    view: isNew ? undefined : await session.view(),
    recall: message === undefined,
    meant,
  });
  return session;
}

/**
 * A session whose name differs by one typing error. Names that differ only in a digit count as a series, not as
 * an error.
 */
async function similarName(id: string, { log }: ChatHost): Promise<string | undefined> {
  const withoutDigits = (name: string): string => name.replaceAll(/\d/g, "");
  const names = await Array.fromAsync(log.list(), ({ session }) => session);
  return meantName(
    id,
    names.filter((name) => withoutDigits(name) !== withoutDigits(id)),
  );
}

function resumeCommand({ session, startedBy, dir, remote, keys }: ChatRun): string {
  // An address may have a password.
  const inFolder = dir === DEFAULT_DIR ? "" : ` --dir ${JSON.stringify(dir)}`;
  const where =
    remote === undefined
      ? inFolder
      : ` --${remote.kind === "database" ? "postgres" : "server"} <url>`;
  const by = keys === undefined ? "" : ` --keys ${JSON.stringify(keys)}`;
  return `${startedBy} --session ${session}${where}${by}`;
}

async function runSession(
  session: ChatSession,
  store: ChatStore,
  run: ChatRun,
  output: Output,
  interrupts: Interrupts,
): Promise<ExitCode | Moved> {
  const { message, attach, json, debug, editor, goesOn } = run;
  if (message === undefined) {
    const { converse } = await import("./conversation.ts");
    const view = goesOn === undefined ? await session.view() : await session.at(goesOn.position);
    const { place, isOwnerGone: hasToMove } = await converse({
      session,
      store,
      view,
      output,
      interrupts,
      editor,
      debug,
      present: run.owner === undefined && run.agent === undefined ? presentText : undefined,
      ...(run.quiet === true ? {} : { notice: run.showsNotices ? "osc-9" : "bell" }),
      // The user sees the attachments in the line, and can remove them before sending.
      draft: goesOn?.draft ?? attach.map((source) => `${mentionOf(source)} `).join(""),
    });
    if (interrupts.ending.aborted) return TERMINATED;
    if (hasToMove) return { session: place.session, goesOn: place };
    const { progress } = output;
    await writeSentence(
      progress,
      progress.style(
        "dim",
        `Continue later with: ${resumeCommand({ ...run, session: place.session })}`,
      ),
    );
    return DONE;
  }
  const resumed = await session.view();
  const [waits] = waitingForClients(resumed);
  if (waits !== undefined)
    throw new TurnlogError("COMMAND_REFUSED", waits, { session: session.id });
  const { calls } = conversationOf(resumed);
  const view = json ? jsonView(output, session.id) : textView(output, asker(run), calls);
  if (isAsking(resumed)) {
    const ended = await finishTurn(session, view, interrupts);
    if (ended === "cancelled") return INTERRUPTED;
  }
  const { finishReason } = await runTurn(session, message, view, interrupts);
  const warning = contextWarning(await session.context());
  if (warning !== undefined) {
    await writeSentence(output.progress, output.progress.style("yellow", warning));
  }
  // A failed turn has thrown; a turn that reached a limit still has an answer.
  return finishReason === "cancelled" ? INTERRUPTED : DONE;
}

/** Larger files are not compared with what shall be written. */
const MOST_COMPARED = 262_144;

/** Of a file that the tool of the chat's own agent would replace; a server's tool may mean another folder. */
function presentText(toolName: string, path: string): string | undefined {
  if (toolName !== "write_file") return undefined;
  try {
    const found = statSync(path);
    if (!found.isFile() || found.size > MOST_COMPARED) return undefined;
    // Files of the system say 0, and reading one of them may wait forever.
    return found.size === 0 ? "" : readFileSync(path, "utf8");
  } catch {
    // There is none.
    return undefined;
  }
}

function asker({ canAsk }: ChatRun): AskApproval | undefined {
  return canAsk ? askApproval : undefined;
}

/** Repeats the question until the line is an answer. An empty line means no. */
const askApproval: AskApproval = async (question, signal) => {
  for (;;) {
    // Other questions than whether a call may run say themselves how they are answered.
    const how = question.endsWith("?") ? ` (${ANSWERS})` : "";
    const line = await askLine(`${question}${how}`, signal);
    if (line === undefined) return { kind: "left" };
    const answer = readAnswer(line.trim() === "" ? "no" : line);
    if (answer !== undefined) return { kind: "answered", answer };
  }
};
