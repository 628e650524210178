/** Which transitions of the chart an event takes, and which there are to be taken. Pure. */

import { createActor } from "xstate";
import {
  sessionMachine,
  type MachineStep,
  type StructuralEvent,
} from "../../src/machines/index.ts";
import { chartStates, chartTransitions, type ChartTransition } from "../machines/session-chart.ts";

/** A transition by name: `streaming.stepped at once [hasSteering]`, `tools tool.failed`. */
function nameOf({ source, event, guard, index }: ChartTransition): string {
  const condition = guard === undefined ? "" : ` [${guard}]`;
  const place = index === 0 || guard !== undefined ? "" : ` (${index + 1}.)`;
  return `${source === "" ? "session" : source} ${event ?? "at once"}${condition}${place}`;
}

/** Every transition that is written in the chart. */
export const everyTransition: readonly string[] = chartTransitions.map(nameOf);

/** Every state in which a session can be found, with every event that the chart has for it there. */
export const everyStateAndEvent: readonly string[] = chartStates
  .filter(({ path, initial, final }) => initial === undefined && !final && rests(path))
  .flatMap(({ path }) => {
    const heard = chartTransitions.filter(
      ({ source, event }) =>
        event !== undefined && (source === "" || source === path || path.startsWith(`${source}.`)),
    );
    return [...new Set(heard.map(({ event }) => `${path} ${event}`))];
  });

/** Not one that is left at once, whatever the conditions. */
function rests(path: string): boolean {
  const atOnce = chartTransitions.filter(
    ({ source, event }) => source === path && event === undefined,
  );
  return atOnce.every(({ guard }) => guard !== undefined);
}

/** The transitions that an event takes in a state, the ones that follow at once included, in order. */
export function takenTransitions(
  snapshot: MachineStep["snapshot"],
  event: StructuralEvent,
): readonly string[] {
  const taken: string[] = [];
  const actor = createActor(sessionMachine, {
    snapshot,
    inspect: (inspected) => {
      if (inspected.type !== "@xstate.microstep") return;
      // Public to inspectors, whatever its underscore says.
      // oxlint-disable-next-line eslint/no-underscore-dangle
      const transitions: readonly Definition[] = inspected._transitions;
      taken.push(...transitions.map(nameOfTransition));
    },
  });
  actor.start();
  actor.send(event);
  return taken;
}

type Definition = NonNullable<(typeof sessionMachine)["root"]["always"]>[number];

const names = new Map<Definition, string>();

/** Looked up once for each: paths take them a hundred thousand times. */
function nameOfTransition(definition: Definition): string {
  const name = names.get(definition) ?? nameOf(rowOf(definition));
  names.set(definition, name);
  return name;
}

function rowOf(definition: Definition): ChartTransition {
  const { source } = definition;
  const eventType: string = definition.eventType;
  const event = eventType === "" ? undefined : eventType;
  const siblings =
    event === undefined ? (source.always ?? []) : (source.transitions.get(event) ?? []);
  const index = siblings.indexOf(definition);
  const row = chartTransitions.find(
    (one) => one.source === source.path.join(".") && one.event === event && one.index === index,
  );
  if (row === undefined) throw new Error(`The chart has no row for ${source.id} ${eventType}.`);
  return row;
}

/** The path of the state in which the machine rests: `streaming.calling`. */
export function leafOf({ value }: MachineStep["snapshot"]): string {
  if (typeof value === "string") return value;
  return Object.entries(value)
    .map(([outer, inner]) => `${outer}.${inner}`)
    .join();
}
