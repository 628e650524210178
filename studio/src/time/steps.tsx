/** The steps in figures: tokens over time, and what each step spent its time on. */

import { useMemo } from "react";
import { stepTimelines } from "../../../src/public/projections.ts";
import { Blank } from "../parts/loading.tsx";
import { positionOf, type Seen } from "../shell/seen.ts";
import { TokenChart } from "./token-chart.tsx";
import { Waterfall } from "./waterfall.tsx";

export function Steps({ seen }: { readonly seen: Seen }) {
  const { feed, structure, steps, state } = seen;
  const timelines = useMemo(
    () => stepTimelines(feed.rows.map(({ event }) => event)),
    [feed, structure],
  );
  const compactions = useMemo(
    () =>
      feed.rows.flatMap(({ event }) =>
        event.type === "context.compacted" ? [event.position] : [],
      ),
    [feed, structure],
  );
  if (steps.length === 0) return <Blank title="No step was run yet" />;
  const position = positionOf(seen);
  return (
    <div className="steps scroll">
      <section>
        <h3>Tokens of each prompt</h3>
        <TokenChart
          steps={steps}
          compactions={compactions}
          window={state?.window}
          position={position}
        />
      </section>
      <section>
        <h3>Time of each step</h3>
        <Waterfall timelines={timelines} position={position} />
      </section>
    </div>
  );
}
