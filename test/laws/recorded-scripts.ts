/** The sessions that are recorded in `fixtures/sessions`: how each is played, and the agents that play it. */

import type { Agent, Session } from "../../src/public/index.ts";
import { prepareAgent } from "../../src/agent/index.ts";
import { counter, countingAgent } from "../support/counting-agent.ts";
import type { ReplayedAgent } from "../../src/replay/index.ts";
import {
  approvalSession,
  askingAgent,
  oneIdSession,
  secondThoughtSession,
} from "./approval-sessions.ts";
import { cancelledAgent, cancelSession } from "./cancel-sessions.ts";
import {
  compactionSession,
  overflowingAgent,
  overflowSession,
  pruningAgent,
  pruningSession,
  summingAgent,
} from "./context-sessions.ts";
import { countSession } from "./count-sessions.ts";
import { crashSession, mortalAgent } from "./crash-sessions.ts";
import { limitedAgent, limitSession } from "./limit-sessions.ts";
import { BRIEF, longSession, talkingAgent } from "./long-sessions.ts";
import { busyAgent, parallelSession } from "./parallel-sessions.ts";
import { reasoningSession, thinkingAgent } from "./reasoning-sessions.ts";
import { retrySession, triedAgent } from "./retry-sessions.ts";
import type { FixtureName } from "./session-fixture.ts";
import type { Stage } from "./stage.ts";
import { steeredAgent, steeringSession } from "./steering-sessions.ts";
import { toolAgent, toolSession } from "./tool-sessions.ts";
import { troubledAgent, troubleSession } from "./trouble-sessions.ts";

interface RecordedScript {
  readonly play: (stage: Stage) => Promise<Session>;
  /** Those that may have run it; their models have nothing to say, since the log answers. */
  readonly agents: readonly Agent[];
}

function nobody(): never {
  throw new Error("In a replay nobody is asked for a count.");
}

/** What the agents of the session `limits` were, one after the other. */
export function strictAgent(more: Partial<Agent> = {}): Agent {
  return limitedAgent([], {
    toolApproval: { quick: "user-approval" },
    loopGuard: { calls: 2, texts: 2 },
    timeout: { totalMs: 20 },
    timeLimits: { lastStep: true },
    ...more,
  });
}

export const recordedScripts: Readonly<Record<FixtureName, RecordedScript>> = {
  tools: { play: toolSession, agents: [toolAgent()] },
  trouble: { play: troubleSession, agents: [troubledAgent([])] },
  "long-talk": {
    play: longSession,
    agents: [talkingAgent([]), { ...talkingAgent([]), instructions: BRIEF }],
  },
  limits: { play: limitSession, agents: [strictAgent()] },
  "one-id": { play: oneIdSession, agents: [askingAgent()] },
  approvals: { play: approvalSession, agents: [askingAgent()] },
  "second-thoughts": { play: secondThoughtSession, agents: [askingAgent()] },
  cancels: { play: cancelSession, agents: [cancelledAgent()] },
  compactions: { play: compactionSession, agents: [summingAgent()] },
  pruning: { play: pruningSession, agents: [pruningAgent()] },
  overflow: { play: overflowSession, agents: [overflowingAgent()] },
  crashes: { play: crashSession, agents: [mortalAgent()] },
  steering: { play: steeringSession, agents: [steeredAgent()] },
  retries: { play: retrySession, agents: [triedAgent()] },
  reasoning: { play: reasoningSession, agents: [thinkingAgent()] },
  parallel: { play: parallelSession, agents: [busyAgent()] },
  counts: { play: countSession, agents: [countingAgent(counter(nobody), [])] },
};

/** The agent that ran a recording; where several did, the one that is described there. */
export async function agentOf(name: FixtureName): Promise<ReplayedAgent> {
  const agents = await Promise.all(
    recordedScripts[name].agents.map(async (agent) => ({
      agent,
      digest: (await prepareAgent(agent)).description.digest,
    })),
  );
  const [first] = agents;
  if (first === undefined) throw new Error(`No agent is known to have run ${name}.`);
  return ({ digest }) => (agents.find((one) => one.digest === digest) ?? first).agent;
}
