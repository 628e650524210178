/** Counting by bills: what a real tokenizer made of recorded messages, without having one. */

import { describe, expect, it } from "vitest";
import { billedTexts, replyText } from "./billed-texts.ts";
import { recordedScript, type ScriptedTurn } from "./recorded-script.ts";
import { longestSessions, sessionsAbsent, sessionsPresent } from "./session-corpus.ts";

describe("the tokens of recorded messages, as bills tell of them", () => {
  it("add up to the bill of every prompt that they were in", ({ skip }) => {
    skip(!sessionsPresent, sessionsAbsent);
    const sessions = longestSessions(10).filter(({ model }) => model === "deepseek-chat");
    expect(sessions.length).toBeGreaterThan(5);
    const errors = sessions.flatMap((session) => errorsOf(recordedScript(session)));
    expect(errors.length).toBeGreaterThan(1000);
    expect(Math.max(...errors)).toBeLessThan(0.02);
  });
});

/** How far the count of each prompt is from its bill; the first is where counting begins. */
function errorsOf(turns: readonly ScriptedTurn[]): readonly number[] {
  const { tokens } = billedTexts(turns);
  const errors: number[] = [];
  let counted = 0;
  for (const reply of turns.flatMap(({ replies }) => replies)) {
    const { usage, calls, steer } = reply;
    if (counted === 0) counted = usage?.input ?? 0;
    else if (usage !== undefined) errors.push(Math.abs(counted / usage.input - 1));
    const said = [replyText(reply), ...calls.map(({ output }) => output), steer ?? ""];
    counted += said.reduce((sum, text) => sum + (tokens.get(text) ?? 0), 0);
  }
  return errors;
}
