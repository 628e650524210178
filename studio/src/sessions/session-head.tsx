/** The head of a session: what it is, how it is, what it cost, and what can be done with it. */

import { Acts } from "../acts/acts.tsx";
import type { Connection } from "../data/session-feed.ts";
import { dollars, figure, oneLine, plural, tokens } from "../data/words.ts";
import { positionOf, type Seen } from "../shell/seen.ts";
import { go } from "../shell/place.ts";
import { StatusPill } from "./status.tsx";

export function SessionHead({
  seen,
  connection,
}: {
  readonly seen: Seen;
  readonly connection: Connection;
}) {
  const { feed, state, at } = seen;
  const summary = state?.summary;
  const origin = summary?.forkedFrom;
  const isFailed = summary?.status === "idle" && summary.lastEnd === "failed";
  const failure = isFailed ? feed.failureAt(positionOf(seen)) : undefined;
  return (
    <header className="head">
      <div className="head-what">
        <h1 dir="auto">
          {summary === undefined || summary.title === "" ? feed.id : summary.title}
        </h1>
        <div className="head-about">
          {summary !== undefined && (
            <StatusPill status={summary.status} lastEnd={summary.lastEnd} />
          )}
          {failure !== undefined && (
            <span className="error" title={failure} dir="auto">
              {oneLine(failure, 120)}
            </span>
          )}
          {connection !== "live" && (
            <span className="pill bad" role="status">
              ● {connection}
            </span>
          )}
          {at !== undefined && <span className="pill past">◷ at {figure(at)}</span>}
          <code className="id">{feed.id}</code>
          {summary?.model !== undefined && <span>{summary.model}</span>}
          {origin !== undefined && (
            <button
              type="button"
              className="link"
              onClick={() => go({ page: "compare", left: origin.session, right: feed.id })}
            >
              ↳ fork of {origin.session} at {origin.position}
            </button>
          )}
        </div>
      </div>
      {state !== undefined && summary !== undefined && <Figures state={state} summary={summary} />}
      <Acts seen={seen} />
    </header>
  );
}

function Figures({
  state,
  summary,
}: {
  readonly state: NonNullable<Seen["state"]>;
  readonly summary: NonNullable<Seen["state"]>["summary"];
}) {
  const { total } = summary;
  const { cost } = state;
  const about = total.basis === "estimated" ? "≈ " : "";
  return (
    <dl className="figures">
      <div title={plural(summary.steps, "step")}>
        <dt>Turns</dt>
        <dd>{figure(summary.turns)}</dd>
      </div>
      <div
        title={`${figure(total.inputTokens)} tokens in, of which ${figure(total.cacheReadTokens ?? 0)} were read from the cache`}
      >
        <dt>In</dt>
        <dd>
          {about}
          {tokens(total.inputTokens)}
        </dd>
      </div>
      <div>
        <dt>Out</dt>
        <dd>
          {about}
          {tokens(total.outputTokens)}
        </dd>
      </div>
      <div
        title={
          cost.total.unpriced > 0
            ? `${plural(cost.total.unpriced, "call")} without a known price`
            : undefined
        }
      >
        <dt>Cost</dt>
        <dd>
          {cost.total.dollars === 0 && cost.total.unpriced > 0
            ? "unknown"
            : dollars(cost.total.dollars)}
        </dd>
      </div>
    </dl>
  );
}
