/** Runs one cell of the matrix: an act in its circumstances, then all that was left continues to its end, then the laws. */

import { isDeepStrictEqual } from "node:util";
import { TurnlogError } from "../../src/public/index.ts";
import { eventually } from "../support/eventually.ts";
import { viewProblems } from "../support/view-problems.ts";
import type { Act } from "./acts.ts";
import { past, type Place, type Running } from "./circumstances.ts";
import { approvalProblems, sessionProblems } from "./laws.ts";
import { grown, LeftoverWatch, type Leftovers } from "./leftovers.ts";
import { Scene } from "./scene.ts";
import { Stage } from "./stage.ts";

export interface Cell {
  readonly act: Act;
  readonly running: Running;
  readonly place: Place;
}

export type Outcome =
  | { readonly kind: "passes" }
  /** By design: with the sentence of the error. */
  | { readonly kind: "refused" | "impossible"; readonly why: string }
  | { readonly kind: "fails"; readonly problems: readonly string[] };

/** What a command may be told by design. */
const refusals: ReadonlySet<string> = new Set([
  "COMMAND_REFUSED",
  "APPROVAL_ANSWERED",
  "CALL_ANSWERED",
  "SESSION_HAS_FORKS",
  "SESSION_ELSEWHERE",
]);

/** A minute of the stage's time. */
const MINUTE_MS = 60_000;

/** @param times - How often it is done in one runtime: then nothing may be left behind of those that have ended. */
export async function runCell(cell: Cell, times = 1): Promise<Outcome> {
  const rejections: unknown[] = [];
  const listeners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (error) => rejections.push(error));
  try {
    using watch = new LeftoverWatch();
    const { refused, impossible, problems } = await onStage(cell, times, watch);
    const all = [...problems, ...rejections.map((error) => `nobody handles: ${String(error)}`)];
    if (all.length > 0) return { kind: "fails", problems: all };
    if (impossible !== undefined) return { kind: "impossible", why: impossible };
    return refused === undefined ? { kind: "passes" } : { kind: "refused", why: refused };
  } finally {
    process.removeAllListeners("unhandledRejection");
    for (const listener of listeners) process.on("unhandledRejection", listener);
  }
}

interface Played {
  readonly refused?: string | undefined;
  readonly impossible?: string | undefined;
  readonly problems: readonly string[];
}

async function onStage(cell: Cell, times: number, watch: LeftoverWatch): Promise<Played> {
  const { act, running, place } = cell;
  const passivates = act.passivates === true || place.options?.idleAfterMs !== undefined;
  await using stage = await Stage.open({
    ...running.options,
    ...place.options,
    ...(act.encrypted === undefined ? {} : { encrypted: true }),
    ...(passivates ? { idleAfterMs: 1 } : {}),
  });
  let first: Leftovers | undefined;
  for (let time = 1; ; time++) {
    stage.holdAgain();
    const scene = await Scene.open(stage, `s${time}`);
    const played = await play(scene, cell);
    if (played.impossible !== undefined || played.problems.length > 0) return played;
    if (times === 1) return { ...played, problems: await reopeningProblems(scene) };
    if (!passivates) await deleteAll(stage);
    await scene.calm();
    stage.forgetCalls();
    if (first !== undefined && time === times)
      return { ...played, problems: grown(first, watch.count()) };
    first ??= watch.count();
  }
}

async function play(scene: Scene, { act, running, place }: Cell): Promise<Played> {
  await past(scene);
  await place.before?.(scene);
  await running.prepare(scene);
  scene.view = await scene.session.view();
  await place.after?.(scene);
  if (place.fails === undefined) scene.view = await scene.session.view();
  const { problems } = scene;
  const impossible = act.impossible?.(scene);
  if (impossible !== undefined) return { impossible, problems: [] };
  const acting = attempt(act, scene, place);
  // It may wait for what runs.
  await Promise.race([acting, scene.calm()]);
  scene.answeredLater(acting);
  await settle(scene);
  const refused = await acting;
  await followUp(scene, refused === undefined ? act.ends : undefined);
  problems.push(...(await storeProblems(scene)));
  return { refused, problems };
}

/** Does it. Returns the sentence of a refusal. */
async function attempt(act: Act, scene: Scene, { fails = [] }: Place): Promise<string | undefined> {
  try {
    await act.run(scene);
    return undefined;
  } catch (error) {
    if (TurnlogError.isInstance(error) && (refusals.has(error.code) || fails.includes(error.code)))
      return sentenceOf(error, scene);
    scene.problems.push(`${act.name}: ${String(error)}`);
    return undefined;
  }
}

/** Without what differs from run to run. */
function sentenceOf({ code, message }: TurnlogError, { id, session }: Scene): string {
  const text = message
    .replaceAll(/[\w-]+(~[\w-]+)+/g, "…")
    .replaceAll(session.id, "s")
    .replaceAll(id, "its origin")
    .replaceAll(/\d+/g, "n");
  return `${code}: ${text}`;
}

/** All troubles end, and everything continues until nothing runs and nothing waits. */
async function settle(scene: Scene): Promise<void> {
  const { stage, problems } = scene;
  stage.mend();
  stage.release();
  await scene.calm();
  const { machine, queue } = await scene.state();
  if (!machine.matches("closed") && queue.later.length > 0)
    // Nobody opens the session.
    await eventually(async () => {
      await stage.time.pass(MINUTE_MS);
      const { later } = (await scene.state()).queue;
      if (later.length > 0) throw new Error(`${later[0]?.id} is not delivered at its time.`);
    });
  problems.push(...(await orphanProblems(scene)));
  await eventually(async () => {
    await stage.time.pass(MINUTE_MS);
    const open = await Promise.all((await sessionsOf(scene)).map((id) => attend(scene, id)));
    const left = open.filter((what) => what !== undefined);
    if (left.length > 0) throw new Error(left.join("; "));
  });
  await scene.allAnswered();
}

async function sessionsOf({ stage }: Scene): Promise<readonly string[]> {
  return await Array.fromAsync(stage.log.list(), ({ session }) => session);
}

/** Answers what a session asks, and lets it go on. Returns what it still does. */
async function attend(scene: Scene, id: string): Promise<string | undefined> {
  const session = await scene.stage.runtime.session(id);
  const { approvals, budget, outputRequests, queue, state, summary } = await session.view();
  if (state.value === "closed") return undefined;
  const [first, ...others] = approvals.filter(({ status }) => status === "waiting");
  // Of several the first only: the others must not run.
  for (const { approvalId } of others) await session.deny(approvalId, { by: "ann" });
  if (first !== undefined) await scene.approve(session, first);
  for (const { requestId, status } of outputRequests)
    if (status === "waiting") await session.answerCall(requestId, { output: "Answered." });
  if (budget !== undefined) await session.allow({ tokens: 1_000_000 });
  const isIdle = summary.status === "idle";
  if (isIdle && queue.some(({ notBefore }) => notBefore === undefined)) await session.resume();
  return isIdle && queue.length === 0 ? undefined : `${id} is ${summary.status}`;
}

/** A sub-agent asks nobody for a call that has ended. */
async function orphanProblems(scene: Scene): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const id of await sessionsOf(scene)) {
    const { summary } = await scene.state(id);
    const { parent, status } = summary;
    if (parent === undefined || status !== "awaiting-approval") continue;
    const { toolCalls } = await scene.state(parent.session);
    if (!toolCalls.open.some(({ child }) => child === id))
      problems.push(`${id} asks for approval, and the call that it runs has ended`);
  }
  return problems;
}

/** A new message is answered, unless the session has ended. */
async function followUp(scene: Scene, ended: Act["ends"]): Promise<void> {
  const { problems } = scene;
  try {
    const turn = await scene.send("say");
    const { finishReason } = await turn.result;
    if (ended !== undefined || finishReason !== "stop")
      problems.push(`the next message is answered by ${finishReason}`);
    const { queue } = await scene.session.view();
    if (queue.length > 0) problems.push(`${queue[0]?.id} still waits after the next message`);
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== ended)
      problems.push(`the next message: ${String(error)}`);
  }
}

/** Every law, for every session of the store. */
async function storeProblems(scene: Scene): Promise<readonly string[]> {
  const { stage, consumer } = scene;
  const { log, runtime } = stage;
  const problems: string[] = [];
  for (const id of await sessionsOf(scene)) {
    problems.push(...(await sessionProblems(log, id)).map((what) => `${id}: ${what}`));
    problems.push(...(await viewProblems(await runtime.session(id), log)));
  }
  problems.push(...approvalProblems(stage));
  if (consumer?.runtime === runtime) problems.push(...(await consumerProblems(scene)));
  return problems;
}

/** It comes to the end of the log by itself. */
async function consumerProblems({ stage, consumer }: Scene): Promise<readonly string[]> {
  if (consumer === undefined) return [];
  const { done } = consumer.consumer;
  let ended: string | undefined;
  done.catch((error: unknown) => (ended = String(error)));
  await eventually(async () => {
    await stage.time.pass(MINUTE_MS);
    const all = await Array.fromAsync(stage.log.readAll(), ({ position }) => position);
    const { position } = consumer.consumer;
    if (ended === undefined && position < (all.at(-1) ?? 0))
      throw new Error(`The consumer is at ${position} of ${all.at(-1)}.`);
  });
  if (ended !== undefined) return [`the consumer ended: ${ended}`];
  await consumer.consumer.stop();
  return [];
}

/** The same log in another process is the same session. */
async function reopeningProblems({ stage, session: { id } }: Scene): Promise<readonly string[]> {
  const look = async (): Promise<object | string> => {
    try {
      const session = await stage.runtime.session(id, { createIfMissing: false });
      const { history, prompt, queue, approvals, toolCalls } = await session.view();
      // Another process may have another agent.
      return { history, prompt: prompt.messages, queue, approvals, toolCalls };
    } catch (error) {
      return TurnlogError.isInstance(error) ? error.code : String(error);
    }
  };
  const before = await look();
  await stage.close();
  await stage.start();
  return isDeepStrictEqual(await look(), before) ? [] : ["opened again, it is another session"];
}

async function deleteAll({ log, runtime }: Stage): Promise<void> {
  const all = await Array.fromAsync(log.list(), ({ session }) => session);
  for (const session of all) await runtime.delete(session, { forks: "copy" });
}
