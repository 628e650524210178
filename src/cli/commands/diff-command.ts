/** `turnlog diff`: the difference between the prompts at two positions of a session. */

import type { PromptChange, StandingChange } from "../../projections/index.ts";
import { diffSession, type SessionDiff } from "../../state/index.ts";
import { writeLines, type Channel, type Output, type Style } from "../output/output.ts";
import { jsonText, visibleName, visibleText } from "../output/visible-text.ts";
import { messageLines } from "../show/show-view.ts";
import { openSessions } from "../settings/store-folder.ts";
import { amount } from "../wording/wording.ts";
import type { Given } from "./option-values.ts";

export async function diff(
  session: string,
  before: number,
  after: number,
  { json, ...place }: Given,
  { data }: Output,
): Promise<void> {
  await using log = await openSessions(place, { readOnly: true });
  const found = await diffSession(log, session, before, after);
  await writeLines(data, json ? [jsonText(found)] : diffLines(found, data));
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

/** What differs beside the messages, with the lines that do. */
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
