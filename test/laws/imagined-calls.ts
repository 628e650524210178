/** What may happen next to each call of a step, as the tool runner records it. Pure. */

import type { EventBody } from "../../src/events/index.ts";
import type { CallState, SessionContext } from "../../src/machines/index.ts";
import type { Choices } from "./choices.ts";

interface CallKey {
  readonly step: number;
  readonly callId: string;
}

const error = { name: "Error", message: "No." };

/** Every event that may come next, for all calls together. */
export function callEvents(
  context: SessionContext,
  choices: Choices,
  aborted: boolean,
): readonly EventBody[] {
  return Object.entries(context.calls).flatMap(([callId, call]) => {
    const key = { step: context.step, callId };
    return call === "running"
      ? runningEvents(key, choices, aborted)
      : startEvents(key, call, context);
  });
}

function startEvents(
  key: CallKey,
  call: Exclude<CallState, "running">,
  { skipCalls, stopping }: SessionContext,
): readonly EventBody[] {
  const reason = stopping === "cancelled" ? "cancelled" : "interrupted";
  const skipped: EventBody = { type: "tool.skipped", data: { ...key, reason } };
  const effectId = `e/${key.step}/${key.callId}`;
  const named = { ...key, toolName: "work" };
  const started: EventBody = { type: "tool.started", data: { ...named, attempt: 1, effectId } };
  switch (call) {
    case "waiting":
      return skipCalls
        ? [skipped]
        : [
            started,
            { type: "tool.failed", data: { ...key, error } },
            { type: "tool.approval-requested", data: named },
          ];
    case "awaiting-approval":
      return skipCalls
        ? [skipped]
        : [true, false].map((approved) => ({
            type: "tool.approval-answered" as const,
            data: { ...key, approved },
          }));
    case "approved":
      return [skipCalls ? skipped : started];
    case "refused":
      return [{ type: "tool.denied", data: key }];
    case "ended":
      return [];
  }
}

function runningEvents(key: CallKey, choices: Choices, aborted: boolean): readonly EventBody[] {
  const output = choices.below(5);
  const modelOutput = { type: "json", value: output } as const;
  return [
    { type: "tool.failed", data: { ...key, error } },
    { type: "tool.progressed", data: { ...key, output } },
    { type: "tool.succeeded", data: { ...key, output, modelOutput } },
    { type: "tool.unknown", data: { ...key, reason: aborted ? "cancelled" : "timed-out" } },
  ];
}
