/**
 * The bill of one session, from its events: every call of a model, what each part of the prompts cost over its
 * life, what the provider's cache did not read and why, and what it would have cost otherwise. The fold of the
 * session gives the prompts. Pure.
 */

import {
  cacheRule,
  defaultEstimator,
  meter,
  modelLimits,
  sessionCost,
  type CacheReads,
  type KnownLimits,
  type SessionCost,
  type WhatIf,
} from "../context/index.ts";
import {
  defined,
  type ModelName,
  type SessionEvent,
  type TokenUsage,
  TurnlogError,
} from "../events/index.ts";
import { modelKey, promptEntries, type ContextView } from "../projections/index.ts";
import {
  foldSession,
  initialSessionState,
  type SessionState,
  type SubAgent,
} from "../state/index.ts";
import { messagesBlocks, type PartName, type StepPlace, BlockSizes, sum } from "./blocks.ts";
import {
  type BilledRequest,
  type Request,
  type SizedPrompt,
  isStanding,
  standingAt,
  StandingBlocks,
  type Standing,
} from "./standing.ts";
import { causeOf, type MissCause, CacheTree } from "./cache-miss.ts";
import { callPrice, inputOf, type CallDollars, type CallPrice } from "./call-price.ts";

/** One call of a model, as it was billed. */
export interface BilledCall {
  /** The position of its `step.started`, or of the event that has the summary. */
  readonly position: number;
  /** Epoch milliseconds of its end: prices change. */
  readonly time: number;
  /** 0 between turns. */
  readonly turn: number;
  readonly step?: number;
  readonly attempt?: number;
  /** `retry`: an attempt that failed, before the next one. */
  readonly purpose: "answer" | "retry" | "summary";
  readonly model?: ModelName;
  readonly usage: TokenUsage;
  /** Absent if no price is known. */
  readonly dollars?: CallDollars;
  /** Tokens that the cache should have read, by the provider's published rules. Absent where it has none. */
  readonly predictedReads?: number;
}

/** A part of prompts: the sum over all calls that sent it. */
export interface BilledPart extends PartName {
  /** Tokens of input, each time that they were sent. */
  readonly tokens: number;
  readonly calls: number;
  /** Of the calls with a known price. */
  readonly dollars: number;
}

/** A call whose cache read clearly less than what the call before had sent already. */
export interface CacheMiss {
  /** The position of the call. */
  readonly position: number;
  readonly cause: MissCause;
  /** The position of the event that changed the prompt; of the call itself if none did. */
  readonly changedAt: number;
  /** The first part that differs; absent if none does. */
  readonly first?: PartName;
  readonly tokens: number;
  /** What the tokens cost more than reads. Absent if no price is known. */
  readonly dollars?: number;
}

/** A sub-agent, by the call that ran it, with what it has paid itself until now. */
type BilledSubAgent = Pick<SubAgent, "session" | "step" | "callId" | "toolName" | "cost">;

/** A computed bill for the same calls with different prompts or prices. No provider sent it. */
export interface ComputedBill {
  readonly computed: true;
  /** Of the calls with a known price. */
  readonly dollars: number;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly outputTokens: number;
  /** Calls without a known price, which `dollars` leaves out. */
  readonly unpriced: number;
  /** Calls whose prompt would not fit into the model's window. */
  readonly tooLong: number;
}

/**
 * The bill of a session. A fork has what it paid itself; `cost.inherited` is what its source paid for the rest.
 * @example
 * const { cost, parts, misses } = await session.bill();
 * console.log(cost.total.dollars, parts[0], misses.map(({ cause }) => cause));
 */
export interface SessionBill {
  /** The last position. */
  readonly position: number;
  readonly cost: SessionCost;
  readonly calls: readonly BilledCall[];
  /** The dearest first. Their tokens sum to those of all prompts. */
  readonly parts: readonly BilledPart[];
  readonly misses: readonly CacheMiss[];
  /** The sub-agents at every level. Their costs are not part of `cost`. Absent if there are none. */
  readonly subAgents?: readonly BilledSubAgent[];
  readonly whatIf?: ComputedBill;
}

interface BillSetup {
  readonly known: KnownLimits;
  readonly whatIf?: WhatIf;
}

/** While it grows. */
type Summed<Part> = { -readonly [Key in keyof Part]: Part[Key] };

interface Computed {
  input: number;
  read: number;
  output: number;
  dollars: number;
  unpriced: number;
  tooLong: number;
}

/** A miss is as long as two units and a tenth of what could be read. */
const MISSED_SHARE = 0.1;

/**
 * The bill of a session by all its events.
 * @throws TurnlogError `LOG_DAMAGED` and the other errors of a fold
 */
export function sessionBill(events: Iterable<SessionEvent>, setup: BillSetup): SessionBill {
  const bill = new BillFold(setup);
  for (const event of events) bill.add(event);
  return bill.result();
}

export class BillFold {
  readonly #known: KnownLimits;
  readonly #whatIf: WhatIf | undefined;
  #state = initialSessionState;
  #standing: Standing | undefined;
  #isTold = true;
  readonly #standingBlocks = new StandingBlocks();
  #open: Request | undefined;
  #calls: BilledCall[] = [];
  #parts = new Map<string, Summed<BilledPart>>();
  /** The same by their names, which most blocks share. */
  #named = new WeakMap<PartName, Summed<BilledPart>>();
  #misses: CacheMiss[] = [];
  #before: BilledRequest | undefined;
  readonly #steps = new Map<number, StepPlace>();
  /** The events since the last request, without those of replies. */
  #since: SessionEvent[] = [];
  readonly #sizes = new Map<string, BlockSizes>();
  readonly #caches = new Map<string, CacheTree>();
  /** The caches of the computed bill. */
  readonly #others = new Map<string, CacheTree>();
  #computed: Computed = { input: 0, read: 0, output: 0, dollars: 0, unpriced: 0, tooLong: 0 };
  /** Positions that a computed bill may leave out. */
  readonly #leavable = new Set<number>();
  /** The last shared step of a fork. */
  #shared = 0;

  constructor({ known, whatIf }: BillSetup) {
    this.#known = known;
    this.#whatIf = whatIf;
  }

  get state(): SessionState {
    return this.#state;
  }

  add(event: SessionEvent): void {
    const { type, data, position, time } = event;
    const before = this.#state;
    this.#state = foldSession(before, event).state;
    if (!type.startsWith("part.")) this.#since.push(event);
    switch (type) {
      case "session.created":
      case "session.configured":
      case "step.prepared":
      case "prompt.configured":
      case "turn.ended":
        this.#standing = standingAt(this.#state, this.#standing);
        return;
      case "prompt.text":
        this.#standingBlocks.store(data.digest, position);
        return;
      case "session.forked":
        this.#standing = standingAt(this.#state, this.#standing);
        this.#shared = this.#open?.step ?? before.usage.steps.at(-1)?.step ?? 0;
        this.#calls = [];
        this.#misses = [];
        this.#parts.clear();
        this.#named = new WeakMap();
        this.#computed = { input: 0, read: 0, output: 0, dollars: 0, unpriced: 0, tooLong: 0 };
        return;
      case "step.started":
        this.#steps.set(position, data);
        this.#open = this.#request(event, before);
        return;
      case "step.retrying":
        if (data.usage !== undefined) this.#billed("retry", data.usage, time);
        return;
      case "step.finished":
      case "step.failed":
      case "step.interrupted":
        if (this.#open?.step === data.step) this.#billed("answer", data.usage, time);
        this.#open = undefined;
        return;
      case "context.pruned":
        this.#leavable.add(position);
        return;
      case "context.compacted":
        this.#leavable.add(position);
        if (data.usage !== undefined) this.#summarized(event, data.usage, data.model);
        return;
      case "context.compaction-rejected":
      case "context.summary-rejected":
        if (data.usage !== undefined) this.#summarized(event, data.usage, data.model);
        return;
      default:
    }
  }

  /** @throws TurnlogError `INVALID_INPUT` if `without` names something else than a compaction or a pruning */
  result(): SessionBill {
    const strange = this.#whatIf?.without?.find((position) => !this.#leavable.has(position));
    if (strange !== undefined)
      throw new TurnlogError(
        "INVALID_INPUT",
        `At position ${strange} there is no compaction and no pruning. The events \`context.compacted\` and \`context.pruned\` have their positions.`,
        { position: strange, details: { option: "whatIf.without" } },
      );
    const { input, read, output, dollars, unpriced, tooLong } = this.#computed;
    return {
      position: this.#state.position,
      cost: sessionCost(this.#state.usage, this.#known),
      calls: this.#calls,
      parts: [...this.#parts.values()].toSorted(
        (one, other) => other.dollars - one.dollars || other.tokens - one.tokens,
      ),
      misses: this.#misses,
      ...(this.#whatIf === undefined
        ? {}
        : {
            whatIf: {
              computed: true,
              dollars,
              inputTokens: input,
              cacheReadTokens: read,
              outputTokens: output,
              unpriced,
              tooLong,
            },
          }),
    };
  }

  #request({ position, time, data }: SessionEvent<"step.started">, state: SessionState): Request {
    const { turn, step, attempt, model } = data;
    const standing = standingAt({ ...state, position }, this.#standing);
    this.#standing = standing;
    const blocks = this.#blocks(state, state.view, standing, model, turn);
    const isTold = blocks[0]?.name.kind !== "standing";
    // In a log of an earlier release, texts come late: what stood before cannot be compared with them.
    if (isTold !== this.#isTold) {
      this.#before = undefined;
      this.#caches.clear();
      this.#others.clear();
    }
    this.#isTold = isTold;
    return { position, turn, step, attempt, model, sent: time, state, standing, blocks };
  }

  #blocks(
    state: SessionState,
    view: ContextView,
    standing: Standing,
    model: ModelName,
    turn: number,
  ): SizedPrompt["blocks"] {
    const measure = meter(defaultEstimator, model);
    const entries = promptEntries(state.history, view);
    return [
      ...this.#standingBlocks.of(state, standing, measure),
      ...messagesBlocks(entries, measure, turn, this.#steps),
    ];
  }

  #billed(purpose: "answer" | "retry", usage: TokenUsage, time: number): void {
    const request = this.#open;
    if (request === undefined) return;
    const { position, turn, step, attempt, model, blocks } = request;
    const key = modelKey(model);
    const sizes = made(this.#sizes, key, () => new BlockSizes());
    const tokens = sizes.split(blocks, usage);
    sizes.replied(position, usage);
    const billed: BilledRequest = { ...request, tokens, usage };
    const price = callPrice(usage, model, time, this.#known);
    const predictedReads = this.#cached(billed, price, sizes);
    if (this.#whatIf !== undefined) this.#compute(billed, this.#whatIf, sizes, time);
    if (usage.basis === "measured") {
      this.#before = billed;
      this.#since = [];
    }
    if (step <= this.#shared) return;
    this.#spread(billed, price);
    const { dollars } = price ?? {};
    this.#calls.push({
      position,
      time,
      turn,
      step,
      attempt,
      purpose,
      model,
      usage,
      ...defined({ dollars, predictedReads }),
    });
  }

  #summarized(
    { position, time }: SessionEvent,
    usage: TokenUsage,
    model: ModelName | undefined,
  ): void {
    const price = callPrice(usage, model, time, this.#known);
    this.#calls.push({
      position,
      time,
      turn: this.#state.usage.turn,
      purpose: "summary",
      usage,
      ...defined({ model, dollars: price?.dollars }),
    });
    const name: PartName = { kind: "summarizing", position };
    const block = { key: "", name, tokens: 0 };
    this.#spread({ blocks: [block], tokens: [usage.inputTokens], usage }, price);
    if (this.#whatIf === undefined || this.#whatIf.without?.includes(position) === true) return;
    const other = this.#whatIf.model ?? model;
    this.#count(usage, callPrice(usage, other, time, this.#known));
  }

  /** Adds to each part what it cost in a call: reads come first, then writes. */
  #spread(
    { blocks, tokens, usage }: SizedPrompt & { readonly usage: TokenUsage },
    price: CallPrice | undefined,
  ): void {
    const left = { ...inputOf(usage) };
    for (const [index, { name }] of blocks.entries()) {
      let rest = tokens[index] ?? 0;
      let dollars = 0;
      const whole = rest;
      for (const kind of ["read", "written", "plain"] as const) {
        const taken = Math.min(rest, left[kind]);
        left[kind] -= taken;
        rest -= taken;
        dollars += taken * (price?.rates[kind] ?? 0);
      }
      const part = this.#part(name);
      part.tokens += whole;
      part.calls += 1;
      part.dollars += dollars;
    }
  }

  #part(name: PartName): Summed<BilledPart> {
    const known = this.#named.get(name);
    if (known !== undefined) return known;
    const key = `${name.kind} ${name.position} ${name.callId ?? ""}`;
    const part = made(this.#parts, key, () => ({ ...name, tokens: 0, calls: 0, dollars: 0 }));
    this.#named.set(name, part);
    return part;
  }

  /** The predicted reads; records a miss. */
  #cached(
    request: BilledRequest,
    price: CallPrice | undefined,
    sizes: BlockSizes,
  ): number | undefined {
    const { model, usage, position, sent, step } = request;
    const { reads } = cacheRule(model);
    if (reads === undefined || usage.cacheReadTokens === undefined) return undefined;
    if (usage.basis === "estimated") return undefined;
    const tree = made(this.#caches, modelKey(model), () => new CacheTree(reads));
    const predicted = tree.read(request, sent - this.#lifetime(model, sent));
    const billed = inputOf(usage);
    const missed = this.#missed(request, reads);
    if (step > this.#shared && this.#before !== undefined && isMiss(missed, billed.read, reads)) {
      const lastingReads = tree.read(request, 0);
      const unsure = uncertainReads(this.#before, request);
      const isMore = (tokens: number): boolean =>
        tokens > unsure && isMiss(tokens - billed.read, billed.read, reads);
      const found = causeOf(this.#before, request, this.#since, {
        isUnexplained: isMore(predicted),
        isExpired: isMore(lastingReads),
      });
      const { plain, written } = billed;
      const paid =
        price && (price.dollars.plain + price.dollars.written) / Math.max(1, plain + written);
      this.#misses.push({
        position,
        ...found,
        tokens: missed,
        ...(price === undefined || paid === undefined
          ? {}
          : { dollars: missed * (paid - price.rates.read) }),
      });
    }
    const marked = billed.read + billed.written;
    tree.add(request, sent, marked, { position, tokens: sizes.reply(position) });
    return predicted;
  }

  /** Tokens of this request that the one before had and the provider kept, behind those that were read. */
  #missed({ blocks, tokens, usage }: BilledRequest, { at, least }: CacheReads): number {
    if (this.#before === undefined) return 0;
    const { read } = inputOf(usage);
    const before = inputOf(this.#before.usage);
    const isKept = at === "tokens" || before.read + before.written > 0;
    const had = new Set(this.#before.blocks.map(({ key }) => key));
    let end = 0;
    let again = 0;
    let missed = 0;
    for (const [index, { key }] of blocks.entries()) {
      const size = tokens[index] ?? 0;
      end += size;
      if (!had.has(key)) continue;
      again += size;
      missed += Math.max(0, Math.min(size, end - read));
    }
    return isKept && again >= least ? missed : 0;
  }

  #lifetime(model: ModelName, time: number): number {
    return modelLimits(model, time, this.#known).cacheLifetimeMs ?? cacheRule(model).lifetimeMs;
  }

  #compute(request: BilledRequest, whatIf: WhatIf, sizes: BlockSizes, time: number): void {
    const { blocks, state, standing, model, usage, sent, position } = request;
    const { without = [], caching } = whatIf;
    const stays = (one: { readonly position: number }): boolean => !without.includes(one.position);
    const { view } = state;
    const compactions = view.compactions.filter(stays);
    const prunings = view.prunings.filter(stays);
    const isSame =
      compactions.length === view.compactions.length && prunings.length === view.prunings.length;
    const other = isSame
      ? blocks
      : this.#blocks(state, { ...view, compactions, prunings }, standing, model, request.turn);
    const tokens = isSame ? request.tokens : other.map((block) => Math.round(sizes.of(block)));
    // What the bill has besides its blocks stays.
    const beside = usage.inputTokens - Math.round(sum(blocks.map((block) => sizes.of(block))));
    const inputTokens = isSame ? usage.inputTokens : Math.max(0, sum(tokens) + beside);
    const prompt = { blocks: other, tokens };
    const { reads } = cacheRule(model);
    const billed = inputOf(usage);
    const wasCached = billed.read + billed.written > 0 || reads?.at === "tokens";
    const isCached = reads !== undefined && (caching ?? wasCached);
    let read = isSame && caching === undefined ? billed.read : 0;
    let written = isSame && caching === undefined ? billed.written : 0;
    if (isCached) {
      const tree = made(this.#others, modelKey(model), () => new CacheTree(reads));
      const simulated = Math.min(
        inputTokens,
        tree.read(prompt, sent - this.#lifetime(model, sent)),
      );
      if (!isSame || caching !== undefined) {
        read = simulated;
        written = reads.at === "marks" ? inputTokens - read : 0;
      }
      const marked = reads.at === "marks" ? inputTokens : 0;
      tree.add(prompt, sent, marked, { position, tokens: sizes.reply(position) });
    }
    const paid: TokenUsage = {
      basis: "estimated",
      inputTokens,
      outputTokens: usage.outputTokens,
      cacheReadTokens: read,
      cacheWriteTokens: written,
    };
    if (request.step <= this.#shared) return;
    const payer = whatIf.model ?? model;
    this.#count(paid, callPrice(paid, payer, time, this.#known));
    const known = { ...this.#known, learned: state.learnedLimits };
    const { contextWindow = Infinity } = modelLimits(payer, time, known);
    if (inputTokens > contextWindow) this.#computed.tooLong += 1;
  }

  #count(usage: TokenUsage, price: CallPrice | undefined): void {
    this.#computed.input += usage.inputTokens;
    this.#computed.read += inputOf(usage).read;
    this.#computed.output += usage.outputTokens;
    this.#computed.dollars += price?.dollars.total ?? 0;
    if (price === undefined) this.#computed.unpriced += 1;
  }
}

/** Providers may compare definitions and instructions that changed as a whole: then reads of them are not expected. */
function uncertainReads(
  { standing }: BilledRequest,
  { standing: now, blocks, tokens }: BilledRequest,
): number {
  const isSame =
    standing.tools.text === now.tools.text && standing.instructions.text === now.instructions.text;
  return isSame ? 0 : sum(tokens.slice(0, blocks.filter(isStanding).length));
}

function isMiss(missed: number, read: number, { unit }: CacheReads): boolean {
  return missed > 2 * unit && missed > MISSED_SHARE * (read + missed);
}

function made<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key) ?? make();
  map.set(key, known);
  return known;
}
