/** Draws the size of the next prompt: a bar, its parts, and how the figure was determined. Pure. */

import type { ContextFigures, LoggedContext } from "../../runtime/index.ts";
import { visibleName } from "../output/visible-text.ts";
import { wrappedLines } from "../terminal/cells.ts";
import { figure, linesOf, percent } from "./wording.ts";

/** The figures of a live session, or of its log. */
export type DrawnFigures = Omit<ContextFigures, "due"> & Partial<Pick<LoggedContext, "standing">>;

interface Slice {
  readonly mark: string;
  readonly name: string;
  readonly tokens: number;
}

const FREE = "·";
const REPLY = "-";
const LARGEST_BAR = 60;

/** @param columns - Cells in a row; without a terminal infinite. */
export function contextLines(figures: DrawnFigures, columns: number): readonly string[] {
  const { model, room, bytes, warnings, basis, since, lastError } = figures;
  const slices = slicesOf(figures);
  // The parts are estimated, and may be more than what the provider counted.
  const parts = slices.reduce((sum, { tokens }) => sum + tokens, 0);
  const whole = room?.window ?? Math.max(figures.tokens, parts);
  const rows = [...slices, ...roomSlices(room)];
  const lines = linesOf(
    `${about(figures)}${figure(figures.tokens)} tokens for ${model.provider}:${model.modelId}${share(figures)}, ${byteSize(bytes)}${knowsAgent(figures) ? "" : " of messages"}`,
    `[${bar(slices, room, Math.max(10, Math.min(LARGEST_BAR, columns - 4)), figures.tokens)}]`,
    sliceRows(rows, whole, columns),
    room === undefined &&
      `The window of ${model.provider}:${model.modelId} is not known, and so neither is the free space.`,
    basisLine(basis, since),
    lastError && errorLine(lastError),
    figures.standing === "unknown" &&
      "The size of instructions and tools is not known before the agent's first step.",
    warnings,
  );
  // Before lines are split: a line end in a model's name would forge one.
  return lines.flatMap((line) => wrappedLines(visibleName(line), columns).split("\n"));
}

/** Without the agent, a log gives only the sum of instructions and tools. */
function knowsAgent({ standing = "agent" }: DrawnFigures): boolean {
  return standing === "agent";
}

function slicesOf(figures: DrawnFigures): readonly Slice[] {
  const { instructions, tools, messages, media } = figures.breakdown;
  const fixed = knowsAgent(figures)
    ? [
        { mark: "i", name: "instructions", tokens: instructions },
        { mark: "t", name: "tools", tokens: tools },
      ]
    : [{ mark: "i", name: "instructions and tools", tokens: instructions + tools }];
  return [
    ...fixed,
    { mark: "#", name: "messages", tokens: messages },
    { mark: "m", name: "media", tokens: media },
  ];
}

function bar(
  slices: readonly Slice[],
  room: DrawnFigures["room"],
  width: number,
  tokens: number,
): string {
  // A prompt beyond its window fills the bar.
  const whole = Math.max(1, tokens, room?.window ?? 0);
  const reply = room === undefined ? 0 : Math.round((width * room.outputBuffer) / whole);
  let drawn = "";
  let sum = 0;
  for (const { mark, tokens: part } of slices) {
    sum += part;
    const end = Math.min(width, Math.round((width * sum) / whole));
    drawn += mark.repeat(Math.max(0, end - drawn.length));
  }
  const kept = Math.min(reply, width - drawn.length);
  return drawn + FREE.repeat(width - drawn.length - kept) + REPLY.repeat(kept);
}

function sliceRows(slices: readonly Slice[], whole: number, columns: number): readonly string[] {
  const isNarrow = columns < 50;
  const names = isNarrow ? Math.max(...slices.map(({ name }) => name.length)) : 22;
  return slices.map(({ mark, name, tokens }) => {
    const part = whole === 0 ? "" : percent(tokens / whole).padStart(isNarrow ? 7 : 8);
    const long = mark === FREE && tokens < 0 ? "  too long" : "";
    return `  ${mark} ${name.padEnd(names)} ${figure(tokens).padStart(isNarrow ? 9 : 11)}${part}${long}`;
  });
}

function roomSlices(room: DrawnFigures["room"]): readonly Slice[] {
  if (room === undefined) return [];
  return [
    { mark: FREE, name: "free", tokens: room.free },
    { mark: REPLY, name: "kept for the reply", tokens: room.outputBuffer },
  ];
}

function share({ room }: DrawnFigures): string {
  if (room === undefined) return "";
  const { window, outputBuffer, used } = room;
  return `: ${percent(used)} of ${figure(window - outputBuffer)} (window ${figure(window)})`;
}

function basisLine(basis: DrawnFigures["basis"], since: DrawnFigures["since"]): string {
  if (since === undefined)
    return "estimated: no bill or count of this model says how large this prompt is";
  const { step, input, output, added, removed } = since;
  const known =
    step === undefined
      ? `${figure(input)} by the provider`
      : `billed for step ${step}: ${figure(input)} in + ${figure(output)} out`;
  const changed = `since then ${figure(added)} new − ${figure(removed)} removed`;
  switch (basis) {
    case "counted":
      return `counted: ${known}; ${changed}`;
    case "measured":
      return `measured: ${known}; ${changed}`;
    default:
      return `${step === undefined ? "counted" : "measured"} in part: ${known}; ${changed}, which is estimated`;
  }
}

function errorLine({ step, estimated, billed }: NonNullable<DrawnFigures["lastError"]>): string {
  const off = estimated - billed;
  const by = off === 0 ? "exactly" : `${figure(Math.abs(off))} too ${off > 0 ? "many" : "few"}`;
  const part = billed === 0 || off === 0 ? "" : `, ${percent(Math.abs(off) / billed)}`;
  return `last estimate: step ${step}, ${figure(estimated)} for the ${figure(billed)} that were billed (${by}${part})`;
}

function about({ basis }: DrawnFigures): string {
  return basis === "measured" || basis === "counted" ? "" : "~";
}

function byteSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000
    ? `${(bytes / 1000).toFixed(1)} kB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
