/** Answers that go on are asked about until they end, and no longer. */

import { expect, it } from "vitest";
import { OpenAnswers } from "../../src/server/streams/open-answers.ts";

it("asks no more about an answer that has ended, though its client never reads that", async () => {
  const answers = new OpenAnswers();
  let asked = 0;
  const mayStay = async (): Promise<boolean> => ++asked < 2;
  const { ends } = answers.admit({ actor: "ann" }, mayStay);
  await answers.revoke({});
  expect(ends.aborted).toBe(false);
  for (let time = 0; time < 3; time++) await answers.revoke({ actor: "ann" });
  expect(ends.reason).toBe("the permission for it has ended");
  expect(asked).toBe(2);
});

it("asks about the answers of one tenant, and of one actor of it", async () => {
  const answers = new OpenAnswers();
  const asked: string[] = [];
  for (const [tenant, actor] of [
    ["acme", "ann"],
    ["acme", "bob"],
    ["other", "ann"],
  ] as const)
    answers.admit({ tenant, actor }, async () => asked.push(`${tenant} ${actor}`) > 0);
  await answers.revoke({ tenant: "acme" });
  await answers.revoke({ tenant: "acme", actor: "bob" });
  expect(asked).toEqual(["acme ann", "acme bob", "acme bob"]);
  answers.close("over");
});
