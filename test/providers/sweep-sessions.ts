/** The sessions of the sweep: generated, recorded here, recorded by others, and made of fuzzed values. */

import * as fc from "fast-check";
import type { EventBody, JsonValue, SessionEvent, StoredError } from "../../src/events/index.ts";
import { blobs } from "../../src/projections/index.ts";
import { toJson, toStoredError } from "../../src/shared/index.ts";
import { replay, stateAt } from "../support/replay.ts";
import { hostileValues } from "../support/hostile-values.ts";
import { GO_ON } from "../corpus/recorded-script.ts";
import type { RecordedSession } from "../corpus/session-corpus.ts";
import { modelOf, SessionReplay } from "../corpus/session-replay.ts";
import { Choices } from "../laws/choices.ts";
import { ImaginedSession } from "../laws/imagined-session.ts";
import type { Place } from "./posted.ts";

/** The places of a log: where steps begin, and one of `share` others. */
export function placesOf(
  session: string,
  events: readonly SessionEvent[],
  share: number,
): readonly Place[] {
  const replayed = replay(events);
  return events.flatMap(({ type, position }): readonly Place[] => {
    const isSent = type === "step.started";
    if (!isSent && position % share !== 0) return [];
    const state = stateAt(replayed, isSent ? position - 1 : position);
    return [{ session, position, state, isSent }];
  });
}

/** Logs that the runtime may record. */
export const imaginedLogs: fc.Arbitrary<readonly SessionEvent[]> = fc
  .array(fc.nat({ max: 2 ** 16 }), { minLength: 600, maxLength: 2400, size: "max" })
  .map((numbers) => new ImaginedSession(new Choices(numbers)).live());

/** The requests of a recorded session, in their order. */
export function* recordedPlaces(recorded: RecordedSession): Generator<Place, void> {
  const session = `${recorded.file} ${recorded.id}`;
  const played = new SessionReplay(modelOf(recorded));
  let position = 0;
  for (const message of recorded.messages) {
    position += 1;
    switch (message.role) {
      case "system":
        break;
      case "user":
        played.user(message.content ?? "");
        break;
      case "assistant": {
        // Some begin with a reply whose question was not recorded.
        if (played.state.history.items.length === 0) played.user(GO_ON);
        const { history, view } = played.state;
        yield { session, position, state: { history, view, blobs: blobs.initial }, isSent: true };
        played.start({ tokens: 0, basis: "length" });
        played.finish(message);
        break;
      }
      case "tool":
        played.result(message);
    }
  }
}

/** Where a fuzzed value is put. */
export interface Fuzzed {
  readonly said: string;
  readonly toolName: string;
  readonly input: JsonValue;
  readonly output: JsonValue;
  readonly error: StoredError;
}

/** Two turns whose first has two calls, one of which fails. */
export function fuzzedLog({
  said,
  toolName,
  input,
  output,
  error,
}: Fuzzed): readonly SessionEvent[] {
  const model = { provider: "turnlog", modelId: "fuzzed" };
  const agent = { digest: "agent", model, tools: ["look"] };
  const estimate = { tokens: 1, basis: "length" } as const;
  const usage = { basis: "estimated", inputTokens: 1, outputTokens: 1 } as const;
  const step = (turn: number, step: number): EventBody => ({
    type: "step.started",
    data: { turn, step, attempt: 1, model, promptDigest: "", estimate },
  });
  const finished = (step: number, finishReason: "stop" | "tool-calls"): EventBody => ({
    type: "step.finished",
    data: { step, finishReason, usage, response: {} },
  });
  const turn = (number: number, content: string): readonly EventBody[] => [
    {
      type: "message.queued",
      data: { id: `m${number}`, content, delivery: "follow-up" },
    },
    { type: "turn.started", data: { turn: number, maxSteps: 4 } },
    {
      type: "message.delivered",
      data: { ids: [`m${number}`], turn: number, boundary: "turn" },
    },
  ];
  const block = (kind: "text" | "reasoning", text: string): readonly EventBody[] => [
    { type: `part.${kind}-start`, data: { id: kind } },
    { type: `part.${kind}-delta`, data: { id: kind, text } },
    { type: `part.${kind}-end`, data: { id: kind } },
  ];
  const call = (callId: string): EventBody => ({
    type: "part.tool-call",
    data: { toolCallId: callId, toolName, input },
  });
  const started = (callId: string): EventBody => ({
    type: "tool.started",
    data: { step: 1, callId, toolName, attempt: 1, effectId: `e/1/${callId}` },
  });
  const bodies: readonly EventBody[] = [
    { type: "session.created", data: { agent } },
    ...turn(1, said),
    step(1, 1),
    ...block("reasoning", said),
    ...block("text", said),
    call("c1"),
    call("c2"),
    finished(1, "tool-calls"),
    started("c1"),
    { type: "tool.succeeded", data: { step: 1, callId: "c1", output } },
    started("c2"),
    { type: "tool.failed", data: { step: 1, callId: "c2", error } },
    step(1, 2),
    ...block("text", said),
    finished(2, "stop"),
    { type: "turn.ended", data: { turn: 1, reason: "stop" } },
    ...turn(2, said),
    step(2, 3),
  ];
  return bodies.map((body, index): SessionEvent => ({
    position: index + 1,
    time: 1000 + index,
    ...body,
  }));
}

const strings: readonly string[] = [
  "",
  " \n\t",
  "\u0000",
  "\ud83d",
  "half \ud83d of \ude00 it",
  "look.up",
  "look up",
  "1look",
  "look:0",
  "😀".repeat(20),
  "l".repeat(305),
  "constructor",
  "__proto__",
  "{ not JSON",
  "\u2028\ufeff",
  "<|im_end|>",
];

const numbers = fc.array(fc.nat({ max: 0xffff }), { maxLength: 40 });
/** Any UTF-16, halves of pairs too. */
const anyText = fc.oneof(
  fc.constantFrom(...strings),
  numbers.map((units) => String.fromCharCode(...units)),
);
const anyJson = fc.oneof(
  anyText,
  fc.jsonValue({ stringUnit: "binary" }).map((value) => toJson(value)),
  fc.dictionary(anyText, anyText),
  fc.constantFrom(null, 0, true, [], {}, [""], { text: "" }),
);

export const fuzzedValues: fc.Arbitrary<Fuzzed> = fc.record({
  // No session takes a blank message.
  said: anyText.map((text) => (text.trim() === "" ? `Look${text}.` : text)),
  toolName: anyText,
  input: anyJson,
  output: anyJson,
  error: fc.oneof(
    anyText.map((text) => toStoredError(new Error(text))),
    fc.constantFrom(...Object.values(hostileValues)).map((make) => toStoredError(make())),
  ),
});

/** Each value that nobody should throw or answer with, as an error and as the output that is recorded of it. */
export function hostileLogs(): readonly (readonly [
  name: string,
  events: readonly SessionEvent[],
])[] {
  return Object.entries(hostileValues).map(([name, make]) => [
    name,
    fuzzedLog({
      said: "Look.",
      toolName: "look",
      input: {},
      output: recordable(make()),
      error: toStoredError(make()),
    }),
  ]);
}

/** What a tool's output becomes in the log; those that are refused there are errors instead. */
function recordable(value: unknown): JsonValue {
  try {
    return toJson(value);
  } catch {
    return null;
  }
}
