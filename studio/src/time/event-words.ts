/** What an event says on one line, its family, and whether it is a failure. Pure. */

import type { SessionEvent } from "../../../src/public/events.ts";
import type { Row } from "../data/types.ts";
import { duration, figure, oneLine, shortJson, tokens } from "../data/words.ts";

export const families = [
  "session",
  "message",
  "turn",
  "prompt",
  "step",
  "part",
  "tool",
  "context",
  "blob",
] as const;
export type Family = (typeof families)[number] | "other";

export function familyOf(type: string): Family {
  const name = type.slice(0, type.indexOf("."));
  return families.find((family) => family === name) ?? "other";
}

const failures: ReadonlySet<string> = new Set([
  "step.failed",
  "step.failed-over",
  "step.retrying",
  "step.interrupted",
  "tool.failed",
  "tool.unknown",
  "tool.denied",
  "part.error",
  "part.tool-error",
  "context.compaction-rejected",
  "context.summary-rejected",
  "context.overflowed",
  "context.reduced",
  "context.count-failed",
  "session.recovered",
]);

export function isFailure({ type, data }: SessionEvent): boolean {
  if (failures.has(type)) return true;
  if (type !== "turn.ended" || !("reason" in data)) return false;
  return data.reason !== "stop" && data.reason !== "stop-condition";
}

/** The gist of an event; empty if its type says it all. */
export function gistOf({ event, last }: Row): string {
  const count =
    last === undefined
      ? ""
      : `${figure(last.lengths.length)} deltas in ${duration(last.time - event.time)}: `;
  return count + oneLine(wordsOf(event), 240);
}

function wordsOf(event: SessionEvent): string {
  switch (event.type) {
    case "part.text-delta":
    case "part.reasoning-delta":
      return event.data.text;
    case "part.tool-input-delta":
      return event.data.delta;
    case "message.queued":
      return typeof event.data.content === "string"
        ? event.data.content
        : event.data.content
            .map((part) => (part.type === "text" ? part.text : part.mediaType))
            .join(" ");
    case "message.delivered":
      return `${event.data.ids.length === 1 ? "" : `${event.data.ids.length} messages `}to turn ${event.data.turn}`;
    case "turn.started":
      return `turn ${event.data.turn}`;
    case "turn.ended": {
      const { turn, reason, error, output } = event.data;
      const repaired = output?.repaired === true ? ", output repaired" : "";
      return `turn ${turn}: ${reason}${error === undefined ? "" : `, ${error.message}`}${repaired}`;
    }
    case "prompt.text":
      return event.data.text;
    case "prompt.configured":
      return shortJson(event.data.settings);
    case "step.started": {
      const { step, attempt, model, estimate } = event.data;
      return `step ${step}${attempt > 1 ? `, attempt ${attempt}` : ""} · ${model.modelId} · ≈ ${tokens(estimate.tokens)} tokens`;
    }
    case "step.finished": {
      const { step, finishReason, usage } = event.data;
      return `step ${step}: ${finishReason} · ${tokens(usage.inputTokens)} in, ${tokens(usage.outputTokens)} out`;
    }
    case "step.failed-over": {
      const { step, from, to, why } = event.data;
      return `step ${step}: from ${from.provider}:${from.modelId} to ${to.provider}:${to.modelId}, ${why}`;
    }
    case "step.failed":
    case "step.retrying":
      return `step ${event.data.step}: ${event.data.kind ?? "failed"}, ${event.data.error.message}`;
    case "part.tool-call":
      return `${event.data.toolName} ${shortJson(event.data.input)}`;
    case "tool.approval-requested":
    case "tool.output-requested":
    case "tool.started":
      return event.data.toolName;
    case "tool.approval-answered":
      return event.data.approved ? `approved${by(event.data.by)}` : `denied${by(event.data.by)}`;
    case "tool.succeeded":
    case "tool.progressed":
      return shortJson(event.data.output);
    case "tool.failed":
      return event.data.error.message;
    case "context.compacted": {
      const { strategy, beforeTokens, afterTokens } = event.data;
      return `${strategy}: ${figure(beforeTokens)} → ${figure(afterTokens)} tokens`;
    }
    case "context.reduced": {
      const { rung, to, step } = event.data;
      return `step ${step} was refused: ${rung}, up to position ${to}`;
    }
    case "session.rewound":
      return `to position ${event.data.to}`;
    case "session.configured":
      return `deployment: ${shortJson(event.data)}`;
    case "session.forked":
      return `from ${event.data.from.session} at ${event.data.from.position}`;
    case "session.recovered":
      return `${event.data.inFlight.kind}, policy ${event.data.policy}`;
    default:
      return shortJson(event.data);
  }
}

const by = (name: string | undefined): string => (name === undefined ? "" : ` by ${name}`);
