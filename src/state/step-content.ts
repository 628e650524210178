/**
 * The content of one of the AI SDK's step results, made of a step of the history. Calls and results have
 * their recorded form, which is JSON; a file in a blob is its reference.
 */

import { convertBase64ToUint8Array } from "@ai-sdk/provider-utils";
import type { GeneratedFile, StepResult, ToolSet } from "ai";
import { ownCopy } from "../events/index.ts";
import type { CallPart, HistoryPart, ProviderCallPart, StepItem } from "../projections/index.ts";

type Result = StepResult<ToolSet>;

export type StepContent = Result["content"][number];
export type OfType<Type extends StepContent["type"]> = Extract<
  StepContent,
  { readonly type: Type }
>;

/** The parts as the model gave them, then the results of the agent's tools in the order of the calls. */
export function contentOf({ parts }: StepItem): StepContent[] {
  const calls = parts.filter((part) => part.kind === "call");
  return [...parts.flatMap((part) => contentPart(part, parts)), ...calls.flatMap(outcome)];
}

function contentPart(part: HistoryPart, parts: readonly HistoryPart[]): readonly StepContent[] {
  switch (part.kind) {
    case "text":
    case "reasoning":
      return [{ type: part.kind, text: part.text, ...metadata(part) }];
    case "call":
    case "provider-call":
      return [toolCall(part)];
    case "provider-result": {
      const call = parts.find(
        (one): one is ProviderCallPart =>
          one.kind === "provider-call" && one.callId === part.callId,
      );
      const given = { ...named(part, call), providerExecuted: true, ...metadata(part) };
      const output = ownCopy(part.output);
      return part.isError
        ? [{ type: "tool-error", ...given, error: output }]
        : [{ type: "tool-result", ...given, output }];
    }
    case "file":
    case "reasoning-file": {
      const { data, mediaType } = part;
      const base64 = typeof data === "string" ? data : JSON.stringify(data);
      return [{ type: part.kind, file: generatedFile(base64, mediaType), ...metadata(part) }];
    }
    case "custom":
      return isCustomKind(part.customKind)
        ? [{ type: "custom", kind: part.customKind, ...metadata(part) }]
        : [];
    case "source":
      // A provider wrote it, and the SDK passes it on as it is.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return [{ ...ownCopy(part.source), type: "source" } as unknown as OfType<"source">];
    case "error":
      return [];
  }
}

function isCustomKind(kind: string): kind is `${string}.${string}` {
  return kind.includes(".");
}

type AnyCall = CallPart | ProviderCallPart;

/** As dynamic, since the tools' types are not known here. Calls of static tools lose the mark. */
function named(
  { callId, toolName }: Pick<AnyCall, "callId" | "toolName">,
  call: AnyCall | undefined,
): Pick<OfType<"tool-result">, "toolCallId" | "toolName" | "input"> & { readonly dynamic: true } {
  const dynamic = call?.dynamic === true || call?.invalid === true ? { dynamic: true } : {};
  // The types of static tools come from the agent, which a log does not know.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { toolCallId: callId, toolName, input: ownCopy(call?.input), ...dynamic } as {
    toolCallId: string;
    toolName: string;
    input: unknown;
    dynamic: true;
  };
}

function toolCall(part: AnyCall): StepContent {
  return {
    type: "tool-call",
    ...named(part, part),
    ...(part.kind === "provider-call" ? { providerExecuted: true } : {}),
    ...(part.kind === "call" && part.title !== undefined ? { title: part.title } : {}),
    ...(part.invalid === true ? { invalid: true } : {}),
    ...(part.kind === "call" && part.error !== undefined ? { error: part.error } : {}),
    ...metadata(part),
  };
}

function outcome(call: CallPart): readonly StepContent[] {
  const given = { ...named(call, call), ...metadata(call) };
  const failed = (error: unknown): readonly StepContent[] => [
    { type: "tool-error", ...given, error },
  ];
  switch (call.outcome.status) {
    case "succeeded":
      return [{ type: "tool-result", ...given, output: ownCopy(call.outcome.output) }];
    case "failed": {
      const { name, message } = call.outcome.error;
      return failed(Object.assign(new Error(message), { name }));
    }
    case "denied":
    case "skipped":
    case "unknown": {
      const { status, reason } = call.outcome;
      return failed(
        new Error(`The call is ${status}${reason === undefined ? "" : `: ${reason}`}.`),
      );
    }
    case "waiting":
    case "awaiting-approval":
    case "awaiting-output":
    case "approved":
    case "refused":
    case "running":
      return [];
  }
}

function metadata(part: { readonly providerMetadata?: object }): {
  readonly providerMetadata?: NonNullable<Result["providerMetadata"]>;
} {
  const { providerMetadata } = part;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const own = providerMetadata as Result["providerMetadata"];
  return own === undefined ? {} : { providerMetadata: ownCopy(own) };
}

function generatedFile(base64: string, mediaType: string): GeneratedFile {
  return {
    base64,
    mediaType,
    get uint8Array() {
      return convertBase64ToUint8Array(base64);
    },
  };
}
