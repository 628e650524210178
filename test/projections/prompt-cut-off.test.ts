/** What a step that was cut off leaves in the prompt: what a provider accepts again. */

import { describe, expect, it } from "vitest";
import type { EventBody, ProviderMetadata } from "../../src/events/index.ts";
import { CUT_OFF_NOTE } from "../../src/projections/prompt.ts";
import {
  asked,
  called,
  promptOf,
  said,
  spent,
  stepFinished,
  stepStarted,
  turnEnded,
} from "./session-of.ts";

const signed: ProviderMetadata = { anthropic: { signature: "s1gn3d" } };

describe("a step that was cut off", () => {
  const interrupted: EventBody = {
    type: "step.interrupted",
    data: { step: 1, reason: "recovered", usage: spent },
  };
  const opened = (kind: "text" | "reasoning", id: string): readonly EventBody[] => [
    { type: `part.${kind}-start`, data: { id, providerMetadata: signed } },
    { type: `part.${kind}-delta`, data: { id, text: `${kind} ` } },
  ];
  const cutOff = (...parts: readonly EventBody[]) =>
    promptOf(
      ...asked("Go."),
      stepStarted(1),
      ...parts,
      interrupted,
      turnEnded(),
      ...asked("Go on.", 2),
    );

  it("keeps the text that had come, without the metadata of a block that was never complete", () => {
    expect(cutOff(...opened("text", "t"))).toEqual([
      { role: "user", content: "Go." },
      { role: "assistant", content: [{ type: "text", text: "text " }] },
      { role: "user", content: "Go on." },
    ]);
  });

  it("drops reasoning that nothing finished follows, and keeps reasoning that something does", () => {
    const closed: readonly EventBody[] = [
      ...opened("reasoning", "r"),
      { type: "part.reasoning-end", data: { id: "r", providerMetadata: signed } },
    ];
    expect(cutOff(...closed)).toHaveLength(2);
    expect(JSON.stringify(cutOff(...closed, ...opened("text", "t")))).not.toContain("reasoning");
    expect(JSON.stringify(cutOff(...closed, ...said("So.")))).toContain('"type":"reasoning"');
    expect(JSON.stringify(cutOff(...closed, called("1")))).toContain('"type":"reasoning"');
  });

  it("drops a call of the provider's own that has no result, and keeps one that has", () => {
    const search = { toolCallId: "p", toolName: "search", providerExecuted: true };
    const call: EventBody = { type: "part.tool-call", data: { ...search, input: {} } };
    const result: EventBody = { type: "part.tool-result", data: { ...search, output: "hits" } };
    expect(JSON.stringify(cutOff(...said("So."), call))).not.toContain("search");
    expect(JSON.stringify(cutOff(...said("So."), call, result))).toContain("search");
  });

  it("leaves no message when it had said nothing", () => {
    expect(cutOff({ type: "part.text-start", data: { id: "t" } })).toHaveLength(2);
  });

  it("is of no concern once a later one has finished", () => {
    const cut = [...asked("Go."), stepStarted(1), ...opened("text", "t"), interrupted];
    const whole = [stepStarted(2), ...said("Done."), stepFinished(2)];
    const last = (...bodies: readonly EventBody[]): unknown => promptOf(...bodies).at(-1)?.role;
    expect(last(...cut, turnEnded())).toBe("user");
    expect(last(...cut, turnEnded(), ...asked("Again.", 2), ...whole, turnEnded(2))).toBe(
      "assistant",
    );
  });

  it("is asked to go on when the same turn continues: a prompt never ends with the model's own words", () => {
    const prompt = promptOf(...asked("Go."), stepStarted(1), ...opened("text", "t"), interrupted);
    expect(prompt.at(-1)).toEqual({ role: "user", content: CUT_OFF_NOTE });
    expect(prompt).toHaveLength(3);
    const next = [stepStarted(2), ...said("on.")];
    const later = promptOf(
      ...asked("Go."),
      stepStarted(1),
      ...opened("text", "t"),
      interrupted,
      ...next,
      stepFinished(2),
    );
    expect(later.slice(0, 3)).toEqual(prompt);
    expect(later.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  });
});
