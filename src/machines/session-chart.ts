/**
 * The session machine's definition as rows: every state and every transition, read from the machine
 * itself. Pure. The diagram is drawn from it, and tests use it to be sure that they forget nothing.
 */

import { sessionMachine } from "./session-machine.ts";

type StateNode = (typeof sessionMachine)["root"];

export interface ChartState {
  /** `streaming.calling`; empty for the whole chart. */
  readonly path: string;
  /** The state inside it in which it begins, if it has states inside. */
  readonly initial: string | undefined;
  readonly final: boolean;
  /** Effects that are asked for when it is entered. */
  readonly entry: readonly string[];
}

export interface ChartTransition {
  /** The path of the state that it is written in; empty for the whole chart. */
  readonly source: string;
  /** The event's type; undefined where none is waited for. */
  readonly event: string | undefined;
  /** Its place among the source's transitions on that event, from 0: the first that may is taken. */
  readonly index: number;
  readonly guard: string | undefined;
  /** Undefined where the state is not left. */
  readonly target: string | undefined;
  /** Actions that change what the machine remembers. */
  readonly memory: readonly string[];
  /** Actions that the runtime is given as data. */
  readonly effects: readonly string[];
}

/** Every state of the machine, each before what is inside it. */
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

/** What is built by `assign` changes the context; everything else is handed to the runtime. */
function isMemory(action: string): boolean {
  const implementation: unknown = sessionMachine.implementations.actions[action];
  return (
    typeof implementation === "function" &&
    "type" in implementation &&
    implementation.type === "xstate.assign"
  );
}
