/** How a turn is shown: as text on a terminal or in a pipe, or as its events, one JSON value a line. */

import type { SessionEvent } from "../../events/index.ts";
import type { Answer } from "./chat-line.ts";
import type { OpenCall } from "./conversation-state.ts";
import { writeLine, type Output, jsonText } from "../output/index.ts";
import { TurnScreen } from "./turn-screen.ts";

export interface TurnView {
  show(event: SessionEvent): Promise<void>;
  /** Told when Ctrl-C has asked for the end of the turn. */
  cancelling(): Promise<void>;
  /** Asks whether a call may run, until the signal takes the question back; absent where nobody is there. */
  approve?(callId: string, signal: AbortSignal): Promise<Asked>;
}

/** What was answered, or that the person wants out (Ctrl-C, Ctrl-D). */
export type Asked =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "left" };

/** Asks whether a call may run. */
export type AskApproval = (
  question: {
    /** In words. */
    readonly call: string;
    readonly toolName: string;
  },
  signal: AbortSignal,
) => Promise<Asked>;

const CANCELLING = "Cancelling. Ctrl-C again leaves at once.";

/** @param open - Calls of a step that began before. */
export function textView(
  output: Output,
  ask: AskApproval | undefined,
  open: readonly OpenCall[] = [],
): TurnView {
  const screen = new TurnScreen(output, { open });
  return {
    show: (event) => screen.show(event),
    cancelling: () => screen.note(CANCELLING),
    ...(ask !== undefined && {
      async approve(callId: string, signal: AbortSignal) {
        await screen.rest();
        // The question is drawn by somebody else: it waits its turn here.
        await output.progress.write("");
        return await ask(screen.describeCall(callId), signal);
      },
    }),
  };
}

/** Nothing but events of the session on stdout: for programs, which cannot be asked. */
export function jsonView({ data, progress }: Output, session: string): TurnView {
  return {
    show: (event) => writeLine(data, jsonText({ session, ...event })),
    cancelling: () => writeLine(progress, CANCELLING),
  };
}
