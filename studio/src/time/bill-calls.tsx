/** Each turn's dollars, and its calls with what the cache read of them. */

import { useState } from "react";
import {
  callName,
  causeName,
  lossOf,
  paid,
  readShare,
  tokensOf,
  turnName,
  turnsOf,
  type BilledTurn,
} from "../data/bill.ts";
import { stepAt } from "../data/steps.ts";
import type { Bill, BilledCall, CacheMiss } from "../data/types.ts";
import { dollars, figure, plural, tokens } from "../data/words.ts";
import { moveIn } from "../shell/place.ts";
import { positionOf, type Seen } from "../shell/seen.ts";

/** Turns of a session with fewer calls are all open. */
const FEW_CALLS = 30;
/** Of one turn, the last ones. */
const MOST_CALLS = 500;

const kinds = [
  ["read", "cached", "read from the cache"],
  ["written", "written", "written to it"],
  ["plain", "input-tokens", "plain input"],
  ["output", "text", "output"],
] as const;

export function BillCalls({ bill, seen }: { readonly bill: Bill; readonly seen: Seen }) {
  const turn = stepAt(seen.steps, positionOf(seen))?.turn;
  const misses = new Map(bill.misses.map((miss) => [miss.position, miss]));
  const largest = bill.calls.reduce(
    (most, { usage }) => Math.max(most, usage.inputTokens + usage.outputTokens),
    1,
  );
  return (
    <>
      <ul className="legend" aria-hidden="true">
        {kinds.map(([kind, name, words]) => (
          <li key={kind} className={`span-${name}`}>
            {words}
          </li>
        ))}
      </ul>
      {turnsOf(bill).map((one) => (
        <Turn
          key={one.turn}
          of={one}
          misses={misses}
          largest={largest}
          isOpen={bill.calls.length <= FEW_CALLS || one.turn === turn}
        />
      ))}
    </>
  );
}

function Turn({
  of: { turn, calls, dollars: sum },
  misses,
  largest,
  isOpen,
}: {
  readonly of: BilledTurn;
  readonly misses: ReadonlyMap<number, CacheMiss>;
  readonly largest: number;
  readonly isOpen: boolean;
}) {
  const [chosen, choose] = useState<boolean>();
  const isShown = chosen ?? isOpen;
  const shown = calls.slice(-MOST_CALLS);
  const missed = calls.filter(({ position }) => misses.has(position)).length;
  return (
    <details
      className="bill-turn"
      open={isShown}
      onToggle={({ currentTarget: { open } }) => {
        if (open !== isShown) choose(open);
      }}
    >
      <summary>
        <b>{turnName(turn)}</b> <b className="num">{dollars(sum)}</b>{" "}
        <span className="dim">
          {plural(calls.length, "call")}, {readShare(calls)} of the input from the cache
          {missed > 0 && `, ${plural(missed, "miss", "misses")}`}:{" "}
          {kinds
            .filter(([kind]) => paid(calls, kind) > 0)
            .map(([kind, , words]) => `${dollars(paid(calls, kind))} ${words}`)
            .join(", ")}
        </span>
      </summary>
      {isShown && (
        <ol>
          {shown.map((call, index) => (
            <Call
              key={index}
              call={call}
              before={shown[index - 1]}
              miss={misses.get(call.position)}
              largest={largest}
            />
          ))}
        </ol>
      )}
    </details>
  );
}

function Call({
  call,
  before,
  miss,
  largest,
}: {
  readonly call: BilledCall;
  readonly before: BilledCall | undefined;
  readonly miss: CacheMiss | undefined;
  readonly largest: number;
}) {
  const { position, purpose, model, usage, dollars: price } = call;
  const sizes = tokensOf(call);
  return (
    <li className="bill-call">
      <span>
        <button
          type="button"
          className="link"
          onClick={() => moveIn({ view: purpose === "summary" ? "events" : "prompt", position })}
        >
          {callName(call)}
        </button>
        {purpose === "retry" && <span className="pill">failed</span>}
      </span>
      <span className="bill-bar" aria-hidden="true">
        {kinds.map(([kind, name]) => (
          <span
            key={kind}
            className={`span-${name}`}
            style={{ inlineSize: `${(sizes[kind] / largest) * 100}%` }}
          />
        ))}
      </span>
      <b className="num">{price === undefined ? "no price" : dollars(price.total)}</b>
      <span className="dim bill-words">
        {usage.basis === "estimated" && "≈ "}
        {tokens(usage.inputTokens)} in, {readShare([call])} of it read, {tokens(usage.outputTokens)}{" "}
        out{model !== undefined && model.modelId !== before?.model?.modelId && `, ${model.modelId}`}
        {miss !== undefined && (
          <span className="cache-break" title={lossOf(miss)}>
            {" "}
            ⚡ {causeName(miss)}
            {miss.changedAt !== position && ` at ${figure(miss.changedAt)}`}
          </span>
        )}
      </span>
    </li>
  );
}
