/** Names of models, and the models that take over when the agent's own fails: and for which failures. Pure. */

import type { LanguageModel } from "ai";
import { isSameModel, TurnlogError, type FailureKind, type ModelName } from "../events/index.ts";

/**
 * A model that takes over, for failures of the usual kinds or of those that `when` names. `content-filter` is also a
 * reply that its provider withheld.
 * @example
 * const other = scriptedModel(["Here I am."]);
 * const agent: Agent = { model, fallback: [{ model: other, when: ["network", "timeout"] }] };
 */
export type Fallback =
  | LanguageModel
  | { readonly model: LanguageModel; readonly when: readonly FailureKind[] };

/** Another model may do better. Not so where the request or the conversation is to blame. */
export const usualKinds: ReadonlySet<FailureKind> = new Set<FailureKind>([
  "overloaded",
  "rate-limit",
  "network",
  "server",
  "timeout",
  "not-a-model",
  "authentication",
  "quota",
]);

interface Models {
  readonly model: LanguageModel;
  readonly fallback?: readonly Fallback[];
}

export function nameOf(model: LanguageModel): ModelName {
  return typeof model === "string"
    ? { provider: "gateway", modelId: model }
    : { provider: model.provider, modelId: model.modelId };
}

export interface FallbackModel {
  readonly model: LanguageModel;
  readonly name: ModelName;
  readonly when: ReadonlySet<FailureKind>;
}

export function fallbackModels({
  fallback = [],
}: Pick<Models, "fallback">): readonly FallbackModel[] {
  return fallback.map((one) => {
    const { model, when } =
      typeof one === "object" && "when" in one
        ? { model: one.model, when: new Set(one.when) }
        : { model: one, when: usualKinds };
    return { model, name: nameOf(model), when };
  });
}

/** @throws TurnlogError `INVALID_INPUT` if two models have one name: the log could not tell which of them answered */
export function checkFallback(agent: Models): void {
  const names = [nameOf(agent.model), ...fallbackModels(agent).map(({ name }) => name)];
  const twice = names.find((one, index) =>
    names.slice(0, index).some((two) => isSameModel(one, two)),
  );
  if (twice === undefined) return;
  const name = `${twice.provider}:${twice.modelId}`;
  throw new TurnlogError(
    "INVALID_INPUT",
    `\`agent.fallback\` has ${name} twice, or it is the agent's model: the log could not tell which of them answered. For another account or region, give its provider another \`name\`.`,
    { details: { option: "agent.fallback" } },
  );
}

/** The same agent with another model. Its digest stays: which model a step calls is in its events. */
export function withModel<
  Prepared extends {
    readonly agent: Models;
    readonly description: { readonly model: ModelName };
  },
>(prepared: Prepared, model: LanguageModel, name: ModelName = nameOf(model)): Prepared {
  const { agent, description } = prepared;
  if (isSameModel(description.model, name)) return prepared;
  return { ...prepared, agent: { ...agent, model }, description: { ...description, model: name } };
}
