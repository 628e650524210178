/** Sentences of ours that follow what somebody else has said. */

import { expect, it } from "vitest";
import { scriptedModel } from "../../src/models/index.ts";
import { openSession } from "../support/with-runtime.ts";

it.each([
  ["No such model", "No such model. What came before"],
  ["It is over.", "It is over. What came before"],
  ['They said "no!"', 'They said "no!" What came before'],
  ["see https://a.invalid/x?", "see https://a.invalid/x? What came before"],
  ["", "failed: The error has no message (Error). What came before"],
  ["two lines\n", "two lines. What came before"],
])("a turn that failed of %j says it as a sentence of its own", async (cause, said) => {
  const model = scriptedModel([{ failure: new Error(cause) }]);
  await using open = await openSession({ model });
  const turn = await open.session.send("Go.");
  const failure: unknown = await turn.result.catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "TURN_FAILED" });
  expect(String(failure)).toContain(said);
});
