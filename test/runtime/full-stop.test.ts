/** Sentences of ours that follow what somebody else has said. */

import { expect, it } from "vitest";
import { scriptedModel } from "../../src/models/index.ts";
import { openSession } from "../support/with-runtime.ts";

it.each([
  ["No such model", "No such model. Everything before it"],
  ["It is over.", "It is over. Everything before it"],
  ['They said "no!"', 'They said "no!" Everything before it'],
  ["see https://a.invalid/x?", "see https://a.invalid/x? Everything before it"],
  ["", "failed: The error has no message (Error). Everything before it"],
  ["two lines\n", "two lines. Everything before it"],
])("a turn that failed of %j says it as a sentence of its own", async (cause, said) => {
  const model = scriptedModel([{ failure: new Error(cause) }]);
  await using open = await openSession({ model });
  const turn = await open.session.send("Go.");
  const failure: unknown = await turn.result.catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "TURN_FAILED" });
  expect(String(failure)).toContain(said);
});
