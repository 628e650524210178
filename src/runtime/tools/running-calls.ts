/** The calls whose tools run in this process, those that wait for a place, and which of them is next. */

import { byId } from "../../events/index.ts";
import type { CallPart } from "../../projections/index.ts";
import { DEFAULT_TOOL_CONCURRENCY, type Agent } from "../../agent/index.ts";

type NamedCall = Pick<CallPart, "callId" | "toolName">;

interface Waiting {
  readonly callId: string;
  readonly turn: number;
  /** The calls of its tool that wait. */
  readonly of: Map<string, number>;
}

export class RunningCalls {
  readonly #agent: Agent;
  readonly #running = new Set<string>();
  /** How many calls of each tool run. */
  readonly #ofTool = new Map<string, number>();
  /** Calls that wait for a place, by tool, in the order in which they came; each with its turn. */
  readonly #waiting = new Map<string, Map<string, number>>();
  #turns = 0;

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  has(callId: string): boolean {
    return this.#running.has(callId);
  }

  /** Takes a place for a call. Without one the call waits, and this answers false. */
  take({ callId, toolName }: NamedCall): boolean {
    const ofTool = this.#waiting.get(toolName) ?? new Map<string, number>();
    if (!this.#hasRoomFor(toolName)) {
      this.#waiting.set(toolName, ofTool);
      if (!ofTool.has(callId)) ofTool.set(callId, (this.#turns += 1));
      return false;
    }
    ofTool.delete(callId);
    this.#running.add(callId);
    this.#ofTool.set(toolName, (this.#ofTool.get(toolName) ?? 0) + 1);
    return true;
  }

  /** Gives its place back. */
  delete({ callId, toolName }: NamedCall): void {
    if (!this.#running.delete(callId)) return;
    this.#ofTool.set(toolName, (this.#ofTool.get(toolName) ?? 1) - 1);
  }

  /** Takes out the call that has waited longest of those that there is a place for. */
  next(): string | undefined {
    let found: Waiting | undefined;
    for (const [toolName, of] of this.#waiting) {
      const [oldest] = of;
      if (oldest === undefined || !this.#hasRoomFor(toolName)) continue;
      const [callId, turn] = oldest;
      if (found === undefined || turn < found.turn) found = { callId, turn, of };
    }
    found?.of.delete(found.callId);
    return found?.callId;
  }

  #hasRoomFor(toolName: string): boolean {
    const { toolConcurrency = DEFAULT_TOOL_CONCURRENCY, toolPolicies = {} } = this.#agent;
    const limit = byId(toolPolicies, toolName)?.concurrency ?? Number.POSITIVE_INFINITY;
    return this.#running.size < toolConcurrency && (this.#ofTool.get(toolName) ?? 0) < limit;
  }
}
