/** What changed of the agent and its settings between turns: by a deployment, or by `configure`. Pure. */

import { describedAgent } from "../../../src/events/index.ts";
import type { SessionEvent } from "../../../src/public/events.ts";
import type { Row } from "./types.ts";

export interface Deployment {
  readonly position: number;
  readonly time: number;
  /** Such as "instructions, tool look". */
  readonly changed: string;
  /** The first step that was sent it. */
  readonly step?: number;
}

type Agent = SessionEvent<"session.configured">["data"]["agent"];
type Change = Pick<SessionEvent, "position" | "time"> & { readonly names: readonly string[] };

export function deploymentsOf(rows: readonly Row[]): readonly Deployment[] {
  const found: Deployment[] = [];
  let agent: Agent | undefined;
  // Logs of earlier releases have no texts, and no settings either until the next step.
  let [hasTexts, isKnown, isBetween] = [false, false, true];
  let waiting: readonly Change[] = [];
  const take = (step?: number): void => {
    const [first] = waiting;
    if (first === undefined) return;
    const { position, time } = first;
    const changed = waiting.flatMap(({ names }) => names).join(", ");
    found.push({ position, time, changed, ...(step === undefined ? {} : { step }) });
    waiting = [];
  };
  for (const { event } of rows) {
    const { type, position, time } = event;
    const next = describedAgent(event);
    const names = agent === undefined || next === undefined ? [] : differences(agent, next);
    agent = next ?? agent;
    if (names.length > 0) waiting = [...waiting, { position, time, names }];
    // Within a turn `prepareStep` chose others.
    if (type === "prompt.configured" && isKnown && isBetween)
      waiting = [...waiting, { position, time, names: ["settings"] }];
    if (type === "prompt.text") hasTexts = true;
    if (type === "turn.started") isBetween = true;
    if (type === "step.started") {
      isBetween = false;
      isKnown ||= hasTexts;
      take(position);
    }
  }
  take();
  return found;
}

function differences(before: Agent, after: Agent): readonly string[] {
  const [old, now] = [before, after].map(({ parts }) => parts);
  const names = (before.model.modelId === after.model.modelId ? [] : ["model"]).concat(
    old?.instructions === now?.instructions ? [] : ["instructions"],
  );
  const tools = [...new Set([...before.tools, ...after.tools])];
  const changed = tools.filter((name) => old?.tools[name] !== now?.tools[name]);
  return [...names, ...changed.map((name) => `tool ${name}`)];
}
