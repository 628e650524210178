/** Law 12: a rewind brings back the history and the prompt of a boundary, and a checkout those of a branch. */

import { isDeepStrictEqual } from "node:util";
import type { EventMap, SessionEvent } from "../../src/events/index.ts";
import {
  branchAt,
  headOf,
  promptMessages,
  promptProblems,
  type PromptRule,
} from "../../src/projections/index.ts";
import { foldSession, type SessionState } from "../../src/state/index.ts";
import { replay, stateAt } from "./replay.ts";

export interface RewindTrial {
  /** How many boundaries the session was rewound to. */
  readonly tried: number;
  readonly problems: readonly string[];
}

export interface TrialOptions {
  /** How many boundaries are tried at most, evenly spread. */
  readonly most: number;
  /** The log was thinned or redacted since: earlier bills include what is gone. */
  readonly thinned?: boolean;
}

/** The history and the prompt of the active branch, and what estimates of the next prompt start from. */
function remembered({ history: { items }, ...state }: SessionState): object {
  const { view, calibration, compactions, counts } = state;
  return {
    items,
    prompt: JSON.stringify(nextPrompt({ ...state, history: { items } })),
    view,
    calibration,
    compactions,
    counts,
  };
}

function nextPrompt({
  history,
  view,
}: Pick<SessionState, "view"> & {
  readonly history: Pick<SessionState["history"], "items">;
}): ReturnType<typeof promptMessages> {
  return promptMessages({ items: history.items, waiting: [], turn: 0 }, view);
}

/** The names of the parts that differ: a whole difference of two states takes minutes to print. */
export function differences(found: object, expected: object): readonly string[] {
  const [one, other] = [{ ...found }, { ...expected }].map(
    (value): Record<string, unknown> => value,
  );
  return Object.keys(found).filter((name) => !isDeepStrictEqual(one?.[name], other?.[name]));
}

function rewoundTo(state: SessionState, data: EventMap["session.rewound"]): SessionState {
  const event = { position: state.position + 1, time: 0, type: "session.rewound", data } as const;
  return foldSession(state, event).state;
}

/** The positions at rest between turns, of all branches. */
export function boundaryPositions({
  boundaries: { passed, from },
  position,
}: SessionState): readonly number[] {
  const now = from === 0 ? [] : [from, position];
  return [...new Set([...passed.flatMap((one) => [one.from, one.to]), ...now])];
}

/** The next message follows the last reply, and calls get ids of their own when they are sent. */
const isLater: ReadonlySet<PromptRule> = new Set<PromptRule>(["ends-with-input", "unique-calls"]);

/** Rewinds a session to its boundaries and back. A session in a turn is not tried. */
export function tryRewinds(
  events: readonly SessionEvent[],
  { most, thinned = false }: TrialOptions,
): RewindTrial {
  const replayed = replay(events);
  const { last } = replayed;
  if (last.boundaries.from === 0) return { tried: 0, problems: [] };
  const all = boundaryPositions(last);
  const stride = Math.max(1, Math.ceil(all.length / most));
  const tried = all.filter((_, index) => index % stride === 0);
  const known = (state: SessionState): object => {
    const { view, ...rest } = state;
    return remembered(thinned ? { ...rest, view: { ...view, changed: 0 } } : state);
  };
  const problems = tried.flatMap((to) => {
    const rewound = rewoundTo(last, { to });
    const branch = branchAt(last.branches, last.position);
    const head = headOf(last.branches, branch, last.position);
    const back = rewoundTo(rewound, { to: head, branch });
    const { turn, step } = last.machine.context;
    const now = back.machine.context;
    const invalid = promptProblems(nextPrompt(rewound)).filter(({ rule }) => !isLater.has(rule));
    return [
      ...differences(known(rewound), known(stateAt(replayed, to))),
      ...(isDeepStrictEqual(rewound.queue, last.queue) ? [] : ["queue"]),
      ...differences(known(back), known(last)).map((part) => `${part} after the return`),
      ...(now.turn === turn && now.step === step
        ? []
        : ["numbers of turns or steps count backwards"]),
      ...invalid.map(({ what }) => `prompt: ${what}`),
    ].map((part) => `rewound from ${last.position} to ${to}: ${part}`);
  });
  return { tried: tried.length, problems };
}
