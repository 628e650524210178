/** `turnlog diff`: the difference between the prompts at two positions of a session, or between two sessions. */

import {
  inOrder,
  laneOf,
  pair,
  reportedTurns,
  type Lane,
  type ReportedTurn,
} from "../../compare/index.ts";
import { shippedCatalogue } from "../../context/index.ts";
import type { EventLog } from "../../events/index.ts";
import type { PromptChange, StandingChange } from "../../projections/index.ts";
import { checkPosition, diffSession, type SessionDiff } from "../../state/index.ts";
import { UsageError } from "../output/error-report.ts";
import { writeLines, type Channel, type Output, type Style } from "../output/output.ts";
import { jsonText, visibleName, visibleText } from "../output/visible-text.ts";
import { messageLines } from "../show/show-view.ts";
import { openSessions } from "../settings/store-folder.ts";
import { money } from "../wording/bill-words.ts";
import { amount, duration, excerpt, figure } from "../wording/wording.ts";
import { position, type Given } from "./option-values.ts";

export async function diff(
  session: string,
  before: string,
  after: number | undefined,
  { json, ...place }: Given,
  { data }: Output,
): Promise<void> {
  const from = after === undefined ? undefined : firstPosition(before);
  await using log = await openSessions(place, { readOnly: true });
  if (after === undefined || from === undefined) {
    const [one, other] = [await readLane(log, session), await readLane(log, before)];
    const { verdict, first, turns } = pair(one, other);
    const sides: Sides = { recorded: sideOf(one), candidate: sideOf(other) };
    const found = reportedTurns(turns);
    await writeLines(
      data,
      json
        ? [jsonText({ ...sides, verdict, first, turns: found })]
        : sessionLines(sides, found, data),
    );
    return;
  }
  const found = await diffSession(log, session, from, after);
  await writeLines(data, json ? [jsonText(found)] : diffLines(found, data));
}

function firstPosition(text: string): number {
  try {
    return position(text);
  } catch (cause) {
    throw new UsageError(
      `${visibleName(text)} is no position, counted from 1. To compare two sessions, name no position behind them.`,
      { cause },
    );
  }
}

async function readLane(log: EventLog, session: string): Promise<Lane> {
  await checkPosition(log, session);
  const events = await Array.fromAsync(log.read(session));
  return laneOf(session, events, await shippedCatalogue());
}

interface Sides {
  readonly recorded: Side;
  readonly candidate: Side;
}

type Side = Pick<Lane, "session" | "totals">;

function sideOf({ session, totals }: Lane): Side {
  return { session, totals };
}

const MESSAGE_LENGTH = 60;

/** The first session counts as the recording. */
function sessionLines(
  { recorded, candidate }: Sides,
  turns: readonly ReportedTurn[],
  data: Channel,
): readonly string[] {
  const found = turns.flatMap((turn) => {
    const all = inOrder(turn);
    const head = `Turn ${turn.turn}: ${visibleName(excerpt(turn.message, MESSAGE_LENGTH))}`;
    if (all.length === 0) return [data.style("dim", `= ${head}`)];
    return [
      data.style("yellow", `~ ${head}`),
      ...all.map(({ sentence }) => `   ${visibleName(sentence)}`),
    ];
  });
  return [
    `${visibleName(recorded.session)} (the recording) and ${visibleName(candidate.session)}`,
    ...found,
    "",
    ...totalsLines(totalsText(recorded), totalsText(candidate)).map((line) =>
      data.style("dim", line),
    ),
  ];
}

function totalsLines(before: string, after: string): readonly string[] {
  return before === after ? [`= ${before}`] : [`- ${before}`, `+ ${after}`];
}

function totalsText({ totals }: Side): string {
  const { steps, calls, inputTokens, cacheReadTokens, outputTokens, dollars, ms } = totals;
  return [
    amount(steps, "step"),
    amount(calls, "call"),
    `${figure(inputTokens)} in (${figure(cacheReadTokens)} cached), ${figure(outputTokens)} out`,
    ...(dollars === undefined ? [] : [money(dollars)]),
    duration(ms),
  ].join(" · ");
}

function diffLines(found: SessionDiff, data: Channel): readonly string[] {
  const { session, before, after, lengths, changes, standing } = found;
  const from = `${before} (${amount(lengths.before, "message")})`;
  const to = `${after} (${amount(lengths.after, "message")})`;
  return [
    `${session} from ${from} to ${to}`,
    ...standing.flatMap((change) => standingLines(change, data)),
    ...changes.flatMap((change) => changeLines(change, data)),
    "",
    data.style("dim", cacheLine(found)),
  ];
}

const signs: Readonly<Record<PromptChange["kind"], readonly [string, Style]>> = {
  added: ["+", "green"],
  removed: ["-", "red"],
  changed: ["~", "yellow"],
};

/** What differs besides the messages, with the lines that do. */
function standingLines(change: StandingChange, data: Channel): readonly string[] {
  if (change.part === "tools")
    return [
      "",
      data.style("yellow", "~ the order of the tools"),
      data.style("red", `-  ${change.before.map(visibleName).join(", ")}`),
      data.style("green", `+  ${change.after.map(visibleName).join(", ")}`),
    ];
  const { part, kind, name, lines } = change;
  const [sign, style] = signs[kind];
  const head = `${sign} ${part}${name === undefined ? "" : ` ${visibleName(name)}`}`;
  return [
    "",
    data.style(style, lines === undefined ? head : `${head}, from line ${lines.from}`),
    ...(lines?.removed ?? []).map((line) => data.style("red", `-  ${visibleText(line)}`)),
    ...(lines?.added ?? []).map((line) => data.style("green", `+  ${visibleText(line)}`)),
  ];
}

/** Numbers messages from 1. */
function changeLines(change: PromptChange, data: Channel): readonly string[] {
  const [sign, style] = signs[change.kind];
  const { role } = change.kind === "changed" ? change.after : change.message;
  const head = data.style(style, `${sign} ${change.index + 1} ${role}, ${change.why}`);
  if (change.kind !== "changed") return ["", head, ...messageLines(change.message, data)];
  return [
    "",
    head,
    ...messageLines(change.before, data).map((line) => data.style("red", `-${line}`)),
    ...messageLines(change.after, data).map((line) => data.style("green", `+${line}`)),
  ];
}

function cacheLine({ changes, agentChanged, cacheBreak }: SessionDiff): string {
  if (agentChanged)
    return "Model, instructions or tools differ, so the provider's cache does not apply.";
  if (cacheBreak !== undefined) {
    return `The provider's cache applies up to message ${cacheBreak}, but not from message ${cacheBreak + 1} on.`;
  }
  return changes.length === 0
    ? "The prompts are equal."
    : "The provider's cache still applies to the whole earlier prompt.";
}
