/** Keys that are pressed while nobody is asked. */
import { PassThrough } from "node:stream";
import type { ReadStream } from "node:tty";
import { describe, expect, it } from "vitest";
import { keyboard } from "../../src/cli/chat/keyboard.ts";

interface Keys {
  readonly type: (keys: string) => void;
  readonly held: ReturnType<typeof keyboard>;
  readonly modes: readonly boolean[];
  pressed: number;
}

function keys(): Keys {
  const modes: boolean[] = [];
  const input = Object.assign(new PassThrough(), {
    setRawMode: (mode: boolean) => modes.push(mode),
  }) as unknown as ReadStream & PassThrough;
  const found: Keys = {
    type: (typed) => input.emit("data", Buffer.from(typed)),
    held: keyboard(input, () => {
      found.pressed++;
    }),
    modes,
    pressed: 0,
  };
  return found;
}

describe("the keyboard while a turn runs", () => {
  it("keeps what is typed for the next question, corrected as it was typed", () => {
    const { type, held } = keys();
    held.hold();
    for (const key of ["h", "e", "y", "\u007F", "l", "lo", "\r", " wörld"]) type(key);
    expect(held.release()).toBe("hello wörld");
    held.hold();
    expect(held.release()).toBe("");
  });

  it("drops arrows and other keys that are no text", () => {
    const { type, held } = keys();
    held.hold();
    for (const key of ["a", "\u001B[A", "\u001B", "\t", "b"]) type(key);
    expect(held.release()).toBe("ab");
  });

  it("acts on Ctrl-C at once, and not when it is released", () => {
    const found = keys();
    found.held.hold();
    found.type("\u0003");
    expect(found.pressed).toBe(1);
    found.held.release();
    found.type("\u0003");
    expect(found.pressed).toBe(1);
    expect(found.modes).toEqual([true, false]);
  });
});
