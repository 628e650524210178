/** Scripted models of several providers, and the errors with which they refuse. */

import { APICallError } from "ai";
import { scriptedModel, type ScriptedModel } from "../../src/models/index.ts";

export function modelOf(
  provider: string,
  script: Parameters<typeof scriptedModel>[0],
): ScriptedModel {
  const model = scriptedModel(script);
  return { ...model, provider, modelId: "m", calls: model.calls };
}

export function refusal(statusCode: number, headers: Record<string, string> = {}): APICallError {
  return new APICallError({
    message: `Refused with ${statusCode}`,
    statusCode,
    responseHeaders: headers,
    url: "https://provider.invalid",
    requestBodyValues: {},
  });
}
