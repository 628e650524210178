/** Shows a turn as text on a terminal or in a pipe, or as its events, one JSON value a line. */

import type { SessionEvent } from "../../../events/index.ts";
import type { Answer } from "../line/chat-line.ts";
import { redrawn } from "./live-output.ts";
import type { OpenCall } from "./conversation-state.ts";
import { writeLine, type Output } from "../../output/output.ts";
import { jsonText } from "../../output/visible-text.ts";
import { TurnScreen } from "./turn-screen.ts";

export interface TurnView {
  show(event: SessionEvent): Promise<void>;
  /** Called when Ctrl-C has cancelled the turn. */
  cancelling(): Promise<void>;
  /** Asks whether a call may run, until the signal aborts. Absent if nobody can answer. */
  approve?(callId: string, signal: AbortSignal): Promise<Asked>;
}

/** The answer, or that the person leaves with Ctrl-C or Ctrl-D. */
export type Asked =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "left" };

export type AskApproval = (call: string, signal: AbortSignal) => Promise<Asked>;

const CANCELLING = "Cancelling. Ctrl-C again leaves at once.";

/** @param open - Calls of a step that began before this view. */
export function textView(
  output: Output,
  ask: AskApproval | undefined,
  open: readonly OpenCall[] = [],
): TurnView {
  const screen = new TurnScreen(redrawn(output), { open });
  return {
    show: (event) => screen.show(event),
    cancelling: () => screen.note(CANCELLING),
    ...(ask !== undefined && {
      async approve(callId: string, signal: AbortSignal) {
        await screen.endLine();
        // The question bypasses this channel: wait until earlier text is out.
        await output.progress.write("");
        return await ask(screen.describeCall(callId), signal);
      },
    }),
  };
}

/** Only events of the session on stdout. It asks nothing: programs read JSON. */
export function jsonView({ data, progress }: Output, session: string): TurnView {
  return {
    show: (event) => writeLine(data, jsonText({ session, ...event })),
    cancelling: () => writeLine(progress, CANCELLING),
  };
}
