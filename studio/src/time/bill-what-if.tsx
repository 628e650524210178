/** The same calls otherwise: without a compaction, with another cache, by another model's prices. */

import { useState } from "react";
import { useBill, type WhatIf } from "../data/bill.ts";
import type { Bill } from "../data/types.ts";
import { dollars, figure, plural, tokens } from "../data/words.ts";
import { Failure, Loading } from "../parts/loading.tsx";
import type { Seen } from "../shell/seen.ts";

const cachings = [
  ["as it was", undefined],
  ["on", true],
  ["off", false],
] as const;

export function BillWhatIf({ bill, seen }: { readonly bill: Bill; readonly seen: Seen }) {
  const [without, setWithout] = useState<readonly number[]>([]);
  const [caching, setCaching] = useState<boolean>();
  const [model, setModel] = useState("");
  const leavable = seen.feed.rows.flatMap(({ event: { type, position } }) =>
    (type === "context.compacted" || type === "context.pruned") && position <= bill.position
      ? [{ position, name: type === "context.compacted" ? "compaction" : "pruning" }]
      : [],
  );
  const left = without.filter((one) => leavable.some(({ position }) => position === one));
  const asked: WhatIf = {
    ...(left.length === 0 ? {} : { without: left }),
    ...(caching === undefined ? {} : { caching }),
    ...(model === "" ? {} : { model: modelOf(model, bill) }),
  };
  return (
    <form
      className="what-if"
      onSubmit={(event) => {
        event.preventDefault();
        setModel(nameIn(new FormData(event.currentTarget)));
      }}
    >
      {leavable.length > 0 && (
        <fieldset>
          <legend>Without</legend>
          {leavable.map(({ position, name }) => (
            <label key={position}>
              <input
                type="checkbox"
                checked={left.includes(position)}
                onChange={({ target }) =>
                  setWithout(
                    target.checked ? [...left, position] : left.filter((one) => one !== position),
                  )
                }
              />{" "}
              the {name} at {figure(position)}
            </label>
          ))}
        </fieldset>
      )}
      <label>
        Cache{" "}
        <select onChange={({ target }) => setCaching(cachings[target.selectedIndex]?.[1])}>
          {cachings.map(([words]) => (
            <option key={words}>{words}</option>
          ))}
        </select>
      </label>
      <label>
        Model{" "}
        <input
          name="model"
          spellCheck={false}
          placeholder="as it was; or provider:model"
          onBlur={({ target }) => setModel(target.value.trim())}
        />
      </label>
      {Object.keys(asked).length > 0 && <Computed bill={bill} seen={seen} asked={asked} />}
    </form>
  );
}

function nameIn(fields: FormData): string {
  const name = fields.get("model");
  return typeof name === "string" ? name.trim() : "";
}

/** A name without a provider is one of the last call's. */
function modelOf(text: string, { calls }: Bill): NonNullable<WhatIf["model"]> {
  const [, provider, modelId] = /^(?:([^:]*):)?(.*)$/su.exec(text) ?? [];
  const last = calls.at(-1)?.model?.provider ?? "";
  return { provider: provider ?? last, modelId: modelId ?? "" };
}

function Computed({
  bill,
  seen,
  asked,
}: {
  readonly bill: Bill;
  readonly seen: Seen;
  readonly asked: WhatIf;
}) {
  const { answer, error } = useBill(seen, { whatIf: asked });
  if (error !== undefined) return <Failure title="Not computed" message={error} />;
  if (answer?.whatIf === undefined) return <Loading words="Computing…" />;
  const { dollars: computed, inputTokens, cacheReadTokens, outputTokens, tooLong } = answer.whatIf;
  const paid = bill.cost.total.dollars;
  const isUnknown = computed === 0 && outputTokens > 0;
  const more = computed - paid;
  return (
    <p className="bill-computed" role="status">
      {isUnknown ? (
        "Computed: no price of this model is known."
      ) : (
        <>
          Computed, not paid: <b className="num">{dollars(computed)}</b> instead of{" "}
          <b className="num">{dollars(paid)}</b>, {dollars(Math.abs(more))}{" "}
          {more < 0 ? "less" : "more"}.
        </>
      )}{" "}
      <span className="dim">
        {tokens(inputTokens)} tokens in, {tokens(cacheReadTokens)} of them from the cache,{" "}
        {tokens(outputTokens)} out.
        {tooLong > 0 && ` ${plural(tooLong, "prompt")} would not have fitted.`}
      </span>
    </p>
  );
}
