/** The schema of `createRuntime`'s options, and checks of the answers of their functions. */

import { isIP } from "node:net";
import { z } from "zod";
import { ownCopy, TurnlogError } from "../../events/index.ts";
import {
  amount,
  check,
  code,
  flag,
  implementation,
  list,
  many,
  milliseconds,
  name,
  named,
  off,
  oneOf,
  optionsOf,
  report,
  text,
  thing,
  moment,
  several,
  time,
} from "../../validation/index.ts";
import {
  type Agent,
  agentSchema,
  checkContext,
  checkTools,
  heldAgent,
  nameOf,
  schemaOfSdk,
} from "../../agent/index.ts";
import type { BillQuery, Budget } from "../../context/index.ts";
import type { AttachmentOptions, BlobOptions } from "../../media/index.ts";
import type { HttpMcpServer, McpLogin, McpServers, StdioMcpServer } from "../../mcp/index.ts";
import type {
  AgentOptions,
  Encryption,
  RuntimeOptions,
  RuntimeSettings,
  StoreOptions,
  TestingOptions,
} from "./runtime-options.ts";
import type { CircuitBreaker } from "../model/failover.ts";
import type { SpendingLimits } from "../figures/spending-ledger.ts";
import { checkToolNames } from "./named-tools.ts";
import { metadataSchema, shortText, signal } from "../../commands/index.ts";
import type { DeletionQuery } from "../../archive/index.ts";
import type { ConsumeOptions } from "./consumers.ts";
import type {
  ApprovalsOptions,
  FinishLoginOptions,
  CloseOptions,
  OpenSessionOptions,
  ResumeOptions,
} from "./runtime.ts";
import type { SessionQuery } from "../../state/index.ts";

// The schemas of the arguments of a runtime's methods. `runtime-schema.ts` has those of `createRuntime`.

export const openSessionSchema: z.ZodType = optionsOf<OpenSessionOptions>(
  { createIfMissing: flag, agent: name, metadata: metadataSchema },
  {},
);
const status = oneOf(
  "idle",
  "running",
  "awaiting-approval",
  "awaiting-output",
  "awaiting-budget",
  "closed",
);
export const sessionQuerySchema: z.ZodType = optionsOf<SessionQuery>(
  {
    where: metadataSchema,
    status: z.union([status, z.array(status)], "a status or a list of them"),
    prefix: text,
    empty: flag,
    after: implementation(
      { session: name, createdAt: time, updatedAt: time },
      { lastTurnAt: time },
    ),
    limit: several,
  },
  {},
);
export const approvalsSchema: z.ZodType = optionsOf<ApprovalsOptions>(
  { where: metadataSchema },
  {},
);
export const finishLoginSchema: z.ZodType = optionsOf<FinishLoginOptions>({ mayAnswer: code }, {});
export const resumeSchema: z.ZodType = optionsOf<ResumeOptions>(
  { concurrency: several, where: metadataSchema },
  {},
);
export const closeSchema: z.ZodType = optionsOf<CloseOptions>({ leaveTurns: flag }, {});
const day = thing(
  "a UTC day, as 2026-01-31",
  (value) => typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value),
);
export const billQuerySchema: z.ZodType = optionsOf<BillQuery>(
  {
    by: thing("a name or a list of them", (value) =>
      [value].flat().every((one) => typeof one === "string"),
    ),
    from: day,
    to: day,
    where: metadataSchema,
  },
  {},
);
const globalPosition = thing(
  "a global position, which is a whole number from 1 on",
  (value) => z.int().min(1).safeParse(value).success,
);
export const consumeSchema: z.ZodType = optionsOf<ConsumeOptions>(
  { from: globalPosition, signal },
  {},
);
export const consumerNameSchema: z.ZodType = shortText(128);
export const deletionSchema: z.ZodType = optionsOf<DeletionQuery>(
  {
    olderThan: moment,
    where: metadataSchema,
    forks: oneOf("refuse", "copy"),
    cancel: flag,
    bill: oneOf("keep", "forget"),
    dryRun: flag,
  },
  {},
).and(
  thing(
    "an object with one of `olderThan` and `where`: without them, it would delete all sessions",
    (value) => ["olderThan", "where"].some((key) => Reflect.get(Object(value), key) !== undefined),
  ),
);
type KeyOf<Union> = Union extends unknown ? keyof Union : never;
type AnyRuntime = { readonly [Key in KeyOf<RuntimeOptions>]?: unknown };

const places = ["dir", "memory", "log"] as const;

// Made when a program has servers: each schema costs time at the start.

const serverFields = () => ({
  startTimeoutMs: milliseconds,
  callTimeoutMs: milliseconds,
  needsApproval: z.union(
    [z.boolean(), z.literal("unless-read-only")],
    'true, false or "unless-read-only"',
  ),
  resources: flag,
  prompts: flag,
});
const processSchema = () =>
  optionsOf<StdioMcpServer>(
    { ...serverFields(), args: list, env: named(text), cwd: name },
    { command: name },
  );
const loginFields = () => ({
  clientId: name,
  clientSecret: name,
  scope: text,
  tokens: implementation({ load: code, save: code }),
});
const addressSchema = () =>
  optionsOf<HttpMcpServer>(
    {
      ...serverFields(),
      type: oneOf("http", "sse"),
      headers: z.union([named(text), code], "an object of texts, or a function that returns one"),
      account: code,
      login: optionsOf<McpLogin>(loginFields(), { redirectUrl: name }),
      idleTimeoutMs: milliseconds,
      maxConnections: several,
    },
    { url: name },
  );
const serverSchema = z.unknown().superRefine((value, context) => {
  const has = (key: string): boolean => Reflect.get(Object(value), key) !== undefined;
  if (has("command") && has("url")) {
    context.addIssue({
      code: "custom",
      message: "an object with a `command` or a `url`, one of them",
    });
  } else if (has("command")) report(processSchema(), value, context, []);
  else if (has("url")) report(addressSchema(), value, context, []);
  else context.addIssue({ code: "custom", message: "an object with a `command` or a `url`" });
});

const budgetSchema = optionsOf<Budget>(
  { tokens: amount, dollars: amount, per: oneOf("day", "month"), hold: flag },
  {},
).and(withOneOf("tokens", "dollars"));

const limitsSchema = optionsOf<SpendingLimits>(
  {
    turn: optionsOf<NonNullable<SpendingLimits["turn"]>>(
      { tokens: amount, dollars: amount, hold: flag },
      {},
    ).and(withOneOf("tokens", "dollars")),
    session: budgetSchema,
    perKey: named(budgetSchema).and(
      thing(
        "an object with a limit by key of the metadata, none of them `turn` or `session`",
        (value) =>
          typeof value === "object" &&
          value !== null &&
          !("turn" in value || "session" in value) &&
          Object.values<unknown>({ ...value }).some((limit) => limit !== undefined),
      ),
    ),
  },
  {},
).and(withOneOf("turn", "session", "perKey"));

const keysOfMetadata = thing(
  "a list of keys of metadata",
  (value) => Array.isArray(value) && value.every((key) => typeof key === "string" && key !== ""),
);

const schema = optionsOf<AnyRuntime>(
  {
    agent: thing(
      "an agent, which is an object with a `model`, or a function that returns one",
      (value) => isObject(value) || typeof value === "function",
    ),
    agents: thing("an object with agents by name", isObject),
    dir: name,
    memory: z.literal(true, "true"),
    log: implementation({ append: code, read: code }),
    durability: oneOf("sync", "os"),
    takeOver: flag,
    share: flag,
    blobs: off(
      optionsOf<BlobOptions>(
        {
          inlineBytes: amount,
          maxBytes: amount,
          maxSessionBytes: amount,
          store: implementation({}),
          recorded: code,
        },
        {},
      ),
    ),
    mcp: named(serverSchema),
    events: thing("what `defineEvents` answers", isEvents),
    recovery: oneOf("stop", "continue"),
    resume: oneOf("all"),
    limits: limitsSchema,
    maxRecoveries: many,
    hashChain: flag,
    bill: optionsOf<NonNullable<RuntimeSettings["bill"]>>({}, { keys: keysOfMetadata }),
    indexed: keysOfMetadata,
    metadataSchema: schemaOfSdk,
    attachments: optionsOf<AttachmentOptions>(
      {
        maxBytes: amount,
        fetch: code,
        timeoutMs: milliseconds,
        allow: thing(
          "a list of host names, IP addresses and CIDR ranges, such as `10.1.0.0/16`",
          (value) => Array.isArray(value) && value.every(isHostOrRange),
        ),
      },
      {},
    ),
    encryption: optionsOf<Encryption>({}, { keys: implementation({}) }),
    contextFor: code,
    stepSource: oneOf("language-model-call", "stream-text"),
    idleAfterMs: milliseconds,
    circuitBreaker: off(
      optionsOf<CircuitBreaker>({ failures: several, probeAfterMs: milliseconds }, {}),
    ),
    graceMs: milliseconds,
    onWarning: code,
    meter: implementation({
      createCounter: code,
      createHistogram: code,
      createObservableGauge: code,
    }),
    testing: optionsOf<TestingOptions>(
      {
        clock: code,
        newId: code,
        timer: code,
        random: code,
        recording: implementation({}),
      },
      {},
    ),
  },
  {},
);

/** Other forms (an address with `https://`, a pattern) would never allow anything. */
function isHostOrRange(value: unknown): boolean {
  if (typeof value !== "string") return false;
  const [address = "", bits, ...more] = value.split("/");
  const version = isIP(address);
  if (bits === undefined) return version !== 0 || /^(?=.*[a-z])[\w-]+(\.[\w-]+)*\.?$/i.test(value);
  const most = version === 4 ? 32 : 128;
  return version !== 0 && more.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most;
}

function isEvents(value: unknown): boolean {
  return isObject(value) && isObject(Reflect.get(Object(value), "schemas"));
}

/** An object without both has no effect. */
function withOneOf(...keys: readonly string[]): z.ZodType {
  const named = keys.map((key) => `\`${key}\``);
  const last = named.pop();
  return thing(`an object with ${named.join(", ")} or ${last}`, (value) =>
    keys.some((key) => Reflect.get(Object(value), key) !== undefined),
  );
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** Checks the options now, and the answers of their functions later. @throws TurnlogError `INVALID_INPUT` */
export function checkedOptions(options: RuntimeOptions): RuntimeSettings {
  check(schema, options, "createRuntime");
  const { testing = {}, agent: _agent, agents: _agents, ...given } = options;
  checkPlace(given);
  const { attachments, bill, blobs, circuitBreaker, limits, mcp } = given;
  const { clock, random, newId } = testing;
  return {
    ...given,
    ...testing,
    ...heldAgents(options),
    ...(attachments && { attachments: ownCopy(attachments) }),
    ...(blobs && { blobs: { ...blobs } }),
    ...(mcp && { mcp: ownCopy(mcp) }),
    ...(limits && { limits: ownCopy(limits) }),
    ...(bill && { bill: ownCopy(bill) }),
    ...(circuitBreaker && { circuitBreaker: { ...circuitBreaker } }),
    ...(clock && {
      clock: answering("testing.clock", clock, Number.isFinite, "a number of epoch milliseconds"),
    }),
    ...(random && {
      random: answering("testing.random", random, (n) => n >= 0 && n <= 1, "a number from 0 to 1"),
    }),
    ...(newId && {
      newId: answering(
        "testing.newId",
        newId,
        (id) => typeof id === "string" && id !== "",
        "a text",
      ),
    }),
  };
}

/** Agents are prepared while the store is opened; wrong ones are refused before that. */
function heldAgents({ agent, agents, mcp }: RuntimeOptions): AgentOptions {
  if ((agent === undefined) === (agents === undefined)) {
    const what = agent === undefined ? "neither of them" : "both";
    throw new TurnlogError(
      "INVALID_INPUT",
      `createRuntime: set exactly one of \`agent\` and \`agents\`. You set ${what}.`,
      { details: { option: "agent" } },
    );
  }
  if (agents === undefined)
    return { agent: typeof agent === "function" ? agent : heldAs("agent", agent, mcp) };
  const held = Object.entries(agents).map(
    ([name, one]) => [name, heldAs(`agents.${name}`, one, mcp)] as const,
  );
  if (held.length > 0) return { agents: Object.fromEntries(held) };
  throw new TurnlogError("INVALID_INPUT", "createRuntime: `agents` must have at least one agent.", {
    details: { option: "agents" },
  });
}

/** A copy: the caller may change its agent later. */
function heldAs(option: string, agent: Agent, servers: McpServers | undefined): Agent {
  check(agentSchema, agent, "createRuntime", { name: option });
  checkToolNames(agent, servers, "createRuntime", option);
  checkContext(agent.context);
  checkTools(agent.tools, nameOf(agent.model));
  return heldAgent(agent);
}

function checkPlace(given: StoreOptions): void {
  const chosen = places.filter((place) => Reflect.get(given, place) !== undefined);
  if (chosen.length === 1) {
    const idle = ["durability", "takeOver", "share"].find(
      (key) => Reflect.get(given, key) !== undefined,
    );
    if (chosen[0] === "dir" || idle === undefined) return;
    throw new TurnlogError(
      "INVALID_INPUT",
      `createRuntime: \`${idle}\` has no effect with \`${chosen[0]}\`: it is for a store in a folder (\`dir\`).`,
      { details: { option: idle } },
    );
  }
  const what = chosen.length === 0 ? "none of them" : chosen.join(" and ");
  throw new TurnlogError(
    "INVALID_INPUT",
    `createRuntime: set exactly one of \`dir\`, \`memory: true\` and \`log\`. You set ${what}.`,
  );
}

/** The answer goes into the log, so a value that could not be read again must not be written. */
function answering<Answer>(
  option: string,
  ask: () => Answer,
  fits: (answer: Answer) => boolean,
  words: string,
): () => Answer {
  return () => {
    const answer = ask();
    if (fits(answer)) return answer;
    throw new TurnlogError(
      "INVALID_INPUT",
      `createRuntime: \`${option}\` must answer ${words}, not ${String(answer)}.`,
    );
  };
}
