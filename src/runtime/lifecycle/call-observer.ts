/** Reports one model call to callbacks and telemetry, and keeps what the result of its step needs. */

import type { CallObserver, StepRequest } from "../../agent/index.ts";
import { unlessAborted } from "../../shared/index.ts";
import type { Dispatcher } from "../../telemetry/index.ts";
import type { OpenStep } from "./operation.ts";

interface ObservedCall {
  readonly dispatcher: Dispatcher;
  readonly callId: string;
  readonly open: OpenStep;
  readonly durable: () => Promise<void>;
  readonly setup: Pick<StepRequest, "messages" | "signal">;
}

export function callObserver(call: ObservedCall): CallObserver {
  const { dispatcher, callId, open, durable, setup } = call;
  const { signal } = setup;
  // The default step source passes only new messages to the SDK.
  const messages = [...setup.messages];
  return {
    callId,
    started: (event) =>
      quietly(() => dispatcher.notify("onLanguageModelCallStart", { ...event, messages }), signal),
    ended: async (event) => {
      open.called = event;
      // Law 1: what the model said is durable before its end is reported.
      await quietly(durable, signal);
      await quietly(() => dispatcher.notify("onLanguageModelCallEnd", event), signal);
    },
    execute: ({ execute, ...event }) =>
      dispatcher.executeLanguageModelCall({ ...event, messages, execute }),
    answered: ({ request, headers }) => {
      if (request !== undefined) open.request = request;
      if (headers !== undefined) open.headers = headers;
    },
    failed: (failure) => {
      open.attempts.push(failure);
    },
  };
}

/** Awaits listeners, but not longer than the work may run. */
export async function quietly(
  work: () => Promise<unknown> | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  // An abort is no error here: the caller checks the signal.
  await unlessAborted(Promise.resolve(work()), signal).catch(() => {});
}
