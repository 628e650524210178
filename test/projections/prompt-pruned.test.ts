/** A prompt of which results were pruned costs no more to make than another. */

import { expect, it } from "vitest";
import { PRUNED_PLACEHOLDER } from "../../src/projections/shown-item.ts";
import { promptMessages } from "../../src/projections/prompt.ts";
import { Session } from "../context/session.ts";

it("pruned messages are made once, and anew when more of their step is pruned", () => {
  const session = new Session();
  session.ask("Go.");
  session.work("one", "two");
  session.end();
  const prune = (callId: string): void => {
    session.record({
      type: "context.pruned",
      data: { calls: [{ step: 1, callId }], savedTokens: 1 },
    });
  };
  const prompt = (): ReturnType<typeof promptMessages> =>
    promptMessages(session.history, session.view);
  const whole = prompt();
  prune("c0");
  const once = prompt();
  expect(JSON.stringify(once)).toContain('"two"');
  expect(JSON.stringify(once)).not.toContain('"one"');
  for (const [index, message] of prompt().entries()) expect(message).toBe(once[index]);
  prune("c1");
  const both = JSON.stringify(prompt());
  expect(both.split(PRUNED_PLACEHOLDER)).toHaveLength(3);
  session.record({ type: "context.restored", data: { position: session.position } });
  expect(JSON.stringify(prompt())).toBe(JSON.stringify(once));
  session.record({ type: "context.restored", data: { position: session.position - 2 } });
  for (const [index, message] of prompt().entries()) expect(message).toBe(whole[index]);
});
