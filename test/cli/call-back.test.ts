/** The terminal calls back a person who has been away from a long turn. */
import { tool } from "ai";
import { afterEach, expect, it, vi } from "vitest";
import { z } from "zod";
import { readEnvironment } from "../../src/cli/settings/environment.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { chatStage } from "./chat-stage.ts";

const ENTER = "\r";
const BELL = "\u0007";
const ask = tool({
  inputSchema: z.object({}),
  // oxlint-disable-next-line typescript/no-deprecated
  needsApproval: true,
  execute: () => "asked",
});
const call = { type: "tool-call", toolCallId: "c1", toolName: "ask", input: {} } as const;

let later = 0;
function wait(milliseconds: number): void {
  later += milliseconds;
}
const now = performance.now.bind(performance);
vi.spyOn(performance, "now").mockImplementation(() => now() + later);
afterEach(() => {
  later = 0;
});

it.each([
  ["bell", [BELL, BELL]],
  ["osc-9", [`\u001B]9;turnlog: one asks${BELL}`, `\u001B]9;turnlog: one is done${BELL}`]],
  [undefined, []],
] as const)("when it asks and when it ends: %s", async (notice, rings) => {
  const gates = [gate(), gate()] as const;
  const model = scriptedModel([
    { parts: [{ type: "text", deltas: ["One ", gates[0]] }, call] },
    { parts: [{ type: "text", deltas: ["Two ", gates[1]] }] },
  ]);
  const more = notice === undefined ? {} : { notice };
  await using chat = await chatStage({ model, tools: { ask } }, 80, undefined, more);
  chat.type(`go${ENTER}`);
  await chat.until(/^One/m);
  wait(11_000);
  gates[0].open();
  await chat.until(/^\? Run ask/m);
  chat.type(`y${ENTER}`);
  await chat.until(/^Two/m);
  wait(11_000);
  gates[1].open();
  await chat.until(/^tokens: [^]*^Ask about/m);
  expect(chat.rings).toEqual(rings);
});

it("not after a short turn, and not while somebody types", async () => {
  const held = gate();
  const parts = [{ type: "text", deltas: ["Two ", held] }] as const;
  const model = scriptedModel(["One.", { parts }]);
  await using chat = await chatStage({ model }, 80, undefined, { notice: "bell" });
  wait(11_000);
  chat.type(`go${ENTER}`);
  await chat.until(/^One\.[^]*^tokens: [^]*^Ask about/m);
  chat.type(`go on${ENTER}`);
  await chat.until(/^Two/m);
  wait(11_000);
  chat.type("next");
  held.open();
  await chat.until(/^Two[^]*^tokens: [^]*^Ask about/m);
  expect(chat.rings).toEqual([]);
});

it.each([
  [{ TERM_PROGRAM: "iTerm.app", TERM: "xterm-256color" }, true],
  [{ TERM: "xterm-kitty" }, true],
  [{ TERM_PROGRAM: "tmux", TERM: "xterm-kitty" }, false],
  [{ TERM: "xterm-256color" }, false],
  [{}, false],
])("by a notification only where the terminal is known to show it: %j", (variables, shown) => {
  expect(readEnvironment(variables).showsNotices).toBe(shown);
});
