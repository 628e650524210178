/** Keys: what a terminal sends, in whatever pieces it comes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Key } from "../../src/cli/terminal/keyboard.ts";
import { heldKeyboard } from "./held-keyboard.ts";

const ESC = "\u001B";

/** The keys of an input that comes in pieces, typed text put together. */
function read(pieces: readonly (string | Buffer)[]): readonly Key[] {
  const keys: Key[] = [];
  using keyboard = heldKeyboard((key) => {
    const last = keys.at(-1);
    if (key.kind === "text" && last?.kind === "text") {
      keys.splice(-1, 1, { kind: "text", text: last.text + key.text });
    } else keys.push(key);
  });
  for (const piece of pieces) keyboard.type(piece);
  return keys;
}

describe("keys", () => {
  it.each([
    ["\r", "enter"],
    ["\t", "tab"],
    ["\u0003", "ctrl-c"],
    ["\u0004", "ctrl-d"],
    ["\u0007", "ctrl-g"],
    ["\f", "ctrl-l"],
    ["\u0012", "ctrl-r"],
    ["\u001A", "ctrl-z"],
    ["\u007F", "backspace"],
    ["\b", "backspace"],
    [`${ESC}[A`, "up"],
    ["\u0010", "up"],
    [`${ESC}OB`, "down"],
    ["\u000E", "down"],
    [`${ESC}[D`, "left"],
    ["\u0002", "left"],
    [`${ESC}OC`, "right"],
    ["\u0006", "right"],
    [`${ESC}[3~`, "delete"],
    [`${ESC}[1;5D`, "word-left"],
    [`${ESC}[1;3D`, "word-left"],
    [`${ESC}b`, "word-left"],
    [`${ESC}[1;5C`, "word-right"],
    [`${ESC}f`, "word-right"],
    [`${ESC}[H`, "home"],
    [`${ESC}[7~`, "home"],
    ["\u0001", "home"],
    [`${ESC}OF`, "end"],
    ["\u0005", "end"],
    ["\u000B", "erase-after"],
    ["\u0015", "erase-before"],
    ["\u0017", "erase-word"],
    [`${ESC}\u007F`, "erase-word"],
  ])("reads %j as %s", (input, name) => {
    expect(read([input])).toEqual([{ kind: "press", name }]);
  });

  it("passes over keys that mean nothing here, and keeps what is typed around them", () => {
    expect(read([`a${ESC}[5~${ESC}[15~\u0000B${ESC}[1;2P 👩‍👩‍👧${ESC}[Z${ESC}xé`])).toEqual([
      { kind: "text", text: "aB 👩‍👩‍👧é" },
    ]);
  });

  it("takes a paste as text, line ends and all, and nothing in it as a key", () => {
    const pasted = `${ESC}[200~one\r\ntwo\rthree\u0003${ESC}[A${ESC}[201~\r`;
    expect(read([pasted])).toEqual([
      { kind: "text", text: "one\ntwo\nthree[A" },
      { kind: "press", name: "enter" },
    ]);
  });

  it.each([`${ESC}[3`, `${ESC}O`, ESC])("finds the end of a paste that ends in %j", (cutOff) => {
    expect(read([`${ESC}[200~one~ ${cutOff}${ESC}[201~\r`])).toEqual([
      { kind: "text", text: `one~ ${cutOff.slice(1)}` },
      { kind: "press", name: "enter" },
    ]);
  });

  it.each([
    ["Alt-Enter", `${ESC}\r`],
    ["Ctrl-J", "\n"],
    ["Shift-Enter of kitty", `${ESC}[13;2u`],
    ["Shift-Enter of xterm", `${ESC}[27;2;13~`],
  ])("takes %s as a line end in the text", (_key, input) => {
    expect(read([`one${input}two`])).toEqual([{ kind: "text", text: "one\ntwo" }]);
  });

  it("reads the same however the input is cut into pieces", () => {
    const part = fc
      .constantFrom("a", "wörld", "\r", `${ESC}[D`, `${ESC}[3~`, `${ESC}Oc`, "\t", `${ESC}\r`)
      .chain((text) => fc.constantFrom(text, `${ESC}[200~x\n${text}y${ESC}[201~`));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), fc.array(fc.nat(80)), (parts, cuts) => {
        const whole = Buffer.from(parts.join(""));
        const at = [0, ...cuts.filter((cut) => cut < whole.length), whole.length];
        const sorted = at.toSorted((a, b) => a - b);
        const pieces = sorted.slice(1).map((end, index) => whole.subarray(sorted[index], end));
        expect(read(pieces)).toEqual(read([whole]));
      }),
    );
  });
});

describe("a keyboard that is held", () => {
  it("hands over what comes at once as one text", () => {
    const keys: Key[] = [];
    using keyboard = heldKeyboard((key) => keys.push(key));
    keyboard.type("one two");
    expect(keys).toEqual([{ kind: "text", text: "one two" }]);
  });

  it("takes an escape for the key itself when no sequence follows, and each of two", async () => {
    const keys: Key[] = [];
    using keyboard = heldKeyboard((key) => keys.push(key));
    keyboard.type(ESC);
    keyboard.type("[D");
    expect(keys).toEqual([{ kind: "press", name: "left" }]);
    const escape = { kind: "press", name: "escape" };
    keyboard.type(ESC);
    await expect.poll(() => keys.slice(1)).toEqual([escape]);
    keyboard.type(`${ESC}${ESC}`);
    await expect.poll(() => keys.slice(2)).toEqual([escape, escape]);
  });

  it("leaves the terminal as it was", () => {
    const before = process.listenerCount("exit");
    const keyboard = heldKeyboard(() => {});
    keyboard[Symbol.dispose]();
    expect(keyboard.modes).toEqual([true, false]);
    expect(keyboard.told).toEqual([`${ESC}[?2004h`, `${ESC}[?2004l`]);
    expect(keyboard.input.eventNames()).toEqual([]);
    expect(process.listenerCount("exit")).toBe(before);
  });
});
