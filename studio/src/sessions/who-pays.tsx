/** What all sessions of the store have spent, by who or what. Asked when it is opened: it may read the whole log. */

import { useState } from "react";
import type { Client } from "../../../src/public/client.ts";
import { client } from "../data/client.ts";
import { useAsked } from "../data/use-asked.ts";
import { dollars, figure, tokens } from "../data/words.ts";

type Row = Awaited<ReturnType<Client["bill"]>>[number];

const choices = ["model", "agent", "tenant", "actor", "day", "purpose"] as const;
const periods = [
  ["the last 7 days", 7],
  ["the last 30 days", 30],
  ["all time", undefined],
] as const;
const DAY_MS = 86_400_000;
const MOST_ROWS = 50;

export function WhoPays() {
  const [isOpen, setOpen] = useState(false);
  const [by, setBy] = useState<string>(choices[0]);
  const [days, setDays] = useState<number | undefined>(periods[0][1]);
  const { answer, error, key } = useAsked(
    isOpen ? `${by} ${days}` : undefined,
    async (): Promise<readonly Row[]> => {
      if (days === undefined) return await client.bill({ by });
      const from = new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
      return await client.bill({ by, from });
    },
  );
  return (
    <details className="who-pays" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Who pays</summary>
      <label>
        By{" "}
        <select value={by} onChange={({ target }) => setBy(target.value)}>
          {choices.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>{" "}
      <label>
        in{" "}
        <select onChange={({ target }) => setDays(periods[target.selectedIndex]?.[1])}>
          {periods.map(([words]) => (
            <option key={words}>{words}</option>
          ))}
        </select>
      </label>
      {error !== undefined && <p className="error">{error}</p>}
      {answer !== undefined && <Rows rows={answer} by={key?.split(" ")[0] ?? by} />}
    </details>
  );
}

function Rows({ rows, by }: { readonly rows: readonly Row[]; readonly by: string }) {
  if (rows.length === 0) return <p>No model was called in this time.</p>;
  return (
    <table className="tokens">
      <thead>
        <tr>
          <th scope="col">{by}</th>
          <th scope="col">Dollars</th>
          <th scope="col">Calls</th>
          <th scope="col">In</th>
          <th scope="col">Out</th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, MOST_ROWS).map((row, index) => {
          const { of, calls, unpriced, inputTokens, outputTokens } = row;
          const name = of[by];
          return (
            <tr key={index}>
              <th scope="row" dir="auto">
                {name === undefined
                  ? "none"
                  : typeof name === "string"
                    ? name
                    : JSON.stringify(name)}
              </th>
              <td className="num">
                {unpriced === calls ? "no price" : dollars(row.dollars)}
                {unpriced > 0 && unpriced < calls && ` and ${figure(unpriced)} unpriced`}
              </td>
              <td className="num">{figure(calls)}</td>
              <td className="num">{tokens(inputTokens)}</td>
              <td className="num">{tokens(outputTokens)}</td>
            </tr>
          );
        })}
      </tbody>
      {rows.length > MOST_ROWS && <caption>And {figure(rows.length - MOST_ROWS)} more.</caption>}
    </table>
  );
}
