/** Answers whatever a session asks approval or an output for, so that its turns come to their end. */

import { TurnlogError, type Session } from "../../src/public/index.ts";
import { idOfQuestion } from "./answering.ts";

export interface Clerk extends AsyncDisposable {
  /** Resolves when the session is idle; rejects when an answer failed. */
  idle(): Promise<void>;
}

export function clerk(session: Session, approves: (callId: string) => boolean = () => true): Clerk {
  const stop = new AbortController();
  const failed = Promise.withResolvers<never>();
  const work = (async () => {
    for await (const event of session.events({ signal: stop.signal })) {
      if (event.type === "tool.output-requested") {
        const { outputRequests } = await session.view();
        const asked = outputRequests.find(({ position }) => position === event.position);
        const { requestId = "" } = asked ?? {};
        await session.answerCall(requestId, { output: "answered" }).catch(unlessRefused);
      }
      if (event.type !== "tool.approval-requested") continue;
      const approvalId = await idOfQuestion(session, event.position);
      const isAllowed = approves(event.data.callId);
      const answered = isAllowed ? session.approve(approvalId) : session.deny(approvalId);
      // Calls of the past are answered or skipped already.
      await answered.catch(unlessRefused);
    }
  })();
  work.catch(failed.reject);
  failed.promise.catch(() => undefined);
  return {
    idle: () => Promise.race([session.idle(), failed.promise]),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await work;
    },
  };
}

function unlessRefused(error: unknown): void {
  if (!TurnlogError.isInstance(error)) throw error;
  const inOrder = ["COMMAND_REFUSED", "APPROVAL_ANSWERED", "CALL_ANSWERED"];
  if (!inOrder.includes(error.code)) throw error;
}
