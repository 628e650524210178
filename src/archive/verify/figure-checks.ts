/** Law 7: the figures of the steps add up to those of the turns, of the session and of its summary. */

import { isRedacted, type TokenUsage, type SessionEvent } from "../../events/index.ts";
import { noUsage, ownSteps, spending, turnUsage } from "../../projections/index.ts";
import type { SessionState } from "../../state/index.ts";
import { noFaults, type Check } from "./check.ts";

/** The figures that every step has. */
type Figures = Pick<TokenUsage, "basis" | "inputTokens" | "outputTokens">;

function plus(one: Figures, other: Figures): Figures {
  return {
    basis: one.basis === "measured" ? other.basis : one.basis,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
  };
}

function figuresText({ basis, inputTokens, outputTokens }: Figures): string {
  return `${inputTokens} in, ${outputTokens} out, ${basis}`;
}

function sum(figures: readonly Figures[]): string {
  return figuresText(figures.reduce(plus, noUsage));
}

function differing(sums: Readonly<Record<string, string>>, logged: Figures): readonly string[] {
  const expected = figuresText(logged);
  return Object.entries(sums).flatMap(([where, figures]) =>
    figures === expected ? [] : [`${where} says ${figures}; the log says ${expected}`],
  );
}

export function figureCheck(): Check {
  let ofSteps: Figures = noUsage;
  /** Also repeated attempts and summaries. */
  let ofAll: Figures = noUsage;
  let steps = 0;
  /** The spending of the origin of a fork, and the last step that it shares. */
  let inherited: { readonly step: number; total: Figures } | undefined;
  let step = 0;
  return {
    rule: "figures",

    onEvent(event) {
      switch (event.type) {
        case "session.forked":
          inherited = { step, total: plus(inherited?.total ?? noUsage, ofAll) };
          ofSteps = noUsage;
          ofAll = noUsage;
          return noFaults;
        case "step.started":
          step = event.data.step;
          return noFaults;
        case "step.finished":
        case "step.failed":
        case "step.interrupted":
          if (inherited !== undefined && event.data.step <= inherited.step) {
            inherited.total = plus(inherited.total, event.data.usage);
            steps += 1;
            return noFaults;
          }
          ofSteps = plus(ofSteps, event.data.usage);
          ofAll = plus(ofAll, event.data.usage);
          steps += 1;
          return noFaults;
        case "step.retrying":
        case "context.compacted":
        case "context.summary-rejected":
        case "context.compaction-rejected":
          if (event.data.usage !== undefined) ofAll = plus(ofAll, event.data.usage);
          return noFaults;
        default:
          return noFaults;
      }
    },

    onEnd({ usage, summary }: SessionState) {
      const own = ownSteps(usage);
      const turns = [...new Set(own.map(({ turn }) => turn))];
      const wrong = [
        ...differing(
          {
            "the usage of the steps": figuresText(usage.total),
            "each step": sum(own.map((one) => one.usage)),
            "each turn": sum(turns.map((turn) => turnUsage(usage, turn))),
          },
          ofSteps,
        ),
        ...differing(
          {
            "the spending": figuresText(spending(usage).total),
            "the summary": figuresText(summary.total),
          },
          ofAll,
        ),
        ...differing(
          {
            "the usage of the sessions before": figuresText(usage.inherited?.total ?? noUsage),
            "the summary of the sessions before": figuresText(summary.inherited?.total ?? noUsage),
          },
          inherited?.total ?? noUsage,
        ),
      ];
      return usage.steps.length === steps
        ? wrong
        : [...wrong, `the usage has ${usage.steps.length} steps, but ${steps} ended`];
    },
  };
}

// Law 6: every tool call that the runtime runs ends once, in one of five ways, before the next attempt or step
// and the end of its turn. A tool starts again only after its process died, with the same effect id. Only
// `skipped`, `denied`, `failed` and a client's answer may come without a start.

type CallEnd = SessionEvent<
  "tool.succeeded" | "tool.failed" | "tool.denied" | "tool.skipped" | "tool.unknown"
>;

type CallStart = "tool.started" | "tool.approval-requested" | "tool.output-requested";

interface Call {
  readonly name: string;
  /** Its last start. */
  start?: SessionEvent<"tool.started">;
  /** Its last attempt ended with a question to a person. */
  hasAsked?: boolean;
  /** The session waits for a client's output. */
  isRequested?: true;
  ends: number;
}

export function callCheck(): Check {
  /** The current attempt of each step: attempts may reuse call ids. */
  const attempts = new Map<number, number>();
  const calls = new Map<string, Call>();
  const open = new Set<Call>();
  let step = 0;
  let recovered = 0;

  function keyOf(ofStep: number, callId: string): string {
    return `${ofStep}.${attempts.get(ofStep)}/${callId}`;
  }

  function onCall({ data }: SessionEvent<"part.tool-call">): readonly string[] {
    const key = keyOf(step, data.toolCallId);
    if (data.providerExecuted === true || calls.has(key)) return noFaults;
    const call = { name: `call ${data.toolCallId} of step ${step}`, ends: 0 };
    calls.set(key, call);
    open.add(call);
    return noFaults;
  }

  function callOf({ data }: SessionEvent<CallStart> | CallEnd): Call | undefined {
    return calls.get(keyOf(data.step, data.callId));
  }

  function onStart(event: SessionEvent<"tool.started">): readonly string[] {
    const call = callOf(event);
    if (call === undefined) return [`${event.type} belongs to no call`];
    const { name, start: before, ends, hasAsked = false } = call;
    const { attempt, effectId } = event.data;
    call.start = event;
    call.hasAsked = false;
    return [
      ...(attempt === (before?.data.attempt ?? 0) + 1
        ? []
        : [`${name} is started as attempt ${attempt}`]),
      ...(before === undefined || effectId === before.data.effectId
        ? []
        : [`${name} changes its effect id`]),
      ...(before === undefined || recovered > before.position || hasAsked
        ? []
        : [`${name} is started again although no process died`]),
      ...(ends > 0 ? [`${name} is started after its end`] : []),
    ];
  }

  function onQuestion(event: SessionEvent<"tool.approval-requested">): readonly string[] {
    const call = callOf(event);
    if (call === undefined) return noFaults;
    // A redacted question is told from an approval by its call, which runs.
    const isQuestion = event.data.question !== undefined;
    if (!isQuestion && !(isRedacted(event) && call.start !== undefined)) return noFaults;
    call.hasAsked = true;
    return call.start === undefined ? [`${call.name} asks a person before it was started`] : [];
  }

  function onRequest(event: SessionEvent<"tool.output-requested">): readonly string[] {
    const call = callOf(event);
    if (call === undefined) return [`${event.type} belongs to no call`];
    const { name, start, ends, isRequested } = call;
    call.isRequested = true;
    return [
      ...(start === undefined ? [] : [`${name} was started and waits for a client`]),
      ...(isRequested === true ? [`${name} waits for a client twice`] : []),
      ...(ends > 0 ? [`${name} waits for a client after its end`] : []),
    ];
  }

  function onCallEnd(event: CallEnd): readonly string[] {
    const call = callOf(event);
    if (call === undefined) return [`${event.type} belongs to no call`];
    call.ends += 1;
    open.delete(call);
    const { type } = event;
    const neverRan = type === "tool.skipped" || (type === "tool.denied" && call.hasAsked !== true);
    const needsStart =
      type === "tool.unknown" || (type === "tool.succeeded" && call.isRequested !== true);
    return [
      ...(call.ends > 1 ? [`${call.name} ends ${call.ends} times`] : []),
      ...(call.start === undefined && needsStart
        ? [`${call.name} was never started and is ${type}`]
        : []),
      ...(call.start !== undefined && neverRan ? [`${call.name} was started and is ${type}`] : []),
    ];
  }

  function endOpenCalls(): readonly string[] {
    const problems = [...open].map(({ name }) => `${name} has no end`);
    open.clear();
    return problems;
  }

  return {
    rule: "calls",
    onEvent(event) {
      switch (event.type) {
        case "session.recovered":
          recovered = event.position;
          return noFaults;
        case "step.started":
          ({ step } = event.data);
          attempts.set(step, event.data.attempt);
          return endOpenCalls();
        case "turn.ended":
          return endOpenCalls();
        case "part.tool-call":
          return onCall(event);
        case "tool.approval-requested":
          return onQuestion(event);
        case "tool.output-requested":
          return onRequest(event);
        case "tool.started":
          return onStart(event);
        case "tool.succeeded":
        case "tool.failed":
        case "tool.denied":
        case "tool.skipped":
        case "tool.unknown":
          return onCallEnd(event);
        default:
          return noFaults;
      }
    },
    // Nothing at the end: a log may end anywhere, and recovery settles open calls.
  };
}
