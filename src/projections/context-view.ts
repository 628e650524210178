/** The changes to the prompt that hold: compactions, prunings, cuts of results, omitted media, reductions. */

import { z } from "zod";
import {
  cutCallSchema,
  cutInputSchema,
  omittedMediaSchema,
  reductionSchema,
  agentPartsSchema,
  type AgentDescription,
  type AgentParts,
  jsonSchema,
  isSameModel,
  modelNameSchema,
  stepOverridesSchema,
  type CutCall,
  type CutInput,
  type EventMap,
  type JsonValue,
  type ModelName,
  type OmittedMedia,
  type Reduction,
  type SessionEvent,
  type StepOverrides,
  defined,
} from "../events/index.ts";
import { noEdit, promptEditSchema, withChange, type PromptEdit } from "./prompt-edit.ts";
import { defineProjection, type Projection } from "./projection.ts";
import { bindingOf, isAllBound } from "./prompt-problems.ts";

/** A range of positions (both included) and the summary that replaces it. */
export interface Compaction {
  /** The position of its `context.compacted`. */
  readonly position: number;
  readonly from: number;
  readonly to: number;
  readonly summary: string;
}

/** Tool results that placeholders replace. */
interface Pruning {
  /** The position of its `context.pruned`. */
  readonly position: number;
  readonly calls: readonly { readonly step: number; readonly callId: string }[];
}

/** Results and inputs that are shown by their beginning and their end only. */
interface CallCut {
  /** The position of its `context.cut`. */
  readonly position: number;
  readonly calls: readonly CutCall[];
  readonly inputs?: readonly CutInput[];
  readonly reader?: string;
  /** The cut was undone: what it cut is shown whole and is not cut again. */
  readonly undone?: true;
}

interface MediaOmission {
  /** The position of its `context.media-omitted`. */
  readonly position: number;
  readonly omitted: OmittedMedia;
}

/** What is sent less or otherwise, since the provider refused it. */
export type ViewReduction = Reduction & {
  /** The position of its `context.reduced`, and its step. */
  readonly position: number;
  readonly step: number;
};

/** The changes to the prompt that were not undone. */
export interface ContextView {
  readonly compactions: readonly Compaction[];
  readonly prunings: readonly Pruning[];
  readonly cuts: readonly CallCut[];
  /** Each includes the earlier ones: the last one holds. */
  readonly omissions: readonly MediaOmission[];
  /** Absent if there is none. */
  readonly reductions?: readonly ViewReduction[];
  /** The position of the last change after which earlier token figures do not hold; 0 if there is none. */
  readonly changed: number;
  /** The binding (`bindingOf`) of the agent's model; absent before it is known. */
  readonly binding?: string;
  /** Bindings of all models that ran a step. */
  readonly bindings: readonly string[];
  /** The changes of `prepareStep` to the messages of this turn. */
  readonly edit?: PromptEdit;
  /** The instructions that `prepareStep` gave this turn. */
  readonly instructions?: JsonValue;
  /** Their digest, where `prompt.text` has them. */
  readonly instructionsDigest?: string;
  /** The step that was prepared last, until it ends. */
  readonly prepared?: PreparedStep;
  /** The models that took over in this turn. */
  readonly failover?: Failover;
}

/** Which models another one has replaced for the rest of the turn. */
export interface Failover {
  readonly moves: readonly Pick<EventMap["step.failed-over"], "from" | "to">[];
  /** The last move: its position, and the attempt that failed; attempt 0 before the step's first one. */
  readonly position: number;
  readonly step: number;
  readonly attempt: number;
  /** The binding of the agent's own model, which the next turn begins with. */
  readonly ownBinding?: string;
}

/** The model that is called in the place of `model`, as far as the turn has failed over. */
export function standingModel(view: Pick<ContextView, "failover">, model: ModelName): ModelName {
  // A move to a model ends its own: there is no circle.
  const move = view.failover?.moves.find(({ from }) => isSameModel(from, model));
  return move === undefined ? model : standingModel(view, move.to);
}

function failedOver(
  view: ContextView,
  { position, data: { step, attempt = 0, from, to } }: SessionEvent<"step.failed-over">,
): ContextView {
  const { failover, prepared: last, binding } = view;
  const before = failover?.moves ?? [];
  const left = before.filter((one) => !isSameModel(one.from, to) && !isSameModel(one.from, from));
  const ownBinding = failover?.ownBinding ?? last?.ownBinding ?? binding;
  const moved = withBinding(view, position, bindingOf(to));
  return {
    ...moved,
    failover: {
      moves: isSameModel(from, to) ? left : [...left, { from, to }],
      position,
      step,
      attempt,
      ...defined({ ownBinding }),
    },
  };
}

interface PreparedStep {
  readonly step: number;
  /** That `prepareStep` has not changed it. */
  readonly by?: "prepareCall";
  readonly overrides?: StepOverrides;
  readonly agentDigest?: string;
  readonly parts?: AgentParts;
  /** The binding of the agent's own model, if the step has another model. */
  readonly ownBinding?: string;
}

function prepared(
  view: ContextView,
  position: number,
  { step, by, overrides, agentDigest, parts, ...data }: EventMap["step.prepared"],
): ContextView {
  const { model } = overrides ?? {};
  const { messages, instructions, instructionsDigest } = data;
  // `prepareCall` and `prepareStep` may both have chosen a model.
  const own = view.prepared?.ownBinding ?? view.binding;
  const binding = model === undefined ? own : bindingOf(standingModel(view, model));
  const changes = messages !== undefined || agentDigest !== undefined;
  return {
    ...view,
    ...(messages === undefined
      ? {}
      : { edit: withChange(view.edit ?? noEdit, position, messages) }),
    ...defined({ instructions, instructionsDigest, binding }),
    prepared: {
      step,
      ...defined({ by, overrides, agentDigest, parts }),
      ...(model === undefined || own === undefined ? {} : { ownBinding: own }),
    },
    ...(changes ? { changed: position } : {}),
  };
}

function stepEnded(view: ContextView, position: number): ContextView {
  const { prepared: last, ...rest } = view;
  if (last === undefined) return view;
  return {
    ...rest,
    ...(last.ownBinding === undefined ? {} : { binding: last.ownBinding }),
    ...(last.agentDigest === undefined ? {} : { changed: position }),
  };
}

/** The next turn has all messages, and the agent's own instructions and model again. */
function turnEnded(view: ContextView, position: number): ContextView {
  const { edit, instructions, instructionsDigest, ...rest } = failoverEnded(
    stepEnded(view, position),
    position,
  );
  const isSame = edit === undefined && (instructions ?? instructionsDigest) === undefined;
  return isSame ? rest : { ...rest, changed: position };
}

function failoverEnded(view: ContextView, position: number): ContextView {
  const { failover, ...rest } = view;
  return failover === undefined ? view : withBinding(rest, position, failover.ownBinding);
}

/** Without reductions that `isGone` names. The list is absent again when it is empty. */
function withoutReductions(
  view: ContextView,
  position: number,
  isGone: (one: ViewReduction) => boolean,
): ContextView {
  const { reductions = [], ...rest } = view;
  const left = reductions.filter((one) => !isGone(one));
  if (left.length === reductions.length) return view;
  return { ...rest, ...(left.length === 0 ? {} : { reductions: left }), changed: position };
}

/** Reductions of a step that is refused nevertheless were in vain: the conversation is not to blame. */
function stepFailed(
  view: ContextView,
  { position, data: { step, kind } }: SessionEvent<"step.failed">,
): ContextView {
  const ended = stepEnded(view, position);
  const isRefused = kind === "invalid-request" || kind === "unknown";
  return isRefused ? withoutReductions(ended, position, (one) => one.step === step) : ended;
}

/** The view for another agent. Its prompt differs if steps have parts that are bound to one of the models. */
function forAgent(
  view: ContextView,
  position: number,
  agent: AgentDescription | undefined,
): ContextView {
  if (agent === undefined) return view;
  const { failover } = view;
  const ownBinding = bindingOf(agent.model);
  const binding = bindingOf(standingModel(view, agent.model));
  const own = failover === undefined ? view : { ...view, failover: { ...failover, ownBinding } };
  return withBinding(own, position, binding);
}

/** From this position on, the agent's model has this binding. */
export function withBinding(
  view: ContextView,
  position: number,
  binding: string | undefined,
): ContextView {
  if (binding === undefined || binding === view.binding) return view;
  const isOther = !isAllBound(view.bindings, binding) || !isAllBound(view.bindings, view.binding);
  return { ...view, binding, ...(isOther ? { changed: position } : {}) };
}

const positionSchema = z.int().positive();

/**
 * Folds what compactions, prunings and cuts changed in the prompt, and what was restored.
 * @example
 * const state = events.reduce(contextView.fold, contextView.initial);
 */
export const contextView: Projection<ContextView> = defineProjection<ContextView>({
  name: "context-view",
  version: 10,
  follows: "branch",
  schema: z.lazy(() =>
    z.object({
      compactions: z.array(
        z.object({
          position: positionSchema,
          from: positionSchema,
          to: positionSchema,
          summary: z.string(),
        }),
      ),
      prunings: z.array(
        z.object({
          position: positionSchema,
          calls: z.array(z.looseObject({ step: positionSchema, callId: z.string() })),
        }),
      ),
      cuts: z.array(
        z.object({
          position: positionSchema,
          calls: z.array(cutCallSchema),
          inputs: z.array(cutInputSchema).exactOptional(),
          reader: z.string().exactOptional(),
          undone: z.literal(true).exactOptional(),
        }),
      ),
      omissions: z.array(z.object({ position: positionSchema, omitted: omittedMediaSchema })),
      reductions: z
        .array(
          z.intersection(
            reductionSchema,
            z.object({ position: positionSchema, step: positionSchema }),
          ),
        )
        .exactOptional(),
      changed: z.int().nonnegative(),
      binding: z.string().exactOptional(),
      bindings: z.array(z.string()),
      edit: promptEditSchema.exactOptional(),
      instructions: jsonSchema.exactOptional(),
      instructionsDigest: z.string().exactOptional(),
      prepared: z
        .object({
          step: positionSchema,
          by: z.literal("prepareCall").exactOptional(),
          overrides: stepOverridesSchema.exactOptional(),
          agentDigest: z.string().exactOptional(),
          parts: agentPartsSchema.exactOptional(),
          ownBinding: z.string().exactOptional(),
        })
        .exactOptional(),
      failover: z
        .object({
          moves: z.array(z.object({ from: modelNameSchema, to: modelNameSchema })),
          position: positionSchema,
          step: positionSchema,
          attempt: z.int().nonnegative(),
          ownBinding: z.string().exactOptional(),
        })
        .exactOptional(),
    }),
  ),
  initial: { compactions: [], prunings: [], cuts: [], omissions: [], changed: 0, bindings: [] },
  on: {
    "session.created": (view, { position, data }) => forAgent(view, position, data.agent),
    "session.configured": (view, { position, data }) => forAgent(view, position, data.agent),
    "session.forked": (view, { position, data }) => forAgent(view, position, data.agent),
    "step.started": (view, { data: { model } }) => {
      const binding = bindingOf(model);
      if (view.bindings.includes(binding)) return view;
      return { ...view, bindings: [...view.bindings, binding] };
    },
    "step.failed-over": failedOver,
    "step.prepared": (view, { position, data }) => prepared(view, position, data),
    "step.finished": (view, { position }) => stepEnded(view, position),
    "step.failed": stepFailed,
    "step.interrupted": (view, { position }) => stepEnded(view, position),
    "turn.ended": (view, { position }) => turnEnded(view, position),
    "context.compacted": (view, { position, data }) => ({
      ...view,
      compactions: [...view.compactions, { position, ...data.covers, summary: data.summary }],
      changed: position,
    }),
    "context.pruned": (view, { position, data }) => ({
      ...view,
      prunings: [...view.prunings, { position, calls: data.calls }],
    }),
    "context.cut": (view, { position, data: { calls, inputs, reader } }) => ({
      ...view,
      cuts: [...view.cuts, defined({ position, calls, inputs, reader })],
    }),
    "context.media-omitted": (view, { position, data: { before, there } }) => ({
      ...view,
      omissions: [...view.omissions, { position, omitted: { before, there } }],
    }),
    "context.reduced": (view, { position, data }) => ({
      ...view,
      reductions: [...(view.reductions ?? []), { ...data, position }],
      changed: position,
    }),
    // The last bill includes the removed reasoning.
    "session.thinned": (view, { position, data }) =>
      data.shown === true ? { ...view, changed: position } : view,
    "context.restored": (view, { position, data }) => ({
      ...withoutReductions(view, position, (one) => one.position === data.position),
      compactions: view.compactions.filter((one) => one.position !== data.position),
      prunings: view.prunings.filter((one) => one.position !== data.position),
      cuts: view.cuts.some((one) => one.position === data.position)
        ? view.cuts.map((one) => (one.position === data.position ? { ...one, undone: true } : one))
        : view.cuts,
      omissions: view.omissions.filter((one) => one.position !== data.position),
      changed: position,
    }),
  },
});
