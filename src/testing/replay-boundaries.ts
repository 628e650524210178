/** Answers the functions that an agent is asked between two steps from the log. */

import type { EventType, SessionEvent } from "../events/index.ts";
import type { Agent } from "../agent/index.ts";
import type { ReplayPacer } from "./replay-pacer.ts";

/** The agent with conditions that are met where the log says so. */
export function withRecordedStops(
  agent: Agent,
  events: readonly SessionEvent[],
  pacer: ReplayPacer,
): Agent {
  if (agent.stopWhen === undefined) return withRecordedLimit(agent, events, pacer.position);
  const stopWhen = [agent.stopWhen].flat().map((_, index) => async () => {
    const answer = boundaryEnd(events, pacer.position);
    // The turn ended while the function was still asked.
    if (answer === undefined) return await new Promise<never>(() => {});
    await pacer.due(answer.position);
    return answer.type === "turn.limit-reached" && answer.data.condition === index;
  });
  return { ...agent, stopWhen };
}

/** A limit on steps that is left to the default is the recorded one: earlier releases had another default. */
function withRecordedLimit(agent: Agent, events: readonly SessionEvent[], position: number): Agent {
  const started = events.slice(position).find(({ type }) => type === "turn.started");
  if (agent.maxSteps !== undefined || started?.type !== "turn.started") return agent;
  return { ...agent, maxSteps: started.data.maxSteps };
}

/** Events that follow from the answers. Of a failed function, it is the step that fails. */
const answers: ReadonlySet<EventType> = new Set<EventType>([
  "turn.limit-reached",
  "message.delivered",
  "step.started",
  "context.cut",
  "context.pruned",
  "context.media-omitted",
  "context.compaction-started",
]);

const endings: ReadonlySet<EventType> = new Set<EventType>([
  "turn.ended",
  "session.recovered",
  "session.forked",
]);

function boundaryEnd(events: readonly SessionEvent[], position: number): SessionEvent | undefined {
  for (const event of events.slice(position)) {
    if (endings.has(event.type)) return undefined;
    const isTimeUp = event.type === "turn.limit-reached" && event.data.limit !== "stop-condition";
    if (answers.has(event.type) && !isTimeUp) return event;
  }
  return undefined;
}
