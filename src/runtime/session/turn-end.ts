/** Ends a turn, with its structured output. */

import type { OutputInterface } from "ai";
import type { EventBody, TurnEndReason, TurnOutput } from "../../events/index.ts";
import { isStructured, parsedOutput } from "../../agent/index.ts";
import { toJson } from "../../shared/index.ts";
import type { SessionRecorder, SessionState } from "../../state/index.ts";

/** Records the end of a turn: at once, or when its output is parsed. */
export function endTurn(
  recorder: SessionRecorder,
  reason: TurnEndReason,
  output: OutputInterface | undefined,
): Promise<void> | undefined {
  const parsing = turnOutput(recorder.state, reason, output);
  if (parsing !== undefined) return endParsed(recorder, reason, parsing);
  recorder.record(turnEnded(recorder.state, reason));
  return undefined;
}

async function endParsed(
  recorder: SessionRecorder,
  reason: TurnEndReason,
  parsing: Promise<TurnOutput>,
): Promise<void> {
  const { turn } = recorder.state.machine.context;
  const output = await parsing;
  const released = recorder.replayGate({ kind: "turn" });
  if (released !== undefined) await released;
  const { machine } = recorder.state;
  // A cancel or the turn's time has ended it meanwhile, without the output.
  if (machine.context.turn !== turn || !machine.matches({ streaming: "ending" })) return;
  recorder.record(turnEnded(recorder.state, reason, output));
}

function turnEnded(
  { machine, history }: SessionState,
  reason: TurnEndReason,
  output?: TurnOutput,
): EventBody<"turn.ended"> {
  const { turn } = machine.context;
  const error = reason === "failed" ? history.open?.error : undefined;
  return {
    type: "turn.ended",
    data: {
      turn,
      reason,
      ...(error === undefined ? {} : { error }),
      ...(output === undefined ? {} : { output }),
    },
  };
}

/** The output of the turn's last step; undefined if none is asked for, or the turn ends without a reply. */
function turnOutput(
  { history }: SessionState,
  reason: TurnEndReason,
  output: OutputInterface | undefined,
): Promise<TurnOutput> | undefined {
  if (!isStructured(output) || !repliedReasons.has(reason)) return undefined;
  const { parts = [] } = history.open ?? {};
  const text = parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
  // A reply that was cut off before its first word, as `generateText` reads it.
  if (reason !== "stop" && text === "") return undefined;
  return parsedOutput(output, text).then(({ value, error }) =>
    error === undefined ? { value: toJson(value) } : { error },
  );
}

const repliedReasons: ReadonlySet<TurnEndReason> = new Set<TurnEndReason>([
  "stop",
  "length",
  "content-filter",
]);
