/** The schema of an agent's lifecycle callbacks and telemetry. */

import type { TelemetryOptions } from "ai";
import { z } from "zod";
import type { LifecycleSettings } from "../telemetry/index.ts";
import { code, flag, implementation, optionsOf, text } from "../validation/index.ts";

const flags = implementation({});

const telemetry = optionsOf<TelemetryOptions>(
  {
    isEnabled: flag,
    recordInputs: flag,
    recordOutputs: flag,
    functionId: text,
    includeRuntimeContext: flags,
    includeToolsContext: flags,
    integrations: z.unknown(),
  },
  {},
);

export const lifecycleFields: Readonly<Record<keyof LifecycleSettings, z.ZodType>> = {
  onStart: code,
  experimental_onStart: code,
  onStepStart: code,
  experimental_onStepStart: code,
  onLanguageModelCallStart: code,
  onLanguageModelCallEnd: code,
  onToolExecutionStart: code,
  onToolExecutionEnd: code,
  onStepEnd: code,
  onStepFinish: code,
  onStepError: code,
  onAbort: code,
  onEnd: code,
  onFinish: code,
  onError: code,
  telemetry,
  experimental_telemetry: telemetry,
};
