/** What going back costs: in a session of 10,000 steps by one turn and by half of them, and with many branches. */

import { openMemoryLog } from "../../src/public/index.ts";
import type { EventBody, SessionEvent } from "../../src/events/index.ts";
import { promptMessages } from "../../src/projections/index.ts";
import { rewind } from "../../src/commands/index.ts";
import {
  foldSession,
  initialSessionState,
  loadSessionSnapshot,
  nothingKept,
  saveSessionSnapshot,
  type SessionState,
} from "../../src/state/index.ts";
import { BENCH_MODEL } from "../long-history.ts";
import { mark } from "../meter.ts";
import { spread, type Spread } from "../statistics.ts";

const TURNS = 1000;
const STEPS_PER_TURN = 10;
/** Branches differ in their number only. */
const STEPS_OF_BRANCH = 2;
const ROUNDS = 9;
const BRANCHES = [10, 100, 1000] as const;

/** Milliseconds of CPU. */
export interface Rewinding {
  readonly byOneTurn: Spread;
  readonly byHalf: Spread;
  readonly nextPrompt: Spread;
  readonly reopening: Spread;
  /** A rewind by one turn with so many branches from one turn, and each within the one before. */
  readonly branches: readonly {
    readonly count: number;
    readonly beside: Spread;
    readonly within: Spread;
  }[];
}

export async function measureRewinding(): Promise<Rewinding> {
  const events: SessionEvent[] = [];
  const long = grown(initialSession(events), TURNS, STEPS_PER_TURN, events);
  await using log = await openMemoryLog();
  await log.append("s", "none", events, { origin: "recorded" });
  await saveSessionSnapshot(log, "s", long, nothingKept);
  const reopening: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = mark().cpuMs;
    const { state } = await loadSessionSnapshot(log, "s");
    reopening.push(mark().cpuMs - before);
    if (state.position !== long.position) throw new Error("There is no snapshot of it.");
  }
  return {
    byOneTurn: taken(() => rewound(long, TURNS)),
    byHalf: taken(() => rewound(long, TURNS / 2)),
    nextPrompt: taken(() => promptMessages(freshHistory(long), long.view)),
    reopening: spread(reopening.slice(ROUNDS / 3)),
    branches: BRANCHES.map((count) => {
      const [beside, within] = [branched(count, "beside"), branched(count, "within")];
      return {
        count,
        beside: taken(() => rewound(beside, beside.history.turn)),
        within: taken(() => rewound(within, within.history.turn)),
      };
    }),
  };
}

function taken(act: () => unknown): Spread {
  const samples = Array.from({ length: ROUNDS }, () => {
    const before = mark().cpuMs;
    act();
    return mark().cpuMs - before;
  });
  // The first ones compile it.
  return spread(samples.slice(ROUNDS / 3));
}

/** Messages are made once for an item: those of a process that has just opened the session are not there yet. */
function freshHistory({ history }: SessionState): SessionState["history"] {
  return { ...history, items: history.items.map((item) => ({ ...item })) };
}

/** As `Session.rewind` decides and records it. */
function rewound(state: SessionState, beforeTurn: number): SessionState {
  const { event } = rewind({ session: "s", state }, { beforeTurn }, {});
  if (event === undefined) throw new Error("Nothing was left.");
  return recorded(state, event);
}

function recorded(state: SessionState, body: EventBody, log?: SessionEvent[]): SessionState {
  const position = state.position + 1;
  const event: SessionEvent = { position, time: position, ...body };
  log?.push(event);
  return foldSession(state, event).state;
}

function initialSession(log?: SessionEvent[]): SessionState {
  const agent = { digest: "bench", model: BENCH_MODEL, tools: [] };
  return recorded(initialSessionState, { type: "session.created", data: { agent } }, log);
}

/** So many branches of one turn: all from the same place, or each from the end of the one before. */
function branched(count: number, how: "beside" | "within"): SessionState {
  let state = grown(initialSession(), 3, STEPS_OF_BRANCH);
  for (let branch = 0; branch < count; branch++) {
    if (how === "within") state = grown(state, 1, STEPS_OF_BRANCH);
    state = grown(rewound(state, state.history.turn), 1, STEPS_OF_BRANCH);
  }
  return state;
}

function grown(
  from: SessionState,
  turns: number,
  steps: number,
  log?: SessionEvent[],
): SessionState {
  let state = from;
  for (let count = 0; count < turns; count++)
    for (const body of turnAfter(state, steps)) state = recorded(state, body, log);
  return state;
}

function turnAfter({ machine, position }: SessionState, count: number): readonly EventBody[] {
  const turn = machine.context.turn + 1;
  const first = machine.context.step + 1;
  const id = `m${position}`;
  const content = `Look at part ${turn} of it, and say what is there.`;
  const steps = Array.from({ length: count }, (_, index) =>
    index + 1 === count
      ? stepOf(turn, first + index, "stop")
      : stepOf(turn, first + index, "tool-calls"),
  );
  return [
    { type: "message.queued", data: { id, content, delivery: "follow-up" } },
    { type: "turn.started", data: { turn, maxSteps: 50 } },
    { type: "message.delivered", data: { ids: [id], turn, boundary: "turn" } },
    ...steps.flat(),
    { type: "turn.ended", data: { turn, reason: "stop" } },
  ];
}

function stepOf(
  turn: number,
  step: number,
  finishReason: "stop" | "tool-calls",
): readonly EventBody[] {
  const callId = `c${step}`;
  const usage = { basis: "measured", inputTokens: 600 * step, outputTokens: 30 } as const;
  const estimate = { tokens: 600 * step, basis: "length" } as const;
  const start = { turn, step, attempt: 1, model: BENCH_MODEL, promptDigest: "", estimate };
  const output = `${step}: ${"it says that there are more of them; ".repeat(50)}`;
  const calls = finishReason === "tool-calls";
  return [
    { type: "step.started", data: start },
    { type: "part.text-start", data: { id: "b" } },
    { type: "part.text-delta", data: { id: "b", text: `I look at line ${step}.` } },
    { type: "part.text-end", data: { id: "b" } },
    ...(calls
      ? ([
          { type: "part.tool-call", data: { toolCallId: callId, toolName: "read", input: {} } },
        ] as const)
      : []),
    { type: "step.finished", data: { step, finishReason, usage, response: {} } },
    ...(calls
      ? ([
          {
            type: "tool.started",
            data: { step, callId, toolName: "read", attempt: 1, effectId: callId },
          },
          { type: "tool.succeeded", data: { step, callId, output } },
        ] as const)
      : []),
  ];
}
