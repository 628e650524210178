/**
 * The agent of a staged process as a replay may have it: what the test decided there (whether a call
 * has to be asked about, what a compaction finds) is what the log says of it.
 */

import type { CompactionStrategy } from "../../src/context/index.ts";
import type { AgentDescription, SessionEvent } from "../../src/events/index.ts";
import type { Agent } from "../../src/agent/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { conductedModel } from "./conducted-model.ts";
import { ConductedTools } from "./conducted-tools.ts";
import { agentOf, idleTool } from "./process.ts";
import type { World } from "./situation.ts";

export function replayedAgent(
  world: World,
  events: readonly SessionEvent[],
): (recorded: AgentDescription) => Agent {
  const { tools } = new ConductedTools(
    () => {},
    (key) => decision(key, events),
  );
  const { model } = conductedModel(() => {});
  const strategy = recordedStrategy(events);
  return ({ tools: names }) => {
    const configured = names.includes("idle") ? { ...tools, idle: idleTool } : tools;
    return agentOf(world, { model, tools: configured, strategy });
  };
}

/** The same agent where nobody conducts: its model says one word, its tools end at once. */
export function plainAgent(world: World): Agent {
  const conducted = new ConductedTools(
    (key) => {
      queueMicrotask(() => {
        conducted.end(key);
      });
    },
    async () => false,
  );
  // A reply that is JSON, too.
  const model = scriptedModel(() => '"Done."');
  const strategy = recordedStrategy([]);
  return agentOf(world, { model, tools: conducted.tools, strategy });
}

/** Whether a call needed approval, by its first outcome; the decision may fail. */
async function decision(key: string, events: readonly SessionEvent[]): Promise<boolean> {
  const first = events.find((event) => {
    switch (event.type) {
      case "tool.approval-requested":
      case "tool.output-requested":
      case "tool.started":
      case "tool.failed":
      case "tool.denied":
      case "tool.skipped":
        return `${event.data.step}/${event.data.callId}` === key;
      default:
        return false;
    }
  });
  if (first?.type === "tool.failed") throw new Error("Undecided.");
  // In a turn that stops, one that had to be asked about is skipped.
  return first?.type !== "tool.started";
}

/** Finds what was compacted, and otherwise nothing. */
function recordedStrategy(events: readonly SessionEvent[]): CompactionStrategy {
  return {
    name: "conducted",
    // Its plan is taken as it is, however little else there is to leave out.
    forgetsRequest: true,
    writer: { request: () => undefined },
    plan({ items }) {
      const [first, last] = [items[0], items.at(-1)];
      const made = events.some(
        ({ type, data }) =>
          type === "context.compacted" &&
          data.strategy === "conducted" &&
          data.covers.from === first?.position &&
          data.covers.to === last?.position,
      );
      if (!made || first === undefined || last === undefined) return undefined;
      return { covers: { from: first.position, to: last.position }, summary: "Go on." };
    },
  };
}
