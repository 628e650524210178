/**
 * The work that is measured: one user message, then steps that each stream 200 deltas and call one
 * tool with a 4 KB result; the last step only speaks. Made before the clock starts, the same each time.
 */

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { numbers } from "./numbers.ts";

const DELTAS_PER_STEP = 200;
const TOOL_RESULT_LENGTH = 4096;
const WORDS = (
  "able about above after again air all along also among and animal answer any are around ask away " +
  "back base been before began being below between big book both boy but call came can car carry " +
  "change city close cold come could country cut dark day did different direct does door down draw " +
  "each early earth eat end enough even every example eye face family far farm fast father feel"
).split(" ");

export interface Workload {
  readonly steps: number;
  readonly request: string;
  /** What the session says, byte by byte: the request, the deltas, the calls' inputs and results. */
  readonly contentBytes: number;
  /** Characters of all deltas: each contender must have seen as many. */
  readonly deltaCharacters: number;
  /** The deltas of each step. */
  readonly texts: readonly (readonly string[])[];
  readonly parts: readonly (readonly LanguageModelV4StreamPart[])[];
  readonly results: readonly string[];
}

/** Two words, about twelve characters. */
function deltaTexts(step: number, count: number): readonly string[] {
  // Text that repeats itself would compress to nothing.
  const next = numbers(step);
  const word = (): string => WORDS[next(WORDS.length)] ?? "";
  return Array.from({ length: count }, () => `${word()} ${word()} `);
}

function resultText(step: number): string {
  const next = numbers(-1 - step);
  let text = "";
  while (text.length < TOOL_RESULT_LENGTH) {
    text += `${next(100_000)}: ${WORDS[next(WORDS.length)] ?? ""} ${WORDS[next(WORDS.length)] ?? ""}\n`;
  }
  return text.slice(0, TOOL_RESULT_LENGTH);
}

function stepParts(
  step: number,
  isLast: boolean,
  count: number,
): readonly LanguageModelV4StreamPart[] {
  const deltas = deltaTexts(step, count).map((delta) => ({
    type: "text-delta" as const,
    id: "0",
    delta,
  }));
  const call = {
    type: "tool-call" as const,
    toolCallId: `call_${step}`,
    toolName: "lookup",
    input: JSON.stringify({ step }),
  };
  const reason = isLast ? ("stop" as const) : ("tool-calls" as const);
  return [
    { type: "stream-start", warnings: [] },
    { type: "response-metadata", id: `response_${step}`, modelId: "deterministic" },
    { type: "text-start", id: "0" },
    ...deltas,
    { type: "text-end", id: "0" },
    ...(isLast ? [] : [call]),
    {
      type: "finish",
      finishReason: { unified: reason, raw: reason },
      usage: {
        inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 210, text: 210, reasoning: 0 },
      },
    },
  ];
}

export function createWorkload(steps: number, deltas: number = DELTAS_PER_STEP): Workload {
  const request = "Look the rows up, one after the other.";
  const parts = Array.from({ length: steps }, (_, step) =>
    stepParts(step, step === steps - 1, deltas),
  );
  const results = Array.from({ length: steps - 1 }, (_, step) => resultText(step));
  const sum = (texts: readonly string[]): number =>
    texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
  const said = parts.flat();
  const texts = parts.map((step) =>
    step.flatMap((part) => (part.type === "text-delta" ? [part.delta] : [])),
  );
  const inputs = said.flatMap((part) => (part.type === "tool-call" ? [part.input] : []));
  return {
    steps,
    request,
    contentBytes: sum([request, ...texts.flat(), ...inputs, ...results]),
    deltaCharacters: texts.flat().join("").length,
    texts,
    parts,
    results,
  };
}

/** A model that says the workload without a delay; `onCall` is told before each step. */
export function workloadModel(
  { parts }: Workload,
  onCall: (step: number, options: LanguageModelV4CallOptions) => void,
): LanguageModelV4 {
  let calls = 0;
  return {
    specificationVersion: "v4",
    provider: "bench",
    modelId: "deterministic",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("The workload is streamed.")),
    doStream: (options) => {
      const step = calls++;
      onCall(step, options);
      const said = parts[step];
      if (said === undefined) throw new Error(`The workload has no step ${step + 1}.`);
      return Promise.resolve({ stream: streamOf(said) });
    },
  };
}

function streamOf(
  parts: readonly LanguageModelV4StreamPart[],
): ReadableStream<LanguageModelV4StreamPart> {
  let next = 0;
  return new ReadableStream({
    pull: (controller) => {
      const part = parts[next++];
      if (part === undefined) controller.close();
      else controller.enqueue(part);
    },
  });
}
