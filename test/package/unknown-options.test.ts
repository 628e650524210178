/**
 * No option is ignored: each public function refuses a key that it does not know, names it, and says
 * the nearest known one. The types refuse it too: each line below an `@ts-expect-error` has to be an
 * error, or it does not compile.
 */

import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ToolLoopAgent, tool, type ToolLoopAgentSettings, type ToolSet } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { repairLog } from "../../src/store/leveldb/index.ts";
import { forkSession, redactSession } from "../../src/archive/index.ts";
import {
  agentTool,
  checkpoint,
  uiStream,
  byImportance,
  createRuntime,
  dropMiddle,
  dropOldest,
  encryptedLog,
  exportFixture,
  exportSession,
  folderBlobs,
  folderKeys,
  importMessages,
  importSession,
  memoryBlobs,
  masterKeys,
  memoryKeys,
  mirrorSession,
  offlineModel,
  openLog,
  openMemoryLog,
  overflow,
  promptWithMedia,
  providerCounter,
  readBill,
  readContext,
  readSessionFile,
  slidingWindow,
  summarize,
  tokenizer,
  verifyLog,
  verifySession,
  type Agent,
  type EventLog,
  type Runtime,
  type RuntimeOptions,
  type Session,
  type StoreLog,
} from "../../src/public/index.ts";
import { usage } from "../../src/public/projections.ts";
import { openPostgresLog } from "../../src/public/postgres.ts";
import { mcpServer } from "../../src/public/protocols.ts";
import { createServer, serveNode } from "../../src/public/server.ts";
import { openSqliteLog } from "../../src/public/sqlite.ts";
import { callCost, modelLimits, planCuts, planPruning } from "../../src/context/index.ts";
import { recordedPace, scriptedModel } from "../../src/models/index.ts";
import { replay } from "../../src/replay/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { storedEvents } from "../support/replay.ts";

const model = scriptedModel(() => "Fine.");
const echo = tool({ inputSchema: z.object({}), execute: () => 1 });

let dir = "";
let log: StoreLog;
let runtime: Runtime;
let session: Session;
let events: readonly SessionEvent[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "turnlog-options-"));
  log = await openLog({ dir: join(dir, "store") });
  runtime = await createRuntime({ log, agent: { model } });
  session = await runtime.session("s");
  await (
    await session.send("Go.", { id: "m" })
  ).result;
  events = await storedEvents(log, "s");
});

afterAll(async () => {
  await runtime.close();
  await log.close();
  await rm(dir, { recursive: true, force: true });
});

/** What comes of an act: the error, or "taken". A generator is asked for its first value. */
async function outcome(act: () => unknown): Promise<unknown> {
  try {
    const answer: unknown = await act();
    if (typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer) {
      const iterator = (answer as AsyncIterable<unknown>)[Symbol.asyncIterator]();
      await iterator.next();
      await iterator.return?.();
    }
    if (typeof answer === "object" && answer !== null && "close" in answer)
      await (answer as Runtime).close();
    return "taken";
  } catch (error) {
    return error;
  }
}

type Row = readonly [option: string, nearest: string | undefined, act: () => unknown];

type InMemory = Extract<RuntimeOptions, { readonly memory: true }>;
const open = (options: Omit<InMemory, "agent" | "agents" | "memory">): Promise<Runtime> =>
  createRuntime({ memory: true, agent: { model }, ...options });
const run = (agent: Omit<Agent, "model">): Promise<Runtime> =>
  createRuntime({ memory: true, agent: { model, ...agent } });
const someModel = { provider: "p", modelId: "m" };

// oxfmt-ignore
const rows: readonly Row[] = [
  // @ts-expect-error -- unknown
  ["recover", "recovery", () => open({ recover: "continue" })],
  // @ts-expect-error -- unknown
  ["durabilty", "durability", () => createRuntime({ dir, agent: { model }, durabilty: "os" })],
  // @ts-expect-error -- no effect in memory
  ["durability", undefined, () => createRuntime({ memory: true, agent: { model }, durability: "os" })],
  // @ts-expect-error -- no effect with a log of one's own
  ["durability", undefined, () => createRuntime({ log, agent: { model }, durability: "os" })],
  // @ts-expect-error -- unknown
  ["attachments.timeout", "timeoutMs", () => open({ attachments: { timeout: 5 } })],
  // @ts-expect-error -- unknown
  ["blobs.maxByte", "maxBytes", () => open({ blobs: { maxByte: 5 } })],
  // @ts-expect-error -- unknown
  ["testing.clocks", "clock", () => open({ testing: { clocks: () => 0 } })],
  // @ts-expect-error -- unknown
  ["encryption.key", "keys", () => open({ encryption: { keys: memoryKeys(), key: "k" } })],
  // @ts-expect-error -- unknown
  ["mcp.files.arg", "args", () => open({ mcp: { files: { command: "x", arg: [] } } })],
  // @ts-expect-error -- of a server with an address
  ["mcp.files.header", "headers", () => open({ mcp: { files: { url: "http://x", header: {} } } })],
  // @ts-expect-error -- of a process
  ["mcp.files.cwd", undefined, () => open({ mcp: { files: { url: "http://x", cwd: "/" } } })],
  // @ts-expect-error -- unknown
  ["agent.instruction", "instructions", () => run({ instruction: "Be brief." })],
  // @ts-expect-error -- unknown
  ["agent.maxStep", "maxSteps", () => run({ maxStep: 3 })],
  // @ts-expect-error -- unknown
  ["agent.max_steps", "maxSteps", () => run({ max_steps: 3 })],
  // @ts-expect-error -- unknown
  ["agent.telemetry.enabled", "isEnabled", () => run({ telemetry: { enabled: false } })],
  // @ts-expect-error -- unknown
  ["agent.timeLimits.callMS", "callMs", () => run({ timeLimits: { callMS: 3 } })],
  // @ts-expect-error -- unknown
  ["agent.loopGuard.steps", undefined, () => run({ loopGuard: { calls: 3, texts: 3, steps: 3 } })],
  // @ts-expect-error -- unknown
  ["agent.promptCaching", "promptCache", () => run({ promptCaching: "auto" })],
  // @ts-expect-error -- unknown
  ["agent.promptCache.ttls", "ttl", () => run({ promptCache: { ttl: "5m", ttls: 1 } })],
  // @ts-expect-error -- no such lifetime
  ["agent.promptCache.ttl", undefined, () => run({ promptCache: { ttl: "24h" } })],
  // @ts-expect-error -- unknown
  ["agent.temprature", "temperature", () => run({ temprature: 0 })],
  // @ts-expect-error -- unknown
  ["agent.toolPolicies.echo.idempotente", "idempotent", () => run({ tools: { echo }, toolPolicies: { echo: { idempotente: true } } })],
  ["agent.toolPolicies.ecko", "echo", () => run({ tools: { echo }, toolPolicies: { ecko: { idempotent: true } } })],
  ["agent.toolPolicies.echo", undefined, () => run({ toolPolicies: { echo: { idempotent: true } } })],
  ["agent.activeTools", "echo", () => run({ tools: { echo }, activeTools: ["ecko"] })],
  ["agent.toolOrder", "echo", () => run({ tools: { echo }, toolOrder: ["ecko"] })],
  ["agent.toolChoice", "echo", () => run({ tools: { echo }, toolChoice: { type: "tool", toolName: "ecko" } })],
  ["agent.toolApproval.ecko", "echo", () => run({ tools: { echo }, toolApproval: { ecko: "denied" } })],
  ["agent.toolsContext.ecko", "echo", () => run({ tools: { echo }, toolsContext: { ecko: {} } })],
  ["agent.experimental_refineToolInput.ecko", "echo", () => run({ tools: { echo }, experimental_refineToolInput: { ecko: (input) => input as unknown } })],
  ["agent.timeout.tools.eckoMs", "echo", () => run({ tools: { echo }, timeout: { tools: { eckoMs: 3 } } })],
  // @ts-expect-error -- unknown
  ["agent.timeout.totalMS", "totalMs", () => run({ timeout: { totalMS: 3 } })],
  // @ts-expect-error -- unknown
  ["agent.context.compaction", "compact", () => run({ context: { compaction: false } })],
  // @ts-expect-error -- unknown
  ["agent.context.prune.keepTool", "keepTools", () => run({ context: { prune: { keepTool: [] } } })],
  // @ts-expect-error -- unknown
  ["agent.context.cut.shares", "share", () => run({ context: { cut: { shares: 0.5 } } })],
  // @ts-expect-error -- unknown
  ["agent.context.media.picture", "pictures", () => run({ context: { media: { picture: 5 } } })],
  // @ts-expect-error -- unknown
  ["agent.context.compact.hows", "how", () => run({ context: { compact: { when: overflow(), how: summarize(), hows: 1 } } })],
  // @ts-expect-error -- unknown
  ["agent.context.limits.m.window", "contextWindow", () => run({ context: { limits: { m: { window: 5 } } } })],
  // @ts-expect-error -- unknown
  ["agent.context.limits.m.prices.in", undefined, () => run({ context: { limits: { m: { prices: { input: 1, output: 1, in: 1 } } } } })],
  // @ts-expect-error -- unknown
  ["agent.tools.pay.needApproval", "needsApproval", () => run({ tools: { pay: { inputSchema: z.object({}), needApproval: true } } })],
  // @ts-expect-error -- required
  ["agent.tools.pay.inputSchema", undefined, () => run({ tools: { pay: { execute: () => 1 } } })],
  // @ts-expect-error -- a plain JSON schema is not one of the SDK's
  ["agent.tools.pay.inputSchema", undefined, () => run({ tools: { pay: { inputSchema: { type: "object" } } } })],
  ["agent.tools.pay.inputSchema", undefined, () => run({ tools: { pay: tool({ inputSchema: z.object({ at: z.date() }) }) } })],
  // @ts-expect-error -- unknown
  ["options.shema", "schema", () => openPostgresLog({ connectionString: "postgres://h/d", shema: "a" })],
  // @ts-expect-error -- unknown
  ["options.durabilty", "durability", () => openSqliteLog({ file: "a.db", durabilty: "os" })],
  // @ts-expect-error -- unknown
  ["options.nam", "name", () => mcpServer(runtime, { nam: "clerk" })],
  // @ts-expect-error -- unknown
  ["options.origin", "origins", () => createServer(runtime, { origin: [] })],
  // @ts-expect-error -- unknown
  ["options.limits.bodySize", undefined, () => createServer(runtime, { limits: { bodySize: 5 } })],
  // @ts-expect-error -- unknown
  ["options.prot", "port", () => serveNode(runtime, { prot: 0 })],
  // @ts-expect-error -- unknown
  ["agents.coder.maxStep", "maxSteps", () => createRuntime({ memory: true, agents: { coder: { model, maxStep: 3 } } })],
  // @ts-expect-error -- one of the two
  ["agent", undefined, () => createRuntime({ memory: true, agent: { model }, agents: { coder: { model } } })],
  // @ts-expect-error -- one of the two
  ["agent", undefined, () => createRuntime({ memory: true })],
  ["agents", undefined, () => createRuntime({ memory: true, agents: {} })],
  ["agents.coder.activeTools", "echo", () => createRuntime({ memory: true, agents: { coder: { model, tools: { echo }, activeTools: ["ecko"] } } })],
  ["agent.maxStep", "maxSteps", async () => (await createRuntime({ memory: true, agent: () => ({ model, maxStep: 3 }) })).session("s")],
  // @ts-expect-error -- unknown
  ["changes.agents", "agent", () => session.configure({ agents: "coder" })],
  ["agent", undefined, () => session.configure({ agent: "coder" })],
  // @ts-expect-error -- unknown
  ["query.limits", "limit", () => runtime.sessions({ limits: 3 })],
  // @ts-expect-error -- unknown
  ["query.olderthan", "olderThan", () => runtime.deleteSessions({ olderthan: new Date() })],
  // @ts-expect-error -- unknown
  ["limits.sessions", "session", () => open({ limits: { sessions: { tokens: 1 } } })],
  // @ts-expect-error -- unknown
  ["limits.perKey.userId.token", "tokens", () => open({ limits: { perKey: { userId: { tokens: 1, token: 1 } } } })],
  // @ts-expect-error -- unknown
  ["options.were", "where", () => runtime.approvals({ were: {} })],
  // @ts-expect-error -- unknown
  ["options.mayAnswers", "mayAnswer", () => runtime.finishLogin(new URLSearchParams(), { mayAnswers: () => true })],
  // @ts-expect-error -- unknown
  ["options.parallel", undefined, () => runtime.resumeAll({ parallel: 3 })],
  // @ts-expect-error -- unknown
  ["options.leave", "leaveTurns", () => runtime.close({ leave: true })],
  // @ts-expect-error -- unknown
  ["resume", undefined, () => open({ resume: "none" })],
  // @ts-expect-error -- unknown
  ["options.notbefore", "notBefore", () => session.send("x", { notbefore: new Date() })],
  // @ts-expect-error -- unknown
  ["to.notbefore", "notBefore", () => session.reschedule("m", { notbefore: new Date() })],
  // @ts-expect-error -- unknown
  ["options.create", "createIfMissing", () => runtime.session("s", { create: false })],
  // @ts-expect-error -- unknown
  ["options.fork", "forks", () => runtime.delete("s", { fork: "copy" })],
  // @ts-expect-error -- unknown
  ["options.person", undefined, () => session.markSeen({ person: "ann" })],
  // @ts-expect-error -- unknown
  ["options.why", undefined, () => runtime.redact("s", [], { why: "asked" })],
  // @ts-expect-error -- unknown
  ["options.who", undefined, () => session.compact(undefined, { who: "ann" })],
  // @ts-expect-error -- unknown
  ["reasonOrOptions.why", undefined, () => session.withdraw("m", { why: "late" })],
  // @ts-expect-error -- unknown
  ["options.progress", "onProgress", () => log.backup(join(dir, "b"), { progress: () => {} })],
  // @ts-expect-error -- unknown
  ["options.messageId", undefined, () => session.send("x", { messageId: "m" })],
  // @ts-expect-error -- unknown
  ["message.file", "files", () => session.send({ text: "x", files: [], file: "a.txt" })],
  // @ts-expect-error -- unknown
  ["options.modes", "mode", () => session.cancel({ modes: "now" })],
  // @ts-expect-error -- unknown
  ["answer.forever", undefined, () => session.approve("c", { forever: true })],
  // @ts-expect-error -- unknown
  ["answer.reasons", "reason", () => session.deny("c", { reasons: "no" })],
  // @ts-expect-error -- unknown
  ["options.at", undefined, () => session.context({ at: 3 })],
  // @ts-expect-error -- unknown
  ["options.whatif", "whatIf", () => session.bill({ whatif: { caching: false } })],
  // @ts-expect-error -- unknown
  ["options.whatIf.cachin", "caching", () => session.bill({ whatIf: { cachin: false } })],
  // @ts-expect-error -- unknown
  ["options.prices", undefined, () => readBill(log, "s", { prices: {} })],
  // @ts-expect-error -- unknown
  ["options.beforeTurns", "beforeTurn", () => session.rewind({ beforeTurns: 2 })],
  // @ts-expect-error -- unknown
  ["options.compaction", "compact", () => session.preview({ compaction: slidingWindow() })],
  // @ts-expect-error -- unknown
  ["options.positions", "position", () => session.fork({ positions: 3 })],
  // @ts-expect-error -- unknown
  ["options.steps", "step", () => session.rerun({ steps: 1 })],
  // @ts-expect-error -- unknown
  ["options.tells", "tell", () => session.checkout(1, { tells: true })],
  // @ts-expect-error -- unknown
  ["options.message", "messageId", () => session.regenerate({ message: "m1" })],
  // @ts-expect-error -- unknown
  ["options.since", undefined, () => session.events({ since: 1 })],
  // @ts-expect-error -- unknown
  ["options.why", undefined, () => session.redact(1, { why: "asked" })],
  // @ts-expect-error -- unknown
  ["agent.maxStep", "maxSteps", () => session.fork({ agent: { model, maxStep: 3 } })],
  ["agent.toolPolicies.echo", undefined, () => session.fork({ agent: { model, toolPolicies: { echo: {} } } })],
  // @ts-expect-error -- unknown
  ["options.keepMessage", "keepMessages", () => checkpoint({ keepMessage: 3 })],
  // @ts-expect-error -- unknown
  ["options.head", "headTokens", () => dropMiddle({ head: 3 })],
  // @ts-expect-error -- unknown
  ["options.keeps", "keep", () => byImportance({ keeps: 3 })],
  // @ts-expect-error -- unknown
  ["options.keepTurn", "keepTurns", () => dropOldest({ keepTurns: 1, keepTurn: 3 })],
  // @ts-expect-error -- required
  ["options", undefined, () => dropOldest()],
  // @ts-expect-error -- unknown
  ["options.token", "tokens", () => slidingWindow({ token: 3 })],
  // @ts-expect-error -- unknown
  ["options.maxToken", "maxTokens", () => summarize({ maxToken: 3 })],
  // @ts-expect-error -- unknown
  ["options.exakt", "exact", () => tokenizer((text) => text.length, { exakt: true })],
  // @ts-expect-error -- unknown
  ["options.timeout", "timeoutMs", () => providerCounter(() => model, { timeout: 3 })],
  // @ts-expect-error -- unknown
  ["known.override", "overrides", () => modelLimits(someModel, 1, { override: {} })],
  // @ts-expect-error -- unknown
  ["known.override", "overrides", () => callCost(someModel, {}, 1, { override: {} })],
  // @ts-expect-error -- unknown
  ["options.keepTool", "keepTools", () => planPruning({ options: { keepTool: [] }, occasion: "step" })],
  // @ts-expect-error -- unknown
  ["options.shares", "share", () => planCuts({ options: { shares: 0.5 } })],
  // @ts-expect-error -- unknown
  ["delays", "delay", () => offlineModel({ delays: 3 })],
  // @ts-expect-error -- unknown
  ["options.synced", "sync", () => folderBlobs(dir, { synced: true })],
  // @ts-expect-error -- unknown
  ["options.max", "maxBytes", () => folderBlobs(dir).put(new Uint8Array(1), { max: 3 })],
  // @ts-expect-error -- unknown
  ["options.max", "maxBytes", () => memoryBlobs().put(new Uint8Array(1), { max: 3 })],
  // @ts-expect-error -- unknown
  ["options.only", undefined, () => memoryBlobs().collect(async () => new Set(), { only: [] })],
  // @ts-expect-error -- a text
  ["folder", undefined, () => folderKeys({ dir })],
  // @ts-expect-error -- unknown
  ["options.former", undefined, () => masterKeys(memoryKeys(), { current: new Uint8Array(32), former: [] })],
  // @ts-expect-error -- unknown
  ["options.without", "withoutKey", () => encryptedLog(log, memoryKeys(), { without: "redact" })],
  // @ts-expect-error -- unknown
  ["creates", "create", () => openLog({ dir: join(dir, "other"), creates: false })],
  // @ts-expect-error -- unknown
  ["force", undefined, () => repairLog({ dir: join(dir, "other"), force: true })],
  // @ts-expect-error -- unknown
  ["range.backward", "backwards", () => log.read("s", { backward: true })],
  // @ts-expect-error -- unknown
  ["options.since", undefined, () => log.subscribe("s", { since: 1 })],
  // @ts-expect-error -- unknown
  ["options.since", undefined, () => log.subscribeAll({ since: 1 })],
  // @ts-expect-error -- unknown
  ["options.since", undefined, () => log.readAll({ since: 1 })],
  // @ts-expect-error -- unknown
  ["options.prefixes", "prefix", () => log.list({ prefixes: "s" })],
  // @ts-expect-error -- unknown
  ["options.fork", "forks", () => log.delete("s", { fork: "copy" })],
  // @ts-expect-error -- unknown
  ["options.by", undefined, () => log.append("s", "any", [], { by: {} })],
  // @ts-expect-error -- unknown
  ["options.id", undefined, () => forkSession(log, "s", { as: "f", id: "g" })],
  // @ts-expect-error -- unknown
  ["options.why", undefined, () => redactSession(log, "s", [], { why: "asked" })],
  // @ts-expect-error -- unknown
  ["options.blob", "blobs", () => exportSession(log, "s", { blob: "none" })],
  // @ts-expect-error -- unknown
  ["options.homes", "home", () => exportFixture(log, "s", { homes: "/x" })],
  // @ts-expect-error -- unknown
  ["options.verified", "verify", () => readSessionFile([], { verified: false })],
  // @ts-expect-error -- unknown
  ["options.verified", "verify", () => importSession(log, [], { verified: false })],
  // @ts-expect-error -- unknown
  ["options.form", "from", () => importMessages(log, [], { as: "i", form: "openai" })],
  // @ts-expect-error -- unknown
  ["options.agent", "agents", () => readContext(log, "s", { agent: { model } })],
  // @ts-expect-error -- unknown
  ["options.agents.instruction", "instructions", () => readContext(log, "s", { agents: [{ instruction: "" }] })],
  // @ts-expect-error -- unknown
  ["options.models", "model", () => promptWithMedia(log, "s", { models: [] })],
  // @ts-expect-error -- unknown
  ["options.ever", "every", () => verifyLog(log, { ever: 3 })],
  // @ts-expect-error -- unknown
  ["options.chains", "chain", () => verifySession(log, "s", { chains: {} })],
  // @ts-expect-error -- unknown
  ["options.onErrors", "onError", () => mirrorSession(session, { signal: AbortSignal.abort(), onError: () => {}, onErrors: 1 })],
  // @ts-expect-error -- unknown
  ["options.form", "from", () => runtime.consume("c", () => {}, { form: 1 })],
  // @ts-expect-error -- unknown
  ["options.key", undefined, () => session.append("app.noted", {}, { key: "k" })],
  // @ts-expect-error -- unknown
  ["options.at", undefined, () => session.project(usage, { at: 1 })],
  // @ts-expect-error -- unknown
  ["options.abort", undefined, () => session.follow(usage, { abort: 1 })],
  // @ts-expect-error -- unknown
  ["options.signals", "signal", () => session.atRest({ signals: AbortSignal.abort() })],
  // @ts-expect-error -- unknown
  ["options.maxDeep", "maxDepth", () => agentTool({ agent: { model }, description: "d", maxDeep: 1 })],
  // @ts-expect-error -- unknown
  ["options.untilRested", "untilRest", () => uiStream(session, { untilRested: false })],
  // @ts-expect-error -- unknown
  ["options.longest", "longestMs", () => recordedPace(events, "recorded", { longest: 3 })],
  // @ts-expect-error -- unknown
  ["options.patience", "patienceMs", () => replay(events, { model }, { patience: 3 })],
  // @ts-expect-error -- unknown
  ["agent.maxStep", "maxSteps", () => replay(events, { model, maxStep: 3 })],
  // @ts-expect-error -- unknown
  ["step 1.part", "parts", () => scriptedModel([{ part: [] }])],
  // @ts-expect-error -- unknown
  ["step 1.parts.0.delta", "deltas", () => scriptedModel([{ parts: [{ type: "text", deltas: [], delta: "x" }] }])],
  // @ts-expect-error -- one of both
  ["step 1.parts.0.text", undefined, () => scriptedModel([{ parts: [{ type: "text", text: "Hi.", deltas: [] }] }])],
  // @ts-expect-error -- no such part
  ["step 1.parts.0.type", undefined, () => scriptedModel([{ parts: [{ type: "tool_call", toolName: "a" }] }])],
  // @ts-expect-error -- not a step
  ["step 2", undefined, () => scriptedModel(["Hi.", 5])],
  // @ts-expect-error -- not a script
  ["script", undefined, () => scriptedModel("Hi.")],
];

describe("an option that is not known, or has no effect", () => {
  it.each(rows)("is refused: %s (meant: %s)", async (option, nearest, act) => {
    const refused = await outcome(act);
    expect(refused).toMatchObject({ code: "INVALID_INPUT" });
    expect(refused).toMatchObject({
      details: { option: expect.stringContaining(option) as unknown },
    });
    expect(String(refused)).toContain(option);
    expect((refused as { details: { nearest?: string } }).details.nearest).toBe(nearest);
    expect(String(refused)).toMatch(
      new RegExp(nearest === undefined ? "" : `Did you mean .*${nearest}`),
    );
  });

  it("leaves the session and the store as they were", async () => {
    for (const [, , act] of rows) await outcome(act);
    expect(await storedEvents(log, "s")).toEqual(events);
    expect((await Array.fromAsync(log.list())).map((one) => one.session)).toEqual(["s"]);
  });

  it("is refused where it is inherited, and by a getter that throws", async () => {
    const inherited: unknown = Object.create(
      { maxStep: 3 },
      { model: { value: model, enumerable: true } },
    );
    const refused = await outcome(() => createRuntime({ memory: true, agent: inherited as Agent }));
    expect(refused).toMatchObject({ details: { option: "agent.maxStep" } });
    const throwing = {
      get delivery(): "steer" {
        throw new Error("no");
      },
    };
    expect(await outcome(() => session.send("x", throwing))).toMatchObject({
      code: "INVALID_INPUT",
    });
  });

  it("without a value counts as left out", async () => {
    const agent = { model, maxStep: undefined, toolApproval: undefined } as unknown as Agent;
    expect(await outcome(() => createRuntime({ memory: true, agent }))).toBe("taken");
  });
});

/** Options of functions that a store or a model calls, and not a user. */
const internal: ReadonlySet<string> = new Set([
  "AppendOptions",
  "EventsOptions",
  "FollowOptions",
  "LanguageModelCallOptions",
]);

it("every options type that a schema checks has a row above", async () => {
  const source = await readFile(import.meta.filename, "utf8");
  const root = fileURLToPath(new URL("../../src/", import.meta.url));
  const files = (await readdir(root, { recursive: true })).filter((name) => name.endsWith(".ts"));
  const texts = await Promise.all(files.map((file) => readFile(join(root, file), "utf8")));
  const checked = texts
    .flatMap((text) => [
      ...text.matchAll(
        /(?:optionsOf|options|requiredOptions)<(\w+(?:Options|Limits|Budget|Changes|Server))>/g,
      ),
    ])
    .map(([, name = ""]) => name);
  const types = [...new Set(checked)].filter((name) => !internal.has(name));
  expect(types.length).toBeGreaterThan(30);
  expect(types.filter((name) => covered[name] === undefined)).toEqual([]);
  const missing = Object.values(covered).filter((option) => !source.includes(`["${option}`));
  expect(missing).toEqual([]);
});

/** By the type, the beginning of its row. */
const covered: Readonly<Record<string, string>> = {
  AgentChanges: "options.positions",
  CompactOptions: "options.who",
  PositionOptions: "options.at",
  BillOptions: "options.whatif",
  WhatIf: "options.whatIf.cachin",
  ReadBillOptions: "options.prices",
  RewindOptions: "options.beforeTurns",
  WithdrawOptions: "reasonOrOptions.why",
  AgentToolOptions: "options.maxDeep",
  ApprovalsOptions: "options.were",
  FinishLoginOptions: "options.mayAnswers",
  MasterKeyOptions: "options.former",
  SpendingLimits: "limits.sessions",
  PostgresLogOptions: "options.shema",
  SqliteLogOptions: "options.durabilty",
  AttachmentOptions: "attachments.timeout",
  CloseOptions: "options.leave",
  ResumeOptions: "options.parallel",
  ScheduleOptions: "to.notbefore",
  BackupOptions: "options.progress",
  BlobLimits: "blobs.maxByte",
  BlobOptions: "blobs.maxByte",
  ByImportanceOptions: "options.keeps",
  CallLimits: "agent.timeLimits.callMS",
  CancelOptions: "options.modes",
  CheckpointOptions: "options.keepMessage",
  CollectOptions: "options.only",
  ConsumeOptions: "options.form",
  CompactionChoice: "agent.context.compact.hows",
  ContextOptions: "agent.context.compaction",
  CutOptions: "agent.context.cut.shares",
  DeleteOptions: "options.fork",
  DeletionOptions: "options.fork",
  PersonOptions: "options.person",
  DropMiddleOptions: "options.head",
  DropOldestOptions: "options.keepTurn",
  EncryptedLogOptions: "options.without",
  ExportOptions: "options.blob",
  FixtureOptions: "options.homes",
  FolderBlobsOptions: "options.synced",
  ForkOptions: "options.positions",
  ForkSessionOptions: "options.id",
  HttpMcpServer: "mcp.files.header",
  ImportOptions: "options.verified",
  ImportSessionOptions: "options.verified",
  KnownLimits: "known.override",
  LoggedContextOptions: "options.agent",
  LoopLimits: "agent.loopGuard.steps",
  McpServer: "mcp.files.arg",
  MediaBudget: "agent.context.media.picture",
  // What is known of a model: an answer.
  MediaLimits: "agent.context.media.picture",
  MessageImportOptions: "options.id",
  MessagesOptions: "options.form",
  MirrorOptions: "options.onErrors",
  ModelLimits: "agent.context.limits.m.window",
  OfflineModelOptions: "delays",
  OpenLogOptions: "creates",
  OpenSessionOptions: "options.create",
  PaceOptions: "options.longest",
  PreviewOptions: "options.compaction",
  PromptWithMediaOptions: "options.models",
  ProviderCounterOptions: "options.timeout",
  PruneOptions: "agent.context.prune.keepTool",
  PutOptions: "options.max",
  // A word, and no object.
  RecoveryPolicy: "recover",
  RedactOptions: "options.why",
  RedactSessionOptions: "options.why",
  RepairOptions: "force",
  ReplayOptions: "options.patience",
  MoveOptions: "options.tells",
  RegenerateOptions: "options.message",
  RerunOptions: "options.steps",
  RestOptions: "options.signals",
  RuntimeOptions: "recover",
  SendOptions: "options.messageId",
  SlidingWindowOptions: "options.token",
  StdioMcpServer: "mcp.files.arg",
  StoreOptions: "durabilty",
  SummarizeOptions: "options.maxToken",
  TelemetryOptions: "agent.telemetry.enabled",
  TestingOptions: "testing.clocks",
  TimeLimits: "agent.timeLimits.callMS",
  TokenizerOptions: "options.exakt",
  ToolPolicy: "agent.toolPolicies.echo.idempotente",
  UserInput: "message.file",
  VerifyOptions: "options.ever",
  VerifySessionOptions: "options.chains",
  ServeOptions: "options.prot",
  ServerLimits: "options.limits.bodySize",
  McpServerOptions: "options.nam",
  ServerOptions: "options.origin",
};

describe("a setting of the AI SDK's `ToolLoopAgent`", () => {
  it("that is not supported is refused, and the refusal says what to do", async () => {
    const unsupported = {
      needsApproval: "`toolApproval`",
      settings: "`temperature: 0`",
      maxAttempts: "`maxRetries`",
      toolConcurrency: "`toolCallConcurrency`",
      toolTimeoutMs: "`timeout: { toolMs }`",
    };
    for (const [name, advice] of Object.entries(unsupported)) {
      const agent = { model, tools: { echo }, [name]: () => ({ type: "denied" }) } as Agent;
      const refused = await outcome(() => createRuntime({ memory: true, agent }));
      expect(refused).toMatchObject({
        code: "INVALID_INPUT",
        details: { option: `agent.${name}` },
      });
      expect(String(refused)).toContain("not supported");
      expect(String(refused)).toContain(advice);
    }
  });

  it("does not compile as an agent, also as a variable", () => {
    const settingsOfSdk = { model, experimental_toolApprovalSecret: "secret" } as const;
    // @ts-expect-error -- an agent has no such secret
    const agent: Agent = settingsOfSdk;
    expect(agent.model).toBe(model);
  });

  it("is not read from an instance: its settings are private", async () => {
    const instance = new ToolLoopAgent({
      model,
      tools: { echo },
      toolApproval: { echo: "denied" },
    });
    const refused = await outcome(() =>
      createRuntime({ memory: true, agent: instance as unknown as Agent }),
    );
    expect(refused).toMatchObject({ code: "INVALID_INPUT" });
    expect(String(refused)).toContain("private");
  });

  it("that is supported is taken", async () => {
    const agent: ToolLoopAgentSettings<never, ToolSet> & Agent = {
      model,
      instructions: "Be brief.",
      tools: { echo },
      headers: { a: "b" },
      providerOptions: { p: {} },
      repairToolCall: async () => null,
    };
    expect(await outcome(() => createRuntime({ memory: true, agent }))).toBe("taken");
  });
});

it("a step that a script's function makes wrongly fails its turn by name", async () => {
  const wrong = scriptedModel(() => ({ parts: [{ type: "text", delta: "Hi." }] }) as never);
  const memory: EventLog = await openMemoryLog();
  await using other = await createRuntime({ log: memory, agent: { model: wrong } });
  const turn = await (await other.session("w")).send("Go.");
  await expect(turn.result).rejects.toThrow("step 1.parts.0");
});

it("a tool may have marks of the library that made it", async () => {
  const marked = { ...echo, _meta: { ui: {} } };
  expect(await outcome(() => run({ tools: { marked } }))).toBe("taken");
});
