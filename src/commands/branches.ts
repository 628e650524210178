/**
 * The commands that move the head of a session: `rewind`, `checkout`, `regenerate`. Their deciders, and that of an
 * edit, return the event of the move or throw why it is refused. Pure.
 */

import { flag, position, shortName, thing } from "../validation/index.ts";
import { moveCommand, runtimeCommand, type Answer, type Command } from "./command.ts";
import { basedOn } from "./head.ts";
import type { MoveOptions, RegenerateOptions, RewindOptions } from "./options.ts";
import {
  by,
  options,
  required,
  requiredOptions,
  turnFieldNames,
  turnFields,
} from "./parameters.ts";
import { defined, type EventBody, type SessionEvent, type TokenUsage } from "../events/index.ts";
import {
  allWaiting,
  activeSpans,
  headOf,
  isWithin,
  type HistoryItem,
  type UserItem,
  addUsage,
  noUsage,
  ownBeside,
  ownSteps,
  spansUpTo,
} from "../projections/index.ts";
import { boundaryAt, type SessionState } from "../state/index.ts";
import {
  type RewindPlace,
  rewoundSchema,
  type RewindDecision,
  type RewindManner,
  type RemainingEffect,
  type LeftTurns,
} from "./rewound.ts";
import { refusal, type CommandTarget } from "./target.ts";

const answer: Answer = { kind: "json", schema: rewoundSchema };
const places = ["to", "beforeTurn", "beforeMessage"] as const;

/** Of a recorded move that neither an edit nor a regeneration made. */
function movedHead(event: SessionEvent): SessionEvent<"session.rewound">["data"] | undefined {
  if (event.type !== "session.rewound") return undefined;
  const { again, edit } = event.data;
  return again === undefined && edit === undefined ? event.data : undefined;
}

export const branchCommands: readonly Command[] = [
  moveCommand({
    name: "rewind",
    parameters: [
      requiredOptions<RewindOptions>({
        fields: {
          to: position,
          beforeTurn: position,
          beforeMessage: shortName,
          tell: flag,
          basedOn,
          by,
        },
        and: thing("an object with one of `to`, `beforeTurn` and `beforeMessage`", (value) => {
          const given = places.filter((place) => Reflect.get(Object(value), place) !== undefined);
          return given.length === 1;
        }),
      }),
    ],
    permission: "rewind",
    route: {
      method: "post",
      path: "/rewind",
      audience: "user",
      summary: "Goes back to the end of an earlier turn; later events stay in the log.",
    },
    answer,
    seen: ({ basedOn: seen }) => seen,
    decide: (target, { tell, by: who, basedOn: _, ...place }) =>
      rewind(target, place, { tell, by: who }),
    recorded: (event) => {
      const moved = movedHead(event);
      return moved === undefined || moved.branch !== undefined
        ? undefined
        : () => [{ to: moved.to, tell: moved.note !== undefined, ...defined({ by: moved.by }) }];
    },
  }),
  moveCommand({
    name: "checkout",
    parameters: [
      required<number>("branch", position),
      options<MoveOptions>({ fields: { tell: flag, basedOn, by } }),
    ],
    permission: "rewind",
    route: {
      method: "post",
      path: "/checkout",
      audience: "user",
      summary: "Makes another branch the active one.",
    },
    answer,
    seen: (_, { basedOn: seen } = {}) => seen,
    decide: (target, branch, { tell, by: who } = {}) => checkout(target, branch, { tell, by: who }),
    recorded: (event) => {
      const { branch, note, by: who } = movedHead(event) ?? {};
      return branch === undefined
        ? undefined
        : () => [branch, { tell: note !== undefined, ...defined({ by: who }) }];
    },
  }),
  runtimeCommand({
    name: "regenerate",
    parameters: [
      options<RegenerateOptions>({
        fields: {
          messageId: shortName,
          idempotencyKey: shortName,
          basedOn,
          by,
          ...turnFields,
        },
        local: turnFieldNames,
      }),
    ],
    permission: "rewind",
    route: {
      method: "post",
      path: "/regenerate",
      audience: "user",
      summary:
        "Runs a turn again for another reply, by default the last one. `Idempotency-Key` names the regeneration.",
    },
    answer: { kind: "turn" },
    recorded: (event) => {
      if (event.type !== "session.rewound" || event.data.edit !== undefined) return undefined;
      const { again, key: idempotencyKey, by: who } = event.data;
      const messageId = again?.at(-1);
      return messageId === undefined
        ? undefined
        : () => [defined({ messageId, idempotencyKey, by: who })];
    },
  }),
];

/** Decides on `rewind`. @throws TurnlogError `COMMAND_REFUSED` */
export function rewind(
  target: CommandTarget,
  place: RewindPlace,
  manner: RewindManner,
): RewindDecision {
  return rewindTo(target, positionOf(target, place), manner, {});
}

/** Decides on `checkout`. @throws TurnlogError `COMMAND_REFUSED` */
export function checkout(
  target: CommandTarget,
  branch: number,
  manner: RewindManner,
): RewindDecision {
  const { branches, position } = target.state;
  if (!branches.all.some(({ id }) => id === branch)) {
    const known = branches.all.map(({ id }) => id).join(", ");
    throw refusal(target, "checkout", `it has no branch ${branch}. Its branches: ${known}`);
  }
  if (branches.switches.at(-1)?.branch === branch) return alreadyThere(target.state);
  return rewindTo(target, headOf(branches, branch, position), manner, { branch });
}

/** Decides on an edit: rewinds before the turn that a message began; its other messages wait again. */
export function replaceMessage(
  target: CommandTarget,
  messageId: string,
  newId: string,
  manner: RewindManner,
): RewindDecision {
  const message = deliveredMessage(target, messageId, "edit");
  const others = messagesOf(target.state, message.turn).filter((id) => id !== messageId);
  return rewindTo(target, beforeMessage(target, message, "edit"), manner, {
    ...(others.length === 0 ? {} : { again: others }),
    edit: { replaces: messageId, by: newId },
  });
}

/** Decides on a regeneration: the messages of a turn wait again before it. */
export function runAgain(
  target: CommandTarget,
  messageId: string,
  key: string | undefined,
  manner: RewindManner,
): RewindDecision {
  const { turn } = deliveredMessage(target, messageId, "regenerate");
  return rewindTo(target, beforeTurn(target, turn, "regenerate"), manner, {
    again: messagesOf(target.state, turn),
    ...(key === undefined ? {} : { key }),
  });
}

/** The position of the rewind that ran a message again last; 0 if none did. */
export function lastRun({ branches }: SessionState, messageId: string): number {
  return branches.all.findLast(({ again }) => again?.includes(messageId) === true)?.id ?? 0;
}

type Details = Omit<EventBody<"session.rewound">["data"], "to" | "note" | "by">;

function rewindTo(
  target: CommandTarget,
  to: number,
  { tell = false, by }: RewindManner,
  details: Details,
): RewindDecision {
  const { state } = target;
  const boundary = boundaryAt(state, to);
  if (boundary === undefined) throw refusal(target, "rewind", notBoundary(target, to));
  // Events of a program may follow within a boundary, and its projections tell them apart.
  const isHere = boundary.from === state.boundaries.from && to >= state.appended.newest;
  if (isHere && details.again === undefined && details.edit === undefined)
    return alreadyThere(state);
  const left = leftTurns(state, to);
  const { effects } = left;
  const note = tell && effects.length > 0 ? { note: noteOn(effects) } : {};
  const data = { to, ...details, ...note, ...(by === undefined ? {} : { by }) };
  const position = state.position + 1;
  return {
    event: { type: "session.rewound", data },
    rewound: { branch: details.branch ?? position, position, to, ...left },
  };
}

function alreadyThere({ branches, position }: SessionState): RewindDecision {
  const branch = branches.switches.at(-1)?.branch ?? 1;
  return { rewound: { branch, position, to: position, ...nothingLeft } };
}

/** What the rewind left that made a message run, again or in place of another; undefined if none did. */
export interface Replacing {
  /** The position of the rewind. */
  readonly position: number;
  readonly to: number;
}

/**
 * The rewind that began the turn of a message.
 * @param from - The position of the message, or of the rewind that runs it again.
 */
export function replacing(
  { branches }: SessionState,
  messageId: string,
  from: number,
): Replacing | undefined {
  const began = branches.all.findLast(
    ({ id, edit, again = [] }) =>
      edit?.by === messageId || (id === from && again.includes(messageId)),
  );
  return began?.forkedAt === undefined ? undefined : { position: began.id, to: began.forkedAt };
}

function positionOf(target: CommandTarget, place: RewindPlace): number {
  if ("to" in place) return place.to;
  if ("beforeTurn" in place) return beforeTurn(target, place.beforeTurn, "rewind");
  const message = deliveredMessage(target, place.beforeMessage, "rewind");
  return beforeMessage(target, message, "rewind");
}

/** The last boundary before a turn of the active branch. */
function beforeTurn(target: CommandTarget, turn: number, command: string): number {
  const { boundaries, branches, history } = target.state;
  if (!history.items.some((item) => item.turn === turn)) {
    const where = boundaries.items.some((item) => item.turn === turn)
      ? `turn ${turn} is not on the active branch. Check its branch out first: \`branches()\` lists them`
      : `it has no turn ${turn}`;
    throw refusal(target, command, where);
  }
  const spans = activeSpans(branches);
  const before = boundaries.passed.findLast((one) => one.turn < turn && isWithin(spans, one.to));
  if (before !== undefined) return before.to;
  throw refusal(target, command, `nothing precedes turn ${turn}`);
}

function beforeMessage(
  target: CommandTarget,
  { id, turn, position }: UserItem,
  command: string,
): number {
  const { items } = target.state.history;
  const wasSteered = items.some(
    (item) => item.kind === "step" && item.turn === turn && item.position < position,
  );
  if (!wasSteered) return beforeTurn(target, turn, command);
  const why = `message ${id} came in the middle of turn ${turn}, but a session can be rewound only to a place between turns. Use \`beforeTurn: ${turn}\`, or send another message`;
  throw refusal(target, command, why);
}

function deliveredMessage(target: CommandTarget, id: string, command: string): UserItem {
  const { history, boundaries, queue } = target.state;
  const isIt = (item: HistoryItem): item is UserItem => item.kind === "user" && item.id === id;
  const found = history.items.findLast(isIt);
  if (found !== undefined) return found;
  const why = allWaiting(queue).some((message) => message.id === id)
    ? `message ${id} still waits: withdraw it, and send another one`
    : boundaries.items.some(isIt)
      ? `message ${id} is not on the active branch. Check its branch out first: \`branches()\` lists them`
      : `it never delivered a message ${id}`;
  throw refusal(target, command, why);
}

/** The messages of a turn, each once. */
function messagesOf({ history }: SessionState, turn: number): readonly string[] {
  const ids = history.items.flatMap((item) =>
    item.kind === "user" && item.turn === turn ? [item.id] : [],
  );
  return [...new Set(ids)];
}

/** Why a position is no place to rewind to, and the nearest ones that are. */
function notBoundary({ state }: CommandTarget, to: number): string {
  const { passed } = state.boundaries;
  if (to > state.position) return `its last position is ${state.position}`;
  const before = passed.findLast((one) => one.to < to)?.to;
  const behind = passed.find((one) => one.from > to)?.from;
  const near = [before, behind].filter((one) => one !== undefined).join(" and ");
  return `a turn or a compaction ran at position ${to}, but a session can be rewound only to a place between turns. The nearest positions: ${near}`;
}

/** What becomes of the messages that wait when a branch is left. The others keep waiting. */
export function leavingBranch({ queue, boundaries }: SessionState): readonly EventBody[] {
  const ids: string[] = [];
  const rescheduled: EventBody[] = [];
  for (const { id, delivery, notBefore } of allWaiting(queue)) {
    // One that was delivered before, on some branch, is to run again on this one only.
    if (boundaries.items.some((item) => item.kind === "user" && item.id === id)) ids.push(id);
    // One that was to steer a turn of this branch waits for a turn of its own.
    else if (delivery === "steer" && notBefore === undefined)
      rescheduled.push({ type: "message.rescheduled", data: { id, delivery: "follow-up" } });
  }
  if (ids.length === 0) return rescheduled;
  const data = { ids, reason: "its branch was left" };
  return [{ type: "message.withdrawn", data }, ...rescheduled];
}

// What a rewind leaves behind: turns, their effects in the world, and their cost. Pure.

const nothingLeft: LeftTurns = { turns: [], effects: [], usage: noUsage };

/** What leaves the active branch when the session goes to a boundary. */
export function leftTurns(state: SessionState, to: number): LeftTurns {
  const left = leftItems(state, to);
  const turns = [...new Set(left.map(({ turn }) => turn))];
  return { turns, effects: left.flatMap(effectsOf), usage: usageOf(state, turns) };
}

/** Finished items of the active branch that a rewind leaves. */
function leftItems({ history, branches }: SessionState, to: number): readonly HistoryItem[] {
  const spans = spansUpTo(branches, to);
  return history.items.filter(
    ({ position, kind }) => kind !== "note" && !isWithin(spans, position),
  );
}

function effectsOf(item: HistoryItem): readonly RemainingEffect[] {
  if (item.kind !== "step") return [];
  const { turn, step, parts } = item;
  return parts.flatMap((part) => {
    if (part.kind !== "call") return [];
    const { callId, toolName, outcome } = part;
    const { status } = outcome;
    return status === "succeeded" || status === "unknown"
      ? [{ turn, step, callId, toolName, status }]
      : [];
  });
}

function usageOf({ usage }: SessionState, left: readonly number[]): TokenUsage {
  const turns = new Set(left);
  return [...ownSteps(usage), ...ownBeside(usage)]
    .filter(({ turn }) => turns.has(turn))
    .reduce((sum, one) => addUsage(sum, one.usage), noUsage);
}

/** The text that tells the model about effects. */
function noteOn(effects: readonly RemainingEffect[]): string {
  const words = effects.map(({ toolName, status }) =>
    status === "succeeded" ? `- ${toolName} (succeeded)` : `- ${toolName} (its outcome is unknown)`,
  );
  return `[The user took back what came after this point. These tool calls had run before, and their effects remain:\n${words.join("\n")}]`;
}
