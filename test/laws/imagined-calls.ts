/** What may happen next to each call of a step, as the tool runner records it. Pure. */

import { entriesOf, type EventBody } from "../../src/events/index.ts";
import type { CallState, SessionContext } from "../../src/machines/index.ts";
import type { SessionState } from "../../src/state/index.ts";
import type { Choices } from "./choices.ts";

interface CallKey {
  readonly step: number;
  readonly callId: string;
}

/** What is known of the tools besides the log. */
export interface Tools {
  /** The process that lives now has started this call. */
  readonly isAtWork: (callId: string) => boolean;
  /** They were told to stop. */
  readonly aborted: boolean;
}

const error = { name: "Error", message: "No." };

/** Every event that may come next, for all calls together. */
export function callEvents(
  { machine: { context }, toolCalls }: SessionState,
  choices: Choices,
  { isAtWork, aborted }: Tools,
): readonly EventBody[] {
  return entriesOf(context.calls).flatMap(([callId, call]) => {
    const key = { step: context.step, callId };
    if (call === "awaiting-output") return requestedEvents(key, context, choices);
    if (call === "running" && isAtWork(callId)) return runningEvents(key, choices, aborted);
    const attempts = toolCalls.open.find((open) => open.callId === callId)?.attempts ?? 0;
    return startEvents(key, call, context, attempts);
  });
}

/** What a client answers, or what becomes of a call that it does not answer. */
function requestedEvents(
  key: CallKey,
  { skipCalls, stopping }: SessionContext,
  choices: Choices,
): readonly EventBody[] {
  const reason = stopping === "cancelled" ? "cancelled" : "interrupted";
  if (skipCalls || stopping !== undefined)
    return [{ type: "tool.skipped", data: { ...key, reason } }];
  return [
    { type: "tool.succeeded", data: { ...key, output: choices.below(5) } },
    { type: "tool.failed", data: { ...key, error } },
  ];
}

function startEvents(
  key: CallKey,
  call: Exclude<CallState, "awaiting-output">,
  { skipCalls, stopping }: SessionContext,
  attempts: number,
): readonly EventBody[] {
  const reason = stopping === "cancelled" ? "cancelled" : "interrupted";
  const unknown: EventBody = { type: "tool.unknown", data: { ...key, reason: "recovered" } };
  /** What a process that died had started may have had an effect. */
  const unlessStarted = (ending: EventBody): EventBody => (attempts > 0 ? unknown : ending);
  const skipped = unlessStarted({ type: "tool.skipped", data: { ...key, reason } });
  const effectId = `e/${key.step}/${key.callId}`;
  const named = { ...key, toolName: "work" };
  const started: EventBody = {
    type: "tool.started",
    data: { ...named, attempt: attempts + 1, effectId },
  };
  switch (call) {
    case "waiting":
      return skipCalls
        ? [skipped]
        : [
            started,
            { type: "tool.failed", data: { ...key, error } },
            ...(stopping === undefined
              ? ([
                  { type: "tool.approval-requested", data: named },
                  { type: "tool.output-requested", data: named },
                ] as const)
              : [skipped]),
          ];
    case "awaiting-approval":
      return skipCalls || stopping !== undefined
        ? [skipped]
        : [true, false].map((approved) => ({
            type: "tool.approval-answered" as const,
            data: { ...key, approved },
          }));
    case "approved":
    case "running":
      return [skipCalls ? skipped : started];
    case "refused":
      return [unlessStarted({ type: "tool.denied", data: key })];
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
