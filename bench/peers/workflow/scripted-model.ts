/**
 * The script as a model that crosses the border of a workflow step. Only that it is there crosses it: each step makes
 * it anew, in this process, where `workflow-agent.ts` has laid down what it says.
 */

import { WORKFLOW_DESERIALIZE, WORKFLOW_SERIALIZE } from "@workflow/serde";
import type { scriptModel } from "../../comparison/script-model.ts";
import type { Script } from "../../comparison/script.ts";

type Model = ReturnType<typeof scriptModel>;

interface Held {
  readonly script: Script;
  readonly model: Model;
}

declare global {
  // The compiled steps have no module in common with the one that opens the session.
  var benchHeld: Held | undefined;
}

export function held(): Held {
  if (globalThis.benchHeld === undefined) throw new Error("No session is open.");
  return globalThis.benchHeld;
}

export class ScriptedModel implements Model {
  readonly specificationVersion = "v4";
  readonly provider = "bench";
  readonly modelId = "deterministic";
  readonly supportedUrls = {};

  static [WORKFLOW_SERIALIZE](): object {
    return {};
  }

  static [WORKFLOW_DESERIALIZE](): ScriptedModel {
    return new ScriptedModel();
  }

  doGenerate(options: Parameters<Model["doGenerate"]>[0]): ReturnType<Model["doGenerate"]> {
    return held().model.doGenerate(options);
  }

  doStream(options: Parameters<Model["doStream"]>[0]): ReturnType<Model["doStream"]> {
    return held().model.doStream(options);
  }
}
