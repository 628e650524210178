/** The steps in figures: tokens over time, and what each step spent its time on. */

import { useMemo } from "react";
import { stepTimelines } from "../../../src/projections/index.ts";
import { turnName, turnsOf, useBill } from "../data/bill.ts";
import { indexAt } from "../data/rows.ts";
import { dollars, figure } from "../data/words.ts";
import { Blank } from "../parts/loading.tsx";
import { moveIn } from "../shell/place.ts";
import { positionOf, type Seen } from "../shell/seen.ts";
import { TokenChart } from "./token-chart.tsx";
import { Waterfall } from "./waterfall.tsx";

/** Of the waterfall: a canvas may not be higher than browsers allow. */
const MOST_DRAWN = 600;

export function Steps({
  seen,
  isPriced,
}: {
  readonly seen: Seen;
  /** Prices take the server a fold of the whole log: only whoever chose this view waits for them. */
  readonly isPriced: boolean;
}) {
  const { feed, structure, steps, state } = seen;
  const position = positionOf(seen);
  const starts = useMemo(() => steps.filter(({ attempt }) => attempt === 1), [steps]);
  const here = starts.findLastIndex((step) => step.position <= position);
  const first = Math.max(0, here - (here % MOST_DRAWN));
  const timelines = useMemo(() => {
    const [from, to] = [starts[first], starts[first + MOST_DRAWN]].map((step) =>
      step === undefined ? undefined : indexAt(feed.rows, step.position),
    );
    return stepTimelines(feed.rows.slice(from, to).map(({ event }) => event));
  }, [feed, starts, first]);
  const compactions = useMemo(
    () =>
      feed.rows.flatMap(({ event }) =>
        event.type === "context.compacted" ? [event.position] : [],
      ),
    [feed, structure],
  );
  const { answer: bill } = useBill(seen, { isAsked: isPriced });
  const prices = useMemo(() => {
    const sums = new Map<number, number>();
    for (const { step, dollars: paid } of bill?.calls ?? [])
      if (step !== undefined && paid !== undefined)
        sums.set(step, (sums.get(step) ?? 0) + paid.total);
    return sums;
  }, [bill]);
  if (steps.length === 0) return <Blank title="No step was run yet" />;
  return (
    <div className="steps scroll">
      <section>
        <h2>Tokens of each prompt</h2>
        <TokenChart
          steps={steps}
          compactions={compactions}
          window={state?.window}
          position={position}
        />
      </section>
      <section>
        <h2>Time and dollars of each step</h2>
        {starts.length > MOST_DRAWN && (
          <p className="dim">
            Steps {figure(first + 1)} to {figure(first + timelines.length)} of{" "}
            {figure(starts.length)}, around the position.
          </p>
        )}
        <Waterfall timelines={timelines} prices={prices} position={position} />
      </section>
      {prices.size > 0 && bill !== undefined && (
        <section>
          <h2>Dollars of each turn</h2>
          <ul className="turn-dollars">
            {turnsOf(bill)
              .slice(-MOST_DRAWN)
              .map(({ turn, calls: [first], dollars: paid }) => (
                <li key={turn}>
                  <button
                    type="button"
                    className="link"
                    onClick={() => moveIn({ position: first?.position })}
                  >
                    {turnName(turn)}
                  </button>{" "}
                  <b className="num">{dollars(paid)}</b>
                </li>
              ))}
          </ul>
        </section>
      )}
    </div>
  );
}
