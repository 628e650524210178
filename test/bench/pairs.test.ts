/** How long `npm run bench` measures, in which order, and what it draws of the figures that are kept. */

import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { historyChart, historySchema } from "../../bench/history.ts";
import { numbers, shuffled } from "../../bench/numbers.ts";
import { pairedRounds, type PairedJob, type Stopping } from "../../bench/pairs.ts";

const ratio = { above: "one ms", below: "other ms" };

/** Two jobs, of which one takes as long as the other times what is drawn. */
async function roundsOf(draw: () => number, stopping: Stopping): Promise<number> {
  const jobs: readonly PairedJob[] = [
    { name: "one", take: () => Promise.resolve({ ms: 10 * draw() }) },
    { name: "other", take: () => Promise.resolve({ ms: 10 }) },
  ];
  return (await pairedRounds(jobs, [ratio], stopping, () => {})).length;
}

it("measures on until the ratio is known, at least and at most so many rounds", async () => {
  const next = numbers(1);
  const noisy = (): number => 1 + next(100) / 100;
  const stopping = { least: 5, most: 200, within: 0.05 };
  expect(await roundsOf(() => 2, stopping)).toBe(5);
  const needed = await roundsOf(noisy, stopping);
  expect(needed).toBeGreaterThan(5);
  expect(needed).toBeLessThan(200);
  expect(await roundsOf(noisy, { ...stopping, most: 7 })).toBe(7);
  expect(await roundsOf(noisy, { ...stopping, forMs: 0 })).toBe(5);
});

it("runs the jobs of each round once, in orders that differ", () => {
  const orders = Array.from({ length: 20 }, (_, seed) => shuffled([1, 2, 3], seed));
  for (const order of orders) expect(order.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
  expect(new Set(orders.map(String)).size).toBeGreaterThan(3);
});

it("the drawing shows the figures that are kept", async () => {
  const file = (name: string) => readFile(new URL(`../../${name}`, import.meta.url), "utf8");
  const kept = historySchema.parse(JSON.parse(await file("bench/history.json")));
  expect(await file("docs/history.svg")).toBe(historyChart(kept));
});
