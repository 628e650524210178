/**
 * A scripted model that says nothing until it is told to, part by part: at any moment it either
 * waits for a word or is saying the last one. Built on gates: the script grows while it is played.
 */

import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import {
  gate,
  scriptedModel,
  type ScriptedModel,
  type ScriptedPart,
  type ScriptedStep,
} from "../../src/models/index.ts";

type Ending = "stop" | "tool-calls" | "length" | "content-filter";

/** A call of the model that has not ended. */
interface Call {
  readonly parts: ScriptedPart[];
  finishReason: Ending;
  hold: ReturnType<typeof gate>;
  begun: boolean;
  readonly begin: PromiseWithResolvers<ScriptedStep>;
}

/** What the model plays: how it ends is decided while it plays. */
function stepOf(call: Call): ScriptedStep {
  const { parts } = call;
  return {
    parts,
    get finishReason() {
      return call.finishReason;
    },
  };
}

export interface ConductedModel {
  readonly model: ScriptedModel;
  /** It has been called and waits to be told what to say. */
  readonly waits: boolean;
  /** Says one thing more. */
  say(part: ScriptedPart): void;
  /** Ends the call. */
  end(reason: Ending): void;
  /** The call fails: is refused where nothing was said yet, else breaks off or reports an error. */
  fail(error: Error, how: "break" | "error"): void;
}

export function conductedModel(
  onCall: (options: LanguageModelV4CallOptions) => void,
): ConductedModel {
  let call: Call | undefined;
  let waits = false;

  function wait(): ReturnType<typeof gate> {
    const hold = gate();
    const of = call;
    void hold.reached.then(() => {
      if (call === of) waits = true;
    });
    return hold;
  }

  /** Plays on: what is said now, then a wait for the next word, unless it was the last. */
  function play(said: readonly ScriptedPart[], last: boolean): void {
    if (call === undefined || !waits) throw new Error("The model does not wait for a word.");
    waits = false;
    const { parts, hold, begin, begun } = call;
    parts.push(...said);
    if (!last) parts.push((call.hold = wait()));
    call.begun = true;
    if (begun) hold.open();
    else begin.resolve(stepOf(call));
    if (last) call = undefined;
  }

  return {
    model: scriptedModel((options) => {
      onCall(options);
      const begin = Promise.withResolvers<ScriptedStep>();
      const made: Call = { parts: [], finishReason: "stop", hold: gate(), begun: false, begin };
      call = made;
      waits = true;
      options.abortSignal?.addEventListener("abort", () => {
        if (call === made) call = undefined;
        begin.reject(options.abortSignal?.reason);
      });
      return begin.promise;
    }),
    get waits() {
      return call !== undefined && waits;
    },
    say: (part) => play([part], false),
    end(reason) {
      if (call !== undefined) call.finishReason = reason;
      // A model that stops and says nothing is asked once more, which the chart shows as a failed attempt.
      const spoke =
        call?.parts.some(({ type }) => type === "text" || type === "tool-call") === true;
      play(spoke ? [] : [{ type: "text", deltas: ["Done."] }], true);
    },
    fail(error, how) {
      if (call === undefined || call.begun) return play([{ type: how, error }], true);
      call.begin.resolve({ failure: error });
      call = undefined;
    },
  };
}
