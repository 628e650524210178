/** The cells of the matrix: every act with every running thing, with every place, and with every fault beside each running thing. */

import { acts } from "./acts.ts";
import type { Cell } from "./cell.ts";
import { happenings, here, places, runnings, type Place, type Running } from "./circumstances.ts";

/** One table of the page. */
export interface Table {
  readonly title: string;
  readonly columns: readonly Column[];
}

export interface Column {
  readonly name: string;
  readonly running: Running;
  readonly place: Place;
}

const [atRest] = runnings;
if (atRest === undefined) throw new Error("Nothing runs.");

export const tables: readonly Table[] = [
  {
    title: "What the session is doing",
    columns: runnings.map((running) => ({ name: running.name, running, place: here })),
  },
  {
    title: "Where it is",
    columns: places.map((place) => ({ name: place.name, running: atRest, place })),
  },
  ...happenings.map((place) => ({
    title: `What it was doing, ${place.name}`,
    columns: runnings.map((running) => ({ name: running.name, running, place })),
  })),
];

const columns: readonly Column[] = tables.flatMap((table) => table.columns);

export const cells: readonly Cell[] = acts.flatMap((act) =>
  columns.map(({ running, place }) => ({ act, running, place })),
);

/**
 * Every act once, each where something runs and happens that the acts before had least often.
 * @param lot - Draws other ones.
 */
export function sampled(lot: number): readonly Cell[] {
  const had = new Map<Running | Place, number>();
  const countOf = ({ running, place }: Column): number =>
    (had.get(running) ?? 0) + (had.get(place) ?? 0);
  const from = lot % columns.length;
  const drawn = [...columns.slice(from), ...columns.slice(0, from)];
  return acts.flatMap((act) => {
    const [column] = drawn.toSorted((one, other) => countOf(one) - countOf(other));
    if (column === undefined) return [];
    const { running, place } = column;
    for (const one of [running, place]) had.set(one, (had.get(one) ?? 0) + 1);
    return [{ act, running, place }];
  });
}

export function nameOf({ act, running, place }: Cell): string {
  return `${act.name} × ${running.name}${place === here ? "" : ` × ${place.name}`}`;
}
