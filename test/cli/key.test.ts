/** Keys: what a terminal sends, in whatever pieces it comes. */
import { EventEmitter } from "node:events";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { endKeys, noKeys, readKeys, type Key } from "../../src/cli/terminal/key.ts";
import { openKeyboard } from "../../src/cli/terminal/keyboard.ts";

const ESC = "\u001B";

/** The keys of an input that comes in pieces, typed text put together. */
function read(pieces: readonly string[]): readonly Key[] {
  let reader = noKeys;
  const keys: Key[] = [];
  for (const piece of pieces) {
    const result = readKeys(reader, piece);
    reader = result.reader;
    for (const key of result.keys) {
      const last = keys.at(-1);
      if (key.kind === "text" && last?.kind === "text") {
        keys.splice(-1, 1, { kind: "text", text: last.text + key.text });
      } else keys.push(key);
    }
  }
  return [...keys, ...endKeys(reader).keys];
}

describe("keys", () => {
  it.each([
    ["\r", "enter"],
    ["\t", "tab"],
    ["\u0003", "ctrl-c"],
    ["\u0004", "ctrl-d"],
    ["\f", "ctrl-l"],
    ["\u001A", "ctrl-z"],
    ["\u007F", "backspace"],
    [ESC, "escape"],
    [`${ESC}[A`, "up"],
    [`${ESC}OB`, "down"],
    [`${ESC}[D`, "left"],
    [`${ESC}OC`, "right"],
    [`${ESC}[3~`, "delete"],
    [`${ESC}[1;5D`, "word-left"],
    [`${ESC}f`, "word-right"],
    [`${ESC}[H`, "home"],
    ["\u0005", "end"],
    ["\u0015", "erase-before"],
    [`${ESC}\u007F`, "erase-word"],
  ])("reads %j as %s", (input, name) => {
    expect(read([input])).toEqual([{ kind: "press", name }]);
  });

  it("passes over keys that mean nothing here, and keeps what is typed around them", () => {
    expect(read([`a${ESC}[5~${ESC}[15~\u0000b${ESC}[1;2Pc`])).toEqual([
      { kind: "text", text: "abc" },
    ]);
  });

  it("takes a paste as text, line ends and all, and nothing in it as a key", () => {
    const pasted = `${ESC}[200~one\r\ntwo\rthree\u0003${ESC}[A${ESC}[201~\r`;
    expect(read([pasted])).toEqual([
      { kind: "text", text: "one\ntwo\nthree[A" },
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
        const whole = parts.join("");
        const at = [0, ...cuts.filter((cut) => cut < whole.length), whole.length];
        const sorted = at.toSorted((a, b) => a - b);
        const pieces = sorted.slice(1).map((end, index) => whole.slice(sorted[index], end));
        expect(read(pieces)).toEqual(read([whole]));
      }),
    );
  });
});

describe("a keyboard that is held", () => {
  function held() {
    const modes: boolean[] = [];
    const emitter = new EventEmitter();
    const input = Object.assign(emitter, {
      setRawMode: (mode: boolean) => (modes.push(mode), input),
      resume: () => input,
      pause: () => input,
    }) as unknown as Parameters<typeof openKeyboard>[0]["input"];
    const keys: Key[] = [];
    const told: string[] = [];
    const keyboard = openKeyboard({
      input,
      onKey: (key) => keys.push(key),
      write: (sequence) => told.push(sequence),
    });
    return { emitter, modes, keys, told, keyboard };
  }

  it("puts characters together whose bytes come apart", () => {
    const { emitter, keys, keyboard } = held();
    const bytes = Buffer.from("é");
    emitter.emit("data", bytes.subarray(0, 1));
    emitter.emit("data", bytes.subarray(1));
    expect(keys).toEqual([{ kind: "text", text: "é" }]);
    keyboard[Symbol.dispose]();
  });

  it("waits a moment before it takes an escape for the key itself", () => {
    vi.useFakeTimers();
    try {
      const { emitter, keys, keyboard } = held();
      emitter.emit("data", ESC);
      emitter.emit("data", "[D");
      expect(keys).toEqual([{ kind: "press", name: "left" }]);
      emitter.emit("data", ESC);
      expect(keys).toHaveLength(1);
      vi.runAllTimers();
      expect(keys.at(-1)).toEqual({ kind: "press", name: "escape" });
      keyboard[Symbol.dispose]();
    } finally {
      vi.useRealTimers();
    }
  });

  it("leaves the terminal as it was", () => {
    const before = process.listenerCount("exit");
    const { emitter, modes, told, keyboard } = held();
    keyboard[Symbol.dispose]();
    expect(modes).toEqual([true, false]);
    expect(told).toEqual([`${ESC}[?2004h`, `${ESC}[?2004l`]);
    expect(emitter.eventNames()).toEqual([]);
    expect(process.listenerCount("exit")).toBe(before);
  });
});
