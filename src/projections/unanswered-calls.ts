/**
 * Provider calls without a result, for instance after Anthropic's `pause_turn`. The provider accepts such
 * a call again until another message follows; then it refuses the call, so the prompt leaves it out.
 */

import type { HistoryPart, StepItem } from "./history-item.ts";
import { sendableParts, stepMessages } from "./prompt-step.ts";
import { isCompaction, type Shown } from "./shown-item.ts";

interface StepCalls {
  readonly open: readonly string[];
  /** Results of calls of earlier steps. */
  readonly given: readonly string[];
}

/** Nearly all steps: their messages need not be made to know it. */
const noCalls: StepCalls = { open: [], given: [] };

const known = new WeakMap<StepItem, StepCalls>();

function callsOf(step: StepItem): StepCalls {
  if (!step.parts.some(isOfProvider)) return noCalls;
  const found = known.get(step);
  if (found !== undefined) return found;
  const open = new Set<string>();
  const given: string[] = [];
  for (const part of sendableParts(step)) {
    if (part.kind === "provider-call") open.add(part.callId);
    else if (part.kind === "provider-result" && !open.delete(part.callId)) given.push(part.callId);
  }
  const calls: StepCalls = { open: [...open], given };
  known.set(step, calls);
  return calls;
}

function isOfProvider({ kind }: HistoryPart): boolean {
  return kind === "provider-call" || kind === "provider-result";
}

/** Whether a step continues a paused reply: it has the result of one of its calls. */
export function continuesReply(reply: Shown, next: Shown): boolean {
  if (!isStep(reply) || !isStep(next)) return false;
  const { given } = callsOf(next);
  return given.length > 0 && callsOf(reply).open.some((id) => given.includes(id));
}

/** Whether a step has calls of the provider that may have to be left out of the prompt. */
export function leavesCallsOpen(shown: Shown): boolean {
  return isStep(shown) && callsOf(shown).open.length > 0;
}

function isStep(shown: Shown): shown is StepItem {
  return !isCompaction(shown) && shown.kind === "step";
}

/** The items without unanswered calls. @param cutOff - Whether a cut-off note follows the last reply. */
export function withoutUnanswered(
  shown: readonly Shown[],
  cutOff: () => boolean,
): readonly Shown[] {
  const unanswered = unansweredCalls(shown, cutOff);
  if (unanswered.size === 0) return shown;
  return shown.map((one, index) => {
    const ids = unanswered.get(index);
    return ids === undefined || !isStep(one) ? one : withoutCalls(one, ids);
  });
}

const none: ReadonlyMap<number, ReadonlySet<string>> = new Map();

/** The calls without a result that another message follows, by the index of their step. */
export function unansweredCalls(
  shown: readonly Shown[],
  cutOff: () => boolean,
): ReadonlyMap<number, ReadonlySet<string>> {
  if (!shown.some(leavesCallsOpen)) return none;
  const left = new Map<number, Set<string>>();
  const leaveOut = (id: string, index: number): void => {
    left.set(index, (left.get(index) ?? new Set()).add(id));
  };
  const open = new Map<string, number>();
  /** Calls before this index are followed by another message. */
  let followedUpTo = 0;
  let reply: StepItem | undefined;
  for (const [index, one] of shown.entries()) {
    if (!isStep(one)) {
      if (!hasMessage(one)) continue;
      followedUpTo = index;
      reply = undefined;
      continue;
    }
    const calls = callsOf(one);
    const last = stepMessages(one).at(-1)?.role;
    // A cut-off note comes between two replies in a row.
    if (last !== undefined && reply !== undefined && !continuesReply(reply, one))
      followedUpTo = index;
    for (const id of calls.given) open.delete(id);
    for (const id of calls.open) {
      const earlier = open.get(id);
      // The next result belongs to the newer call.
      if (earlier !== undefined) leaveOut(id, earlier);
      open.set(id, index);
    }
    if (last !== undefined) reply = last === "assistant" ? one : undefined;
  }
  if (reply !== undefined && cutOff()) followedUpTo = shown.length;
  for (const [id, index] of open) if (index < followedUpTo) leaveOut(id, index);
  return left;
}

function hasMessage(shown: Exclude<Shown, StepItem>): boolean {
  return isCompaction(shown) ? shown.summary !== "" : shown.kind !== "turn-end";
}

interface ShortStep {
  readonly ids: ReadonlySet<string>;
  readonly item: StepItem;
}

const shortSteps = new WeakMap<StepItem, ShortStep>();

/** Made once, so that its messages are measured and hashed once. */
function withoutCalls(step: StepItem, ids: ReadonlySet<string>): StepItem {
  const made = shortSteps.get(step);
  if (made?.ids.size === ids.size && made.ids.isSubsetOf(ids)) return made.item;
  const parts = step.parts.flatMap((part) =>
    part.kind === "provider-call" && ids.has(part.callId) ? [] : [withoutCaller(part, ids)],
  );
  const item = { ...step, parts };
  shortSteps.set(step, { ids, item });
  return item;
}

/** Removes a `caller` that names a call that is left out: the provider would not find it. */
function withoutCaller(part: HistoryPart, ids: ReadonlySet<string>): HistoryPart {
  if (!("providerMetadata" in part) || part.providerMetadata === undefined) return part;
  const metadata = Object.entries(part.providerMetadata).map(([provider, own]) => {
    const { caller, ...rest } = own;
    const isLeft =
      typeof caller === "object" &&
      caller !== null &&
      Object.values(caller).some((id) => typeof id === "string" && ids.has(id));
    return [provider, isLeft ? rest : own] as const;
  });
  return { ...part, providerMetadata: Object.fromEntries(metadata) };
}
