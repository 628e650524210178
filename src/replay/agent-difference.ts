/** Describes in words which part of an agent differs, since a digest over the whole agent does not. Pure. */

import { byId, type AgentDescription, type SessionEvent } from "../events/index.ts";

/** Sentences on the differences between the agents that two events name; none if neither names another agent. */
export function agentDifference(
  recorded: SessionEvent | undefined,
  replayed: SessionEvent | undefined,
): readonly string[] {
  const [before, after] = [agentOf(recorded), agentOf(replayed)];
  if (before === undefined || after === undefined || before.digest === after.digest) return [];
  const names = [...new Set([...before.tools, ...after.tools])];
  const found = [
    ...modelDifference(before, after),
    ...(before.parts !== undefined &&
    after.parts !== undefined &&
    before.parts.instructions !== after.parts.instructions
      ? ["The instructions have changed."]
      : []),
    ...(JSON.stringify(before.parts?.toolChoice) === JSON.stringify(after.parts?.toolChoice)
      ? []
      : ["The tool choice has changed."]),
    ...names.flatMap((name) => toolDifference(name, before, after)),
  ];
  if (found.length > 0) return found;
  return before.parts === undefined
    ? ["Its instructions, or a tool's description or input schema, have changed."]
    : ["The order of its tools has changed."];
}

export function agentOf(event: SessionEvent | undefined): AgentDescription | undefined {
  switch (event?.type) {
    case "session.created":
    case "session.configured":
    case "session.forked":
      return event.data.agent;
    default:
      return undefined;
  }
}

function modelDifference(before: AgentDescription, after: AgentDescription): readonly string[] {
  const [one, other] = [before, after].map(({ model }) =>
    shown(`${model.provider}:${model.modelId}`),
  );
  return one === other ? [] : [`The model was ${one} and is ${other}.`];
}

function toolDifference(
  name: string,
  before: AgentDescription,
  after: AgentDescription,
): readonly string[] {
  if (!after.tools.includes(name)) return [`The tool ${shown(name)} is gone.`];
  if (!before.tools.includes(name)) return [`The tool ${shown(name)} is new.`];
  if (before.parts === undefined || after.parts === undefined) return [];
  const isSame = byId(before.parts.tools, name) === byId(after.parts.tools, name);
  return isSame ? [] : [`The tool ${shown(name)} has another description or input schema.`];
}

/** Quotes a name: a name with line ends or invisible characters could forge the next sentence. */
function shown(name: string): string {
  return /[\p{C}\p{Zl}\p{Zp}]/u.test(name) ? JSON.stringify(name) : name;
}
