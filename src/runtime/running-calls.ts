/** The calls whose tools run in this process, and whether there is room for one more. */

import { byId } from "../events/index.ts";
import type { CallPart } from "../projections/index.ts";
import { DEFAULT_TOOL_CONCURRENCY, type Agent } from "./agent.ts";

export class RunningCalls {
  readonly #agent: Agent;
  /** Names of the tools that run, by call id. */
  readonly #names = new Map<string, string>();

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  has(callId: string): boolean {
    return this.#names.has(callId);
  }

  hasRoomFor({ toolName }: CallPart): boolean {
    const { toolConcurrency = DEFAULT_TOOL_CONCURRENCY, toolPolicies = {} } = this.#agent;
    const limit = byId(toolPolicies, toolName)?.concurrency ?? Number.POSITIVE_INFINITY;
    const ofThisTool = [...this.#names.values()].filter((running) => running === toolName).length;
    return this.#names.size < toolConcurrency && ofThisTool < limit;
  }

  add({ callId, toolName }: CallPart): void {
    this.#names.set(callId, toolName);
  }

  delete({ callId }: CallPart): void {
    this.#names.delete(callId);
  }
}
