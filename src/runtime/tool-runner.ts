/**
 * Brings every tool call of a step to its end: approval, execution, result. Used alike after a model
 * step, after an approval and after a crash. It looks at how the calls stand and does what is next,
 * so it may be asked again at any time. It never runs a call that is not announced in the log.
 */

import type { ModelMessage, Tool } from "ai";
import type { StoredError } from "../events/index.ts";
import type { CallPart } from "../projections/index.ts";
import { DEFAULT_TOOL_CONCURRENCY, type Agent } from "./agent.ts";
import { toJson, toStoredError } from "./json-value.ts";
import type { SessionDoor } from "./session-door.ts";
import { executeCall, type Execution } from "./tool-execution.ts";
import { inputFromRecord } from "./tool-input.ts";

export interface ToolRunnerOptions {
  readonly door: SessionDoor;
  readonly agent: Agent;
  /** Aborted when the step is cancelled. */
  readonly signal: AbortSignal;
  /** Milliseconds that a tool is given to end after it was told to. */
  readonly graceMs: number;
  /** The messages of the prompt that the calls answer. */
  readonly messages: readonly ModelMessage[];
  /** Inputs as the tools' schemas made them, by call id. */
  readonly inputs: ReadonlyMap<string, unknown>;
  /** Told when something went wrong that no event can say, such as a log that does not accept more. */
  readonly onFailure: (error: unknown) => void;
}

/** A call that can be run, with the tool that runs it. */
interface Runnable {
  readonly call: CallPart;
  readonly tool: Tool;
}

export class ToolRunner {
  readonly #options: ToolRunnerOptions;
  readonly #step: number;
  readonly #deciding = new Set<string>();
  /** Calls that need no approval, of which some have to wait for a place: nobody is asked twice. */
  readonly #allowed = new Set<string>();
  readonly #running = new Set<string>();

  constructor(options: ToolRunnerOptions) {
    this.#options = options;
    this.#step = options.door.state.machine.context.step;
  }

  /** Does whatever is next for each call. */
  run(): void {
    const { door } = this.#options;
    for (const [callId, state] of Object.entries(door.state.machine.context.calls)) {
      const call = this.#find(callId);
      if (call === undefined) continue;
      if (state === "refused") this.#deny(call);
      else if (state === "waiting") this.#begin(call);
      else if (state === "awaiting-approval" || state === "approved") this.#resume(call, state);
    }
  }

  #find(callId: string): CallPart | undefined {
    const { open } = this.#options.door.state.history;
    return open?.parts.find(
      (part): part is CallPart => part.kind === "call" && part.callId === callId,
    );
  }

  #begin(call: CallPart): void {
    if (call.invalid === true) {
      const error = call.error ?? {
        name: "Error",
        message: `The call of ${call.toolName} is invalid.`,
      };
      this.#fail(call, error);
    } else if (!this.#mayStart) {
      this.#skip(call);
    } else if (!this.#deciding.has(call.callId)) {
      this.#decide(call);
    }
  }

  /** A call that approval was asked for: in a turn that stops, nobody answers or acts on an answer. */
  #resume(call: CallPart, state: "awaiting-approval" | "approved"): void {
    if (!this.#mayStart) this.#skip(call);
    else if (state === "approved") this.#start(call);
  }

  get #mayStart(): boolean {
    return !this.#options.door.state.machine.context.skipCalls;
  }

  #skip(call: CallPart): void {
    const { door } = this.#options;
    const { stopping } = door.state.machine.context;
    const reason =
      stopping === "cancelled"
        ? "cancelled"
        : stopping === "interrupted"
          ? "recovered"
          : "interrupted";
    door.record({ type: "tool.skipped", data: { ...this.#key(call), reason } });
  }

  #decide(call: CallPart): void {
    const runnable = this.#runnable(call);
    if (runnable === undefined) return;
    // Deprecated in favour of a setting of `streamText`, which this runtime does not run tools with.
    // oxlint-disable-next-line typescript/no-deprecated
    const { needsApproval } = runnable.tool;
    if (needsApproval === undefined || needsApproval === false || this.#allowed.has(call.callId))
      this.#start(call);
    else if (needsApproval === true) this.#requestApproval(call);
    else {
      this.#deciding.add(call.callId);
      this.#background(async () => {
        try {
          const needed = await needsApproval(await this.#input(runnable), {
            toolCallId: call.callId,
            messages: [...this.#options.messages],
            context: undefined,
          });
          this.#deciding.delete(call.callId);
          if (!this.#stands(call, "waiting")) return;
          if (needed) this.#requestApproval(call);
          else {
            this.#allowed.add(call.callId);
            this.#start(call);
          }
        } catch (error) {
          this.#deciding.delete(call.callId);
          if (this.#stands(call, "waiting")) this.#fail(call, toStoredError(error));
        }
      });
    }
  }

  /** The tool of a call, or undefined after saying in the log why there is none. */
  #runnable(call: CallPart): Runnable | undefined {
    const tools = this.#options.agent.tools ?? {};
    const tool = Object.hasOwn(tools, call.toolName) ? tools[call.toolName] : undefined;
    if (tool?.execute !== undefined) return { call, tool };
    const why = tool === undefined ? "is not among the agent's tools" : "has no `execute` function";
    this.#fail(call, { name: "Error", message: `The tool ${call.toolName} ${why}.` });
    return undefined;
  }

  #requestApproval(call: CallPart): void {
    const { door } = this.#options;
    door.record({
      type: "tool.approval-requested",
      data: { ...this.#key(call), toolName: call.toolName },
    });
  }

  #deny(call: CallPart): void {
    const { outcome } = call;
    const reason = outcome.status === "refused" ? outcome.reason : undefined;
    this.#options.door.record({
      type: "tool.denied",
      data: { ...this.#key(call), ...(reason === undefined ? {} : { reason }) },
    });
  }

  #start(call: CallPart): void {
    const { door, agent } = this.#options;
    if (this.#running.size >= (agent.toolConcurrency ?? DEFAULT_TOOL_CONCURRENCY)) return;
    const runnable = this.#runnable(call);
    if (runnable === undefined) return;
    this.#running.add(call.callId);
    door.record({
      type: "tool.started",
      data: {
        ...this.#key(call),
        toolName: call.toolName,
        attempt: 1,
        effectId: `${door.session}/${this.#step}/${call.callId}`,
      },
    });
    this.#background(async () => {
      const execution = await this.#execute(runnable);
      this.#running.delete(call.callId);
      if (this.#stands(call, "running")) this.#conclude(call, execution);
      // A place has come free for a call that had to wait.
      if (door.state.machine.context.step === this.#step) this.run();
    });
  }

  async #execute(runnable: Runnable): Promise<Execution> {
    const { door, agent, signal, graceMs, messages } = this.#options;
    const { call, tool } = runnable;
    // Law 1: the world is touched only when the intent is durable.
    await door.durable();
    const limit = agent.toolTimeoutMs;
    const timeoutMs = typeof limit === "object" ? limit[call.toolName] : limit;
    return await executeCall({
      tool,
      call,
      input: await this.#input(runnable),
      messages,
      signal,
      graceMs,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      onProgress: (output) => {
        if (!this.#stands(call, "running")) return;
        door.record({
          type: "tool.progressed",
          data: { ...this.#key(call), output: toJson(output) },
        });
      },
    });
  }

  #conclude(call: CallPart, execution: Execution): void {
    const { door } = this.#options;
    switch (execution.kind) {
      case "succeeded": {
        const { output, modelOutput } = execution;
        const shown = modelOutput === undefined ? {} : { modelOutput };
        door.record({ type: "tool.succeeded", data: { ...this.#key(call), output, ...shown } });
        break;
      }
      case "failed":
        this.#fail(call, toStoredError(execution.error));
        break;
      case "unknown":
        door.record({
          type: "tool.unknown",
          data: { ...this.#key(call), reason: execution.reason },
        });
        break;
    }
  }

  async #input({ call, tool }: Runnable): Promise<unknown> {
    const { inputs } = this.#options;
    return inputs.has(call.callId) ? inputs.get(call.callId) : inputFromRecord(tool, call.input);
  }

  #fail(call: CallPart, error: StoredError): void {
    this.#options.door.record({ type: "tool.failed", data: { ...this.#key(call), error } });
  }

  #key(call: CallPart): { readonly step: number; readonly callId: string } {
    return { step: this.#step, callId: call.callId };
  }

  /** Whether the call still stands where this runner left it: a late answer changes nothing. */
  #stands(call: CallPart, state: "waiting" | "running"): boolean {
    const { context } = this.#options.door.state.machine;
    return context.step === this.#step && context.calls[call.callId] === state;
  }

  #background(work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      this.#options.onFailure(error);
    });
  }
}
