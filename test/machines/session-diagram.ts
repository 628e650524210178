/**
 * Draws the session machine as a mermaid `stateDiagram-v2`, from its own definition. Pure. Called by
 * `npm run diagram`. What every state does alike is not drawn: it would cover the rest.
 */

import { chartStates, chartTransitions, type ChartState } from "./session-chart.ts";

interface Arrow {
  readonly from: string;
  /** Undefined where the state is not left: a line in its box. */
  readonly to: string | undefined;
  readonly label: string;
}

/** The machine as a mermaid `stateDiagram-v2`. */
export function sessionDiagram(): string {
  return ["stateDiagram-v2", ...inside("").map((line) => `    ${line}`)].join("\n");
}

/** A state's contents. An arrow is drawn by the smallest state that has both its ends inside. */
function inside(outer: string): readonly string[] {
  const initial = chartStates.find(({ path }) => path === outer)?.initial;
  const between = arrows.filter(
    ({ from, to }) => to !== undefined && smallestAround(from, to) === outer,
  );
  const ends = Map.groupBy(between, ({ from, to = from }) => `${idOf(from)} --> ${idOf(to)}`);
  return [
    ...(initial === undefined ? [] : [`[*] --> ${idOf(initial)}`]),
    ...[...ends].map(([arrow, same]) => `${arrow} : ${same.map((one) => one.label).join("<br/>")}`),
    ...chartStates.filter(({ path }) => path !== "" && parentOf(path) === outer).flatMap(box),
  ];
}

function box({ path, initial, final, entry }: ChartState): readonly string[] {
  const name = `state "${path.slice(path.lastIndexOf(".") + 1)}" as ${idOf(path)}`;
  if (initial !== undefined)
    return [`${name} {`, ...inside(path).map((line) => `    ${line}`), "}"];
  const staying = arrows.filter(({ from, to }) => from === path && to === undefined);
  return [
    name,
    ...entry.map((effect) => `${idOf(path)} : entry / ${effect}`),
    ...staying.map(({ label }) => `${idOf(path)} : ${label}`),
    ...(final ? [`${idOf(path)} --> [*]`] : []),
  ];
}

const arrows: readonly Arrow[] = chartTransitions
  .filter(({ source }) => source !== "")
  .flatMap(({ source, event, guard, target, effects, index }): readonly Arrow[] => {
    const condition = guard ?? (event === undefined && index > 0 ? "else" : undefined);
    const words = [
      ...(event === undefined ? [] : [event]),
      ...(condition === undefined ? [] : [`[${condition}]`]),
      ...(effects.length === 0 ? [] : [`/ ${effects.join(", ")}`]),
    ];
    const label = words.join(" ");
    const initial = chartStates.find(({ path }) => path === source)?.initial;
    const leaves = target !== undefined && target !== source;
    if (initial === undefined || leaves) return [{ from: source, to: target, label }];
    // Mermaid draws no arrow from a state with states inside to itself: each of them is given its own.
    return chartStates
      .filter((state) => isInside(state.path, source) && state.initial === undefined)
      .map(({ path }) => ({ from: path, to: target === undefined ? undefined : initial, label }));
  });

function smallestAround(from: string, to: string): string {
  const around = chartStates.filter(({ path }) => isInside(from, path) && isInside(to, path));
  return around.at(-1)?.path ?? "";
}

function isInside(path: string, outer: string): boolean {
  return outer === "" || path.startsWith(`${outer}.`);
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(".")));
}

/** Mermaid knows a state by one word, over the whole diagram. */
function idOf(path: string): string {
  return path.replaceAll(".", "_");
}
