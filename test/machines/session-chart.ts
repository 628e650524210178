/** The session machine as rows: all states and transitions, for the diagram and for tests. Pure. */

import { sessionMachine } from "../../src/machines/index.ts";

type StateNode = (typeof sessionMachine)["root"];

export interface ChartState {
  /** `streaming.calling`; empty for the whole chart. */
  readonly path: string;
  readonly initial: string | undefined;
  readonly final: boolean;
  readonly entry: readonly string[];
}

export interface ChartTransition {
  /** The path of its state; empty for the whole chart. */
  readonly source: string;
  /** The event's type; undefined for a transition without an event. */
  readonly event: string | undefined;
  /** Its index among the source's transitions on that event: the first allowed one is taken. */
  readonly index: number;
  readonly guard: string | undefined;
  /** Undefined if the state stays. */
  readonly target: string | undefined;
  /** Actions that change the context. */
  readonly memory: readonly string[];
  readonly effects: readonly string[];
}

/** Every state of the machine, each before its substates. */
export const chartStates: readonly ChartState[] = nodes(sessionMachine.root).map((node) => ({
  path: pathOf(node),
  initial: node.initial.target?.map(pathOf)[0],
  final: node.type === "final",
  entry: namesOf(node.entry),
}));

/** Every transition of the machine, in the order of its definition. */
export const chartTransitions: readonly ChartTransition[] = nodes(sessionMachine.root).flatMap(
  (node) => [
    ...rows(node, undefined, node.always ?? []),
    ...[...node.transitions].flatMap(([event, transitions]) => rows(node, event, transitions)),
  ],
);

function rows(
  node: StateNode,
  event: string | undefined,
  transitions: NonNullable<StateNode["always"]>,
): readonly ChartTransition[] {
  return transitions.map(({ guard, target, actions }, index) => ({
    source: pathOf(node),
    event,
    index,
    guard: guard === undefined ? undefined : namesOf([guard])[0],
    target: target?.map(pathOf)[0],
    memory: namesOf(actions).filter(isMemory),
    effects: namesOf(actions).filter((action) => !isMemory(action)),
  }));
}

function nodes(node: StateNode): readonly StateNode[] {
  return [node, ...Object.values(node.states).flatMap(nodes)];
}

function pathOf(node: StateNode): string {
  return node.path.join(".");
}

function namesOf(named: readonly unknown[]): readonly string[] {
  return named.map((one) => {
    if (typeof one === "string") return one;
    if (typeof one === "object" && one !== null && "type" in one) return String(one.type);
    throw new TypeError(
      "The chart has an action or a guard without a name: give it one in `setup`.",
    );
  });
}

/** Actions made by `assign` change the context; all others are effects. */
function isMemory(action: string): boolean {
  const implementation: unknown = sessionMachine.implementations.actions[action];
  return (
    typeof implementation === "function" &&
    "type" in implementation &&
    implementation.type === "xstate.assign"
  );
}
