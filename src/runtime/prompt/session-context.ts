/**
 * The figures of a session's context at a position, read from its log: needs no model and no key.
 * Runs and writes nothing. Instructions and tools are not in the log; where nobody has the agent at
 * hand, what they take follows from a prompt whose whole size is known.
 */

import { check, code, implementation, list, optionsOf, position } from "../../validation/index.ts";
import { modelCatalogue, type ModelCatalogue } from "../../context/index.ts";
import { TurnlogError, type AgentDescription, type EventLog } from "../../events/index.ts";
import { prepareAgent, type Agent, agentSchema } from "../../agent/index.ts";
import { withRecordedOffer } from "../../mcp/index.ts";
import {
  contextFigures,
  plainTokens,
  type ContextFigures,
  type FiguresSetup,
} from "./context-figures.ts";
import { readSessionState, stateAt } from "../../state/index.ts";

/** Where in a log is looked at, and whose limits hold there. */
export interface LoggedContextOptions {
  /** A position; default: the last. */
  readonly at?: number;
  /** Agents that may have run it. One whose model, instructions and tools are those of the log is taken. */
  readonly agents?: readonly Pick<Agent, "instructions" | "tools" | "context" | "settings">[];
  /** Where windows and prices come from. Default: `modelCatalogue()`. */
  readonly catalogue?: ModelCatalogue;
}

/** What `session.context()` answers, as far as a log tells it. */
export interface LoggedContext extends Omit<ContextFigures, "due"> {
  readonly session: string;
  readonly position: number;
  /**
   * Where the figures of instructions and tools come from: the `agent` itself, or the `log`, which
   * has them in one sum (told as instructions), or nowhere yet (`unknown`: they are told as 0).
   */
  readonly standing: "agent" | "log" | "unknown";
}

const schema = optionsOf<LoggedContextOptions>(
  { at: position, agents: list, catalogue: implementation({ limits: code, cost: code }) },
  {},
);

/**
 * Reads a session's figures at a position.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT` for a position that there is not.
 */
export async function readContext(
  log: EventLog,
  session: string,
  options: LoggedContextOptions = {},
): Promise<LoggedContext> {
  check(schema, options, "readContext", { name: "options", session });
  const { at, agents = [], catalogue } = options;
  const state = await stateAt(log, session, at);
  const { position: last } = state;
  const { agent, whole } = await runBy(log, session, last);
  const bare: FiguresSetup = {
    catalogue: catalogue ?? (await modelCatalogue()),
    prepared: { agent: {}, description: agent, instructions: "", tools: "" },
  };
  const now = Date.now();
  const told = (setup: FiguresSetup, standing: LoggedContext["standing"]): LoggedContext => {
    const { due: _, ...figures } = contextFigures(state, setup, now);
    return { session, position: last, standing, ...figures };
  };
  for (const candidate of agents) {
    // Nobody is asked anything: a name is as good as the model.
    const named = { ...candidate, model: agent.model.modelId };
    check(agentSchema, named, "readContext", { name: "options.agents", session });
    const prepared = await prepareAgent(withRecordedOffer(named, agent), agent.model);
    if (prepared.description.digest === agent.digest) return told({ ...bare, prepared }, "agent");
  }
  if (whole === undefined) return told({ ...bare, standing: 0 }, "unknown");
  const before = await readSessionState(log, session, whole.startedAt - 1);
  const messages = plainTokens(before, { ...bare, standing: 0 }, now);
  // Behind a compaction, a whole prompt is estimated by the scale of the bill before.
  const tokens = whole.tokens / (before.compactions.scale ?? 1);
  const standing = Math.max(0, tokens - messages);
  return told({ ...bare, standing }, "log");
}

/** A step whose prompt has a figure in which instructions and tools are. */
interface WholePrompt {
  readonly startedAt: number;
  readonly tokens: number;
}

interface Runner {
  readonly agent: AgentDescription;
  readonly whole?: WholePrompt;
}

/**
 * Who ran it at a position, and a prompt of that agent: the last that was estimated as a whole, by
 * the same measure as its messages; without one, the first that was billed.
 */
async function runBy(log: EventLog, session: string, position: number): Promise<Runner> {
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
      `Session ${session} does not begin with who runs it. Run \`turnlog verify ${session}\`.`,
      { session, position: 1 },
    );
  }
  const whole = estimated ?? billed;
  return whole === undefined ? { agent } : { agent, whole };
}
