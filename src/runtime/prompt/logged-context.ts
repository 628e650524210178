/**
 * The figures of a session's context, read from its log: needs no model and no API key. The log does not
 * contain instructions and tools; without the agent, their size follows from a prompt whose whole size is
 * recorded.
 */

import { check, code, implementation, list, optionsOf, position } from "../../validation/index.ts";
import {
  modelCatalogue,
  resized,
  unsentMessages,
  type CompactionWhen,
  type ModelCatalogue,
} from "../../context/index.ts";
import { compactions } from "../../projections/index.ts";
import {
  defined,
  shellWord,
  TurnlogError,
  type AgentDescription,
  type EventLog,
  type SessionEvent,
} from "../../events/index.ts";
import {
  prepareAgent,
  type Agent,
  agentSchema,
  contextSchema,
  guardedContext,
  type ContextOptions,
} from "../../agent/index.ts";
import { withRecordedOffer } from "../../mcp/index.ts";
import {
  contextFigures,
  dueNow,
  placeAt,
  plainTokens,
  type ContextFigures,
  type FiguresSetup,
} from "./context-figures.ts";
import {
  foldSession,
  initialSessionState,
  readSessionState,
  stateAt,
  type SessionState,
} from "../../state/index.ts";

export interface LoggedContextOptions {
  /** The position; default: the last. */
  readonly position?: number;
  /** Agents that may have run the session. The one with the recorded model, instructions and tools is used. */
  readonly agents?: readonly Omit<Agent, "model">[];
  /** The source of context windows and prices. Default: `modelCatalogue()`. */
  readonly catalogue?: ModelCatalogue;
}

/** The result of `session.context()`, without `due`. */
export interface LoggedContext extends Omit<ContextFigures, "due"> {
  readonly session: string;
  readonly position: number;
  /**
   * The source of the figures of instructions and tools: the `agent`, or the `log`, which has their sum
   * (shown as instructions), or none yet (`unknown`: shown as 0).
   */
  readonly standing: "agent" | "log" | "unknown";
}

const schema = optionsOf<LoggedContextOptions>(
  { position, agents: list, catalogue: implementation({ limits: code, cost: code }) },
  {},
);

export async function readContext(
  log: EventLog,
  session: string,
  options: LoggedContextOptions = {},
): Promise<LoggedContext> {
  check(schema, options, "readContext", { name: "options", session });
  const { agents = [], catalogue } = options;
  const state = await stateAt(log, session, options.position);
  const { position: last } = state;
  const { agent, whole } = await runnerAt(log, session, last);
  const bare = bareSetup(agent, catalogue ?? (await modelCatalogue()));
  const now = Date.now();
  const answer = (setup: FiguresSetup, standing: LoggedContext["standing"]): LoggedContext => {
    const { due: _, ...figures } = contextFigures(placeAt(state, setup, now));
    return { session, position: last, standing, ...figures };
  };
  for (const candidate of agents) {
    // No model is called, so its name is enough.
    const named = { ...candidate, model: agent.model.modelId };
    check(agentSchema, named, "readContext", { name: "options.agents", session });
    const prepared = await prepareAgent(withRecordedOffer(named, agent), agent.model);
    if (prepared.description.digest === agent.digest) return answer({ ...bare, prepared }, "agent");
  }
  if (whole === undefined) return answer({ ...bare, standing: 0 }, "unknown");
  const before = await readSessionState(log, session, whole.startedAt - 1);
  const messages = plainTokens(before, { ...bare, standing: 0 }, now);
  // After a compaction, a whole prompt is estimated by the scale of the last bill.
  const tokens = whole.tokens / (before.compactions.scale ?? 1);
  const standing = Math.max(0, tokens - messages);
  return answer({ ...bare, standing }, "log");
}

/** A setup without instructions and tools, which no log has. */
function bareSetup(
  description: AgentDescription,
  catalogue: ModelCatalogue,
  context?: ContextOptions,
): FiguresSetup {
  const agent = context === undefined ? {} : { context };
  return { catalogue, prepared: { agent, description, instructions: "", tools: "" } };
}

/** A step before which a trigger would compact. */
interface DueStep {
  readonly turn: number;
  readonly step: number;
  /** Of its `step.started`. */
  readonly position: number;
  readonly tokens: number;
}

/**
 * Asks a trigger before each step of a recorded session, with the facts and the times of its log: before a
 * compaction that the session began itself for the step. What the trigger compacts beyond those is taken to save
 * nothing, so that it shows how soon it would compact again. `limits` are context windows by model, as in the
 * agent's `context.limits`; the default is the catalogue's.
 * @example
 * const { events } = await readSessionFile("session.jsonl");
 * expect((await dueAt(events, everyTurns(20))).map(({ turn }) => turn)).toEqual([21, 41]);
 * @throws TurnlogError `INVALID_INPUT`; `CALLBACK_FAILED` if the trigger throws, or returns something else than its
 * type says
 */
export async function dueAt(
  events: readonly SessionEvent[],
  when: CompactionWhen,
  { limits }: Pick<ContextOptions, "limits"> = {},
): Promise<readonly DueStep[]> {
  const catalogue = await modelCatalogue();
  const given = { compact: { when, how: unsentMessages }, ...defined({ limits }) };
  check(contextSchema, given, "dueAt", { name: "context" });
  const context = guardedContext(given);
  const due: DueStep[] = [];
  let state = initialSessionState;
  let begun: BegunCompaction | undefined;
  for (const event of events) {
    const { type, data, time, position } = event;
    if (type === "turn.started") begun = undefined;
    if (type === "context.compaction-started" && data.trigger === "limit")
      begun ??= { state, time };
    if (type === "context.compacted" || type === "context.compaction-rejected")
      begun &&= { ...defined({ tokens: data.beforeTokens }), ...begun };
    if (type === "step.started" && data.attempt === 1) {
      const { turn, step, model, estimate } = data;
      const setup = bareSetup({ digest: "", model, tools: [] }, catalogue, context);
      const asked = begun ?? { state, time, tokens: estimate.tokens };
      const place = placeAt(asked.state, setup, asked.time);
      const { tokens = place.estimate.tokens } = asked;
      if (dueNow({ ...place, estimate: resized(place.estimate, tokens) }) === "compact") {
        due.push({ turn, step, position, tokens });
        const covers = { from: 1, to: 1 };
        const saved = {
          strategy: "",
          covers,
          summary: "",
          beforeTokens: tokens,
          afterTokens: tokens,
        };
        const compacted = { ...event, type: "context.compacted", data: saved } as const;
        if (begun === undefined)
          state = { ...state, compactions: compactions.fold(state.compactions, compacted) };
      }
      begun = undefined;
    }
    ({ state } = foldSession(state, event));
  }
  return due;
}

/** A compaction that the session began before a step: the state and the size of the prompt before it. */
interface BegunCompaction {
  readonly state: SessionState;
  readonly time: number;
  readonly tokens?: number;
}

/** A step whose recorded figure includes instructions and tools. */
interface WholePrompt {
  readonly startedAt: number;
  readonly tokens: number;
}

interface Runner {
  readonly agent: AgentDescription;
  readonly whole?: WholePrompt;
}

/**
 * The agent at a position, and a prompt of it: the last one estimated as a whole, by the same measure
 * as its messages, else the first one billed.
 */
async function runnerAt(log: EventLog, session: string, position: number): Promise<Runner> {
  let agent: AgentDescription | undefined;
  let estimated: WholePrompt | undefined;
  let billed: WholePrompt | undefined;
  let startedAt = 0;
  for await (const event of log.read(session, { to: position })) {
    switch (event.type) {
      case "session.created":
      case "session.configured":
        ({ agent } = event.data);
        estimated = undefined;
        billed = undefined;
        break;
      case "step.started": {
        const { basis, tokens } = event.data.estimate;
        startedAt = event.position;
        if (basis === "length") estimated = { startedAt, tokens };
        break;
      }
      case "step.finished": {
        const { basis, inputTokens: tokens } = event.data.usage;
        if (basis === "measured" && tokens > 0) billed ??= { startedAt, tokens };
        break;
      }
      default:
    }
  }
  if (agent === undefined) {
    throw new TurnlogError(
      "LOG_DAMAGED",
      `Session ${session} does not begin with the event that names its agent. Run \`turnlog verify ${shellWord(session)}\`.`,
      { session, position: 1 },
    );
  }
  const whole = estimated ?? billed;
  return whole === undefined ? { agent } : { agent, whole };
}
