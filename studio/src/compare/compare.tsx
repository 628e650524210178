/** Two sessions, a fork and its origin, or two branches of a session, aligned by step: prompts, calls, texts, tokens. */

import { useEffect, useMemo, useState } from "react";
import { useSelector } from "@xstate/store-react";
import { read } from "../data/client.ts";
import { SessionFeed } from "../data/session-feed.ts";
import type { Step } from "../data/steps.ts";
import type { Branch, StateAt } from "../data/types.ts";
import { useAsked } from "../data/use-asked.ts";
import { dollars, duration, figure, plural, tokens } from "../data/words.ts";
import { Failure, Loading } from "../parts/loading.tsx";
import { Prose } from "../parts/prose.tsx";
import { go } from "../shell/place.ts";
import { pairsOf, sharedBy, stepsOn, type Pair } from "./align.ts";

interface Compared {
  readonly session: string;
  readonly branch: number | undefined;
}

export function Compare({ left, right }: { readonly left: Compared; readonly right: Compared }) {
  const [feeds, setFeeds] = useState<readonly [SessionFeed, SessionFeed]>();
  useEffect(() => {
    const opened = [new SessionFeed(left.session), new SessionFeed(right.session)] as const;
    setFeeds(opened);
    return () => opened.forEach((feed) => feed.close());
  }, [left.session, right.session]);
  return feeds === undefined ? null : (
    <Both left={feeds[0]} right={feeds[1]} branches={[left.branch, right.branch]} />
  );
}

function Both({
  left,
  right,
  branches,
}: {
  readonly left: SessionFeed;
  readonly right: SessionFeed;
  readonly branches: readonly (number | undefined)[];
}) {
  const one = useSelector(left.store, ({ context }) => context);
  const other = useSelector(right.store, ({ context }) => context);
  const [onlyDifferent, setOnlyDifferent] = useState(false);
  const states = useAsked(
    `${left.id} ${right.id} ${one.reading} ${other.reading}`,
    async (signal) =>
      Promise.all([left, right].map(({ id }) => read<StateAt>(id, "state", {}, signal))),
  ).answer;
  const [leftBranch, rightBranch] = branches.map((id, side) =>
    states?.[side]?.branches.find((branch) => branch.id === id),
  );
  const areBranches = left.id === right.id && leftBranch !== undefined && rightBranch !== undefined;
  const shared = areBranches
    ? sharedBy(leftBranch, rightBranch)
    : sharedUpTo(left.id, right.id, states);
  const pairs = useMemo(() => {
    const [before, after] = [left.steps.all, right.steps.all];
    return pairsOf(
      leftBranch === undefined ? before : stepsOn(before, leftBranch),
      rightBranch === undefined ? after : stepsOn(after, rightBranch),
      shared,
      areBranches,
    );
  }, [left, right, one.structure, other.structure, shared, states]);
  const failure = one.error ?? other.error;
  if (failure !== undefined)
    return <Failure title="These cannot be compared" message={failure.message} isPage />;
  if (one.connection === "loading" || other.connection === "loading")
    return <Loading words="Reading both sessions…" />;
  const shown = onlyDifferent
    ? pairs.filter(({ kind }) => kind === "prompt" || kind === "only")
    : pairs;
  const first = pairs.find(({ kind }) => kind === "prompt" || kind === "only");
  return (
    <div className="compare">
      <header className="head">
        <div className="head-what">
          <h1>Compare</h1>
          <p className="dim">
            {plural(pairs.length, "step")}
            {shared > 0 && `, the same events up to position ${figure(shared)}`}
            {first === undefined
              ? ". Every prompt is the same."
              : `. The first prompt that differs is that of step ${first.number}.`}
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
          <Side feed={left} state={states?.[0]} branch={leftBranch} />
          <Side feed={right} state={states?.[1]} branch={rightBranch} />
        </div>
        {shown.map((pair) => (
          <PairView key={pair.number} pair={pair} left={left.id} right={right.id} />
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
  branch,
}: {
  readonly feed: SessionFeed;
  readonly state: StateAt | undefined;
  readonly branch: Branch | undefined;
}) {
  return (
    <div className="side-title">
      <button
        type="button"
        className="link"
        onClick={() =>
          go({
            page: "session",
            session: feed.id,
            view: "chat",
            ...(branch === undefined || branch.active ? {} : { position: branch.head }),
          })
        }
      >
        <b dir="auto">
          {state === undefined || state.summary.title === "" ? feed.id : state.summary.title}
        </b>
      </button>
      <code className="id">{feed.id}</code>
      {branch !== undefined && (
        <span className="num dim">
          {branch.active ? "the active branch" : "a branch that was left"}, up to{" "}
          {figure(branch.head)}
        </span>
      )}
      {state !== undefined && branch === undefined && (
        <span className="num dim">
          {plural(state.summary.steps, "step")}, {tokens(state.usage.total.inputTokens)} in,{" "}
          {dollars(state.cost.total.dollars)}
          {state.cost.inherited !== undefined &&
            `, inherited ${dollars(state.cost.inherited.dollars)}`}
        </span>
      )}
    </div>
  );
}

const words: Readonly<Record<Pair["kind"], string>> = {
  shared: "shared events",
  same: "the same prompt",
  prompt: "another prompt",
  only: "on one side only",
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
    <section className={`pair pair-${pair.kind}`} aria-label={`Step ${pair.number}`}>
      <h2 className="pair-title">
        Step {pair.number} <span className="pill">{words[pair.kind]}</span>
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
  const { usage, estimate, text, calls, status, error, time, endTime, position } = step;
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
        {status !== "finished" && <span className="pill status-troubled">△ {status}</span>}{" "}
        {error !== undefined && (
          <span className="error" dir="auto">
            {error}
          </span>
        )}
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
