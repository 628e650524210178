/** Two sessions, or a fork and its origin, aligned by step: prompts, calls, texts, tokens. */

import { useEffect, useMemo, useState } from "react";
import { useSelector } from "@xstate/store-react";
import { read } from "../data/client.ts";
import { SessionFeed } from "../data/session-feed.ts";
import type { Step } from "../data/steps.ts";
import type { StateAt } from "../data/types.ts";
import { useAsked } from "../data/use-asked.ts";
import { dollars, duration, figure, plural, tokens } from "../data/words.ts";
import { Failure, Loading } from "../parts/loading.tsx";
import { Prose } from "../parts/prose.tsx";
import { go } from "../shell/place.ts";
import { pairsOf, type Pair } from "./align.ts";

export function Compare({ left, right }: { readonly left: string; readonly right: string }) {
  const [feeds, setFeeds] = useState<readonly [SessionFeed, SessionFeed]>();
  useEffect(() => {
    const opened = [new SessionFeed(left), new SessionFeed(right)] as const;
    setFeeds(opened);
    return () => opened.forEach((feed) => feed.close());
  }, [left, right]);
  return feeds === undefined ? null : <Both left={feeds[0]} right={feeds[1]} />;
}

function Both({ left, right }: { readonly left: SessionFeed; readonly right: SessionFeed }) {
  const one = useSelector(left.store, ({ context }) => context);
  const other = useSelector(right.store, ({ context }) => context);
  const [onlyDifferent, setOnlyDifferent] = useState(false);
  const states = useAsked(
    `${left.id} ${right.id} ${one.reading} ${other.reading}`,
    async (signal) =>
      Promise.all([left, right].map(({ id }) => read<StateAt>(id, "state", {}, signal))),
  ).answer;
  const shared = sharedUpTo(left.id, right.id, states);
  const pairs = useMemo(
    () => pairsOf(left.steps.all, right.steps.all, shared),
    [left, right, one.structure, other.structure, shared],
  );
  const failure = one.error ?? other.error;
  if (failure !== undefined)
    return <Failure title="These cannot be compared" message={failure.message} />;
  if (one.connection === "loading" || other.connection === "loading")
    return <Loading words="Reading both sessions…" />;
  const shown = onlyDifferent
    ? pairs.filter(({ kind }) => kind === "prompt" || kind === "only")
    : pairs;
  const first = pairs.find(({ kind }) => kind === "prompt" || kind === "only");
  const firstStep = first?.left?.step ?? first?.right?.step;
  return (
    <div className="compare">
      <header className="head">
        <div className="head-what">
          <h1>Compare</h1>
          <p className="dim">
            {plural(pairs.length, "step")}
            {shared > 0 && `, the same events up to position ${figure(shared)}`}
            {firstStep === undefined
              ? ". Every prompt is the same."
              : `. The first prompt that differs is that of step ${firstStep}.`}
          </p>
        </div>
        <button
          type="button"
          className="chip"
          aria-pressed={onlyDifferent}
          onClick={() => setOnlyDifferent(!onlyDifferent)}
        >
          Only what differs
        </button>
      </header>
      <div className="scroll compare-body">
        <div className="pair pair-head">
          <Side feed={left} state={states?.[0]} />
          <Side feed={right} state={states?.[1]} />
        </div>
        {shown.map((pair) => (
          <PairView
            key={pair.left?.step ?? pair.right?.step}
            pair={pair}
            left={left.id}
            right={right.id}
          />
        ))}
      </div>
    </div>
  );
}

/** Of a fork and its origin, the fork point. */
function sharedUpTo(left: string, right: string, states: readonly StateAt[] | undefined): number {
  const [one, other] = (states ?? []).map(({ summary }) => summary.forkedFrom);
  if (other?.session === left) return other.position;
  if (one?.session === right) return one.position;
  return one !== undefined && one.session === other?.session
    ? Math.min(one.position, other.position)
    : 0;
}

function Side({
  feed,
  state,
}: {
  readonly feed: SessionFeed;
  readonly state: StateAt | undefined;
}) {
  return (
    <div className="side-title">
      <button
        type="button"
        className="link"
        onClick={() => go({ page: "session", session: feed.id, view: "chat" })}
      >
        <b dir="auto">
          {state === undefined || state.summary.title === "" ? feed.id : state.summary.title}
        </b>
      </button>
      <code className="id">{feed.id}</code>
      {state !== undefined && (
        <span className="num dim">
          {plural(state.summary.steps, "step")},{" "}
          {tokens(state.usage.total.inputTokens + (state.usage.inherited?.total.inputTokens ?? 0))}{" "}
          in, {dollars(state.cost.total.dollars + (state.cost.inherited?.dollars ?? 0))}
        </span>
      )}
    </div>
  );
}

const words: Readonly<Record<Pair["kind"], string>> = {
  shared: "shared events",
  same: "the same prompt",
  prompt: "another prompt",
  only: "in one session only",
};

function PairView({
  pair,
  left,
  right,
}: {
  readonly pair: Pair;
  readonly left: string;
  readonly right: string;
}) {
  return (
    <section
      className={`pair pair-${pair.kind}`}
      aria-label={`Step ${pair.left?.step ?? pair.right?.step}`}
    >
      <h2 className="pair-title">
        Step {pair.left?.step ?? pair.right?.step} <span className="pill">{words[pair.kind]}</span>
      </h2>
      <StepCard step={pair.left} other={pair.right} session={left} />
      <StepCard step={pair.right} other={pair.left} session={right} />
    </section>
  );
}

function StepCard({
  step,
  other,
  session,
}: {
  readonly step: Step | undefined;
  readonly other: Step | undefined;
  readonly session: string;
}) {
  if (step === undefined) return <div className="step-card absent">No such step</div>;
  const { usage, estimate, text, calls, status, time, endTime, position } = step;
  return (
    <div className="step-card">
      <p className="num dim">
        <button
          type="button"
          className="link"
          onClick={() => go({ page: "session", session, position, view: "prompt" })}
        >
          prompt at {figure(position)}
        </button>{" "}
        {tokens(usage?.inputTokens ?? estimate)} in, {tokens(usage?.outputTokens ?? 0)} out
        {endTime !== undefined && `, ${duration(endTime - time)}`}
        {status !== "finished" && <span className="pill status-troubled">△ {status}</span>}
      </p>
      {text !== "" && (
        <div className={`text${text === other?.text ? " equal" : ""}`}>
          <Prose text={text} />
        </div>
      )}
      {calls.map((call) => (
        <p key={call.id} className="step-call">
          <b>{call.tool}</b> <code dir="auto">{JSON.stringify(call.input)}</code>{" "}
          <span className="dim">{call.outcome ?? "open"}</span>
        </p>
      ))}
    </div>
  );
}
