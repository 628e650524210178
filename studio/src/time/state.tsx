/** The state at a position: the machine, what waits, what runs, the branches, the tokens. A fold; it runs nothing. */

import { memo, type ReactNode } from "react";
import { indexAt } from "../data/rows.ts";
import type { Row, StateAt } from "../data/types.ts";
import { dollars, exactTime, figure, oneLine } from "../data/words.ts";
import { JsonView } from "../parts/json-view.tsx";
import { Failure, Loading } from "../parts/loading.tsx";
import { moveIn } from "../shell/place.ts";
import type { Seen } from "../shell/seen.ts";
import { gistOf } from "./event-words.ts";

export function State({ seen: { feed, state, stateError } }: { readonly seen: Seen }) {
  if (stateError !== undefined) return <Failure title="No state here" message={stateError} />;
  if (state === undefined) return <Loading words="Folding…" />;
  return <StateOf state={state} row={feed.rows[indexAt(feed.rows, state.position)]} />;
}

const StateOf = memo(function StateOf({
  state,
  row,
}: {
  readonly state: StateAt;
  readonly row: Row | undefined;
}) {
  const { value, context } = state.state;
  const calls = state.toolCalls;
  return (
    <div className="state scroll" data-position={state.position}>
      <section className="machine">
        <h2>Machine at {figure(state.position)}</h2>
        <p className="active-states" data-state={JSON.stringify(value)}>
          {pathOf(value).map((name, index) => (
            <span key={name} className="state-name">
              {index > 0 && <span className="dim"> ▸ </span>}
              {name}
            </span>
          ))}
        </p>
        {row !== undefined && (
          <p className="dim">
            by <b>{row.event.type}</b> {oneLine(gistOf(row), 90)}
          </p>
        )}
        <dl className="facts">
          <dt>Turn</dt>
          <dd className="num">{figure(context.turn)}</dd>
          <dt>Step</dt>
          <dd className="num">
            {figure(context.step)}
            {context.attempt > 1 && `, attempt ${context.attempt}`}
          </dd>
          {context.stopping !== undefined && (
            <>
              <dt>Stopping</dt>
              <dd>{context.stopping}</dd>
            </>
          )}
          {context.held && (
            <>
              <dt>Queue</dt>
              <dd>held: waiting messages start no turn</dd>
            </>
          )}
        </dl>
      </section>
      <Part title="Queue" count={state.queue.length} empty="No message waits.">
        {state.queue.map((message) => (
          <li key={message.id}>
            <span className="pill">{message.delivery}</span>{" "}
            <span dir="auto">
              {oneLine(
                typeof message.content === "string"
                  ? message.content
                  : JSON.stringify(message.content),
                160,
              )}
            </span>
          </li>
        ))}
      </Part>
      <Part title="Open calls" count={calls.length} empty="No call runs or waits.">
        {calls.map((call) => (
          <li key={`${call.step} ${call.callId}`}>
            <JsonView value={call} openTo={1} />
          </li>
        ))}
      </Part>
      <Part title="Approvals" count={state.approvals.length} empty="Nothing was asked.">
        {state.approvals.map((approval) => (
          <li key={approval.approvalId}>
            <span className={`pill approval-${approval.status}`}>{approval.status}</span>{" "}
            <b>{approval.toolName}</b>
          </li>
        ))}
      </Part>
      <Part title="Branches" count={state.branches.length} empty="">
        {state.branches.map(({ id, head, active, turns, lastAt }) => (
          <li key={id}>
            <span className="pill">{active ? "● active" : "○ left"}</span> from {figure(id)} to{" "}
            <button type="button" className="link num" onClick={() => moveIn({ position: head })}>
              {figure(head)}
            </button>
            , {turns} {turns === 1 ? "turn" : "turns"}
            {lastAt !== undefined && <span className="dim">, {exactTime(lastAt)}</span>}
          </li>
        ))}
      </Part>
      <section>
        <h2>Tokens</h2>
        <TokenTable state={state} />
      </section>
      <section>
        <h2>Context of the machine</h2>
        <JsonView value={context} openTo={1} />
      </section>
    </div>
  );
});

function pathOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...pathOf(inner)]);
}

function Part({
  title,
  count,
  empty,
  children,
}: {
  readonly title: string;
  readonly count: number;
  readonly empty: string;
  readonly children: ReactNode;
}) {
  return (
    <section>
      <h2>
        {title} <span className="count num">{count}</span>
      </h2>
      {count === 0 ? <p className="dim">{empty}</p> : <ul className="plain">{children}</ul>}
    </section>
  );
}

function TokenTable({ state: { usage, cost } }: { readonly state: NonNullable<Seen["state"]> }) {
  const { total } = usage;
  const rows = [
    ["Input", total.inputTokens],
    ["  of it from the cache", total.cacheReadTokens],
    ["  of it into the cache", total.cacheWriteTokens],
    ["Output", total.outputTokens],
    ["  of it reasoning", total.reasoningTokens],
  ] as const;
  return (
    <table className="tokens">
      <tbody>
        {rows.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td className="num">{value === undefined ? "not reported" : figure(value)}</td>
          </tr>
        ))}
        <tr>
          <th scope="row">Cost</th>
          <td className="num">
            {dollars(cost.total.dollars)}
            {cost.total.unpriced > 0 && ` and ${cost.total.unpriced} calls without a price`}
          </td>
        </tr>
      </tbody>
      <caption>
        {total.basis === "measured" ? "Measured by the provider." : "Partly estimated."}
      </caption>
    </table>
  );
}
