/** What the session has paid up to the position: for what, in which calls, and what the cache did not read. */

import { useMemo, useState, type ReactNode } from "react";
import { causeName, isDifference, lossOf, partName, partPosition, useBill } from "../data/bill.ts";
import { deploymentsOf } from "../data/deployments.ts";
import type { Bill as Billed, BilledPart, CacheMiss } from "../data/types.ts";
import { dollars, exactTime, figure, oneLine, plural, shortJson, tokens } from "../data/words.ts";
import { Blank, Failure, Loading } from "../parts/loading.tsx";
import { go, moveIn } from "../shell/place.ts";
import type { Seen } from "../shell/seen.ts";
import { BillCalls } from "./bill-calls.tsx";
import { BillWhatIf } from "./bill-what-if.tsx";

/** Of a list, until a person asks for all. */
const FIRST = 8;
const MOST = 500;

export function Bill({ seen }: { readonly seen: Seen }) {
  const { answer, error, at } = useBill(seen);
  if (at === undefined) return <Blank title="No call was paid for yet" />;
  if (error !== undefined) return <Failure title="No bill here" message={error} />;
  if (answer === undefined) return <Loading words="Adding up…" />;
  const { misses, parts } = answer;
  return (
    <div className="bill scroll" data-position={answer.position}>
      <Total bill={answer} />
      <section>
        <h2>Dearest parts</h2>
        <p className="dim">
          What each part of the prompts has cost as input, in all calls that sent it.
        </p>
        <Some of={parts} one={(part) => <Part part={part} seen={seen} />} />
      </section>
      <section>
        <h2>
          Cache misses <span className="count num">{misses.length}</span>
        </h2>
        {misses.length === 0 && <p className="dim">No call read clearly less than it could.</p>}
        <Some
          of={misses.toSorted((one, other) => (other.dollars ?? 0) - (one.dollars ?? 0))}
          one={(miss) => <Miss miss={miss} bill={answer} />}
        />
      </section>
      <Deployments seen={seen} />
      <section>
        <h2>Turns and calls</h2>
        <BillCalls bill={answer} seen={seen} />
      </section>
      <section>
        <h2>What if</h2>
        <BillWhatIf bill={answer} seen={seen} />
      </section>
    </div>
  );
}

/** Each since the session began, the newest first. */
function Deployments({ seen: { feed, structure } }: { readonly seen: Seen }) {
  const all = useMemo(() => deploymentsOf(feed.rows).toReversed(), [feed, structure]);
  if (all.length === 0) return null;
  return (
    <section>
      <h2>Deployments</h2>
      <Some
        of={all}
        one={({ position, time, changed, step }) => (
          <>
            <time className="num">{exactTime(time)}</time>
            <span>
              Deployment: {changed} changed{" "}
              <button
                type="button"
                className="link"
                onClick={() =>
                  moveIn(
                    step === undefined
                      ? { view: "events", position }
                      : { view: "prompt", position: step },
                  )
                }
              >
                See what changed
              </button>
            </span>
          </>
        )}
      />
    </section>
  );
}

function Some<One>({
  of: all,
  one: shown,
}: {
  readonly of: readonly One[];
  readonly one: (one: One) => ReactNode;
}) {
  const [isAll, setAll] = useState(false);
  const most = isAll ? MOST : FIRST;
  return (
    <>
      <ol className="bill-list">
        {all.slice(0, most).map((one, index) => (
          <li key={index}>{shown(one)}</li>
        ))}
      </ol>
      {all.length > FIRST && (
        <button type="button" className="link" onClick={() => setAll(!isAll)}>
          {isAll ? "Fewer" : `All ${figure(all.length)}`}
        </button>
      )}
      {isAll && all.length > MOST && <p className="dim">{plural(all.length - MOST, "more")}.</p>}
    </>
  );
}

function Total({ bill: { cost, position, subAgents: below = [] } }: { readonly bill: Billed }) {
  const { steps, retries, compactions, total, inherited } = cost;
  return (
    <section>
      <h2>Paid up to {figure(position)}</h2>
      <p className="bill-total">
        <b className="num">{dollars(total.dollars)}</b>{" "}
        {total.basis === "measured" ? "measured by the provider" : "partly estimated"}
        {total.unpriced > 0 && `, and ${plural(total.unpriced, "call")} without a known price`}
      </p>
      <p className="dim">
        {dollars(steps.dollars)} for steps, {dollars(retries.dollars)} for failed attempts,{" "}
        {dollars(compactions.dollars)} for summaries
        {inherited !== undefined &&
          `. Inherited, not in the sum: ${dollars(inherited.dollars)}, which the source of the fork paid`}
      </p>
      {below.length > 0 && (
        <p>
          Sub-agents, not in the sum:{" "}
          {below.map(({ session, toolName, cost: { dollars: paid } }) => (
            <button
              key={session}
              type="button"
              className="link"
              onClick={() => go({ page: "session", session, view: "bill" })}
            >
              {toolName} {dollars(paid)}
            </button>
          ))}
        </p>
      )}
    </section>
  );
}

function Part({ part, seen: { feed, steps } }: { readonly part: BilledPart; readonly seen: Seen }) {
  const { step: from, callId } = part;
  const call = steps.find(({ step }) => step === from)?.calls.find(({ id }) => id === callId);
  return (
    <>
      <b className="num">{dollars(part.dollars)}</b>
      <span>
        <button
          type="button"
          className="link"
          onClick={() => moveIn({ view: "events", position: partPosition(feed.rows, part) })}
        >
          {partName(part)}
        </button>{" "}
        {call !== undefined && <code dir="auto">{oneLine(shortJson(call.input), 60)}</code>}{" "}
        <span className="dim">
          {part.calls > 1
            ? `about ${tokens(Math.round(part.tokens / part.calls))} tokens in each of ${part.calls} calls`
            : `${tokens(part.tokens)} tokens in 1 call`}
        </span>
      </span>
    </>
  );
}

function Miss({ miss, bill }: { readonly miss: CacheMiss; readonly bill: Billed }) {
  const { position, changedAt, first } = miss;
  const step = bill.calls.find((call) => call.position === position)?.step;
  return (
    <>
      <b className="num">{miss.dollars === undefined ? "?" : dollars(miss.dollars)}</b>
      <span>
        Step {step}: {causeName(miss)}
        {changedAt !== position && (
          <>
            {" "}
            <button
              type="button"
              className="link"
              onClick={() => moveIn({ view: "events", position: changedAt })}
            >
              at {figure(changedAt)}
            </button>
          </>
        )}
        <span className="dim">
          . {lossOf(miss)}
          {first !== undefined && `; first different: ${partName(first)}`}
        </span>{" "}
        <button type="button" className="link" onClick={() => moveIn({ view: "prompt", position })}>
          {isDifference(miss) ? "See what changed" : "See the prompt"}
        </button>
      </span>
    </>
  );
}
