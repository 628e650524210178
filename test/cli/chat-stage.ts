/** A chat whose keyboard and screen are in memory: keys go in, rows of a screen come out. */
import { EventEmitter } from "node:events";
import { takeInterrupts } from "../../src/cli/chat/host/interrupts.ts";
import { chatStore, type ChatOptions } from "../../src/cli/chat/host/chat-session.ts";
import { Chat } from "../../src/cli/chat/chat.ts";
import type { ExitCode } from "../../src/cli/output/error-report.ts";
import type { Channel, Output } from "../../src/cli/output/output.ts";
import { createRuntime, type Runtime, type Session } from "../../src/runtime/index.ts";
import type { Agent } from "../../src/agent/index.ts";
import { emulatedScreen } from "./emulated-screen.ts";
import { heldKeyboard } from "./held-keyboard.ts";

export interface ChatStage extends AsyncDisposable {
  readonly session: Session;
  readonly runtime: Runtime;
  /** Presses keys, as a terminal sends them. */
  type(keys: string): void;
  /** Ctrl-C; each comes long after the last one. */
  interrupt(): void;
  /** Resolves when the rows on the screen match. */
  until(pattern: RegExp): Promise<void>;
  screen(): string;
  /** What rang the bell or was notified. */
  readonly rings: readonly string[];
  /** Exit codes with which the chat has left on its own. */
  readonly left: readonly ExitCode[];
  readonly ended: Promise<void>;
  /** The session in which the chat was when it ended. */
  readonly endedIn: Promise<Pick<Session, "id">>;
}

/**
 * Opens a chat about a session of this agent, on a screen of so many columns.
 * @param stdout - Where stdout goes, if it is not the screen.
 */
export async function chatStage(
  agent: Agent,
  columns = 80,
  stdout?: Channel,
  more: Partial<ChatOptions> = {},
): Promise<ChatStage> {
  const runtime = await createRuntime({
    memory: true,
    graceMs: 0,
    testing: { random: () => 0 },
    agent,
  });
  const session = await runtime.session("one");
  const screen = emulatedScreen(columns);
  const written = new EventEmitter();
  const channel = {
    isTerminal: true,
    isPipe: false,
    columns,
    rows: 40,
    style: (_style: unknown, text: string) => text,
    async write(text: string) {
      await screen.write(text);
      written.emit("written");
    },
  };
  const output: Output = { data: stdout ?? channel, progress: channel };
  const left: ExitCode[] = [];
  let time = 0;
  const interrupts = takeInterrupts({
    signals: new EventEmitter(),
    close: () => runtime.close(),
    leave: (code) => left.push(code),
    now: () => (time += 1000),
  });
  const view = await session.view();
  const store = chatStore(runtime);
  const chat = new Chat({ session, store, view, output, interrupts, debug: false, ...more });
  const keyboard = heldKeyboard((key) => chat.press(key));
  const running = interrupts.during(
    () => chat.interrupt(),
    () => chat.run(),
  );
  const ended = running.then(() => {});
  const shown = (): string => screen.rows().join("\n");
  return {
    session,
    runtime,
    left,
    ended,
    endedIn: running,
    screen: shown,
    rings: screen.rings,
    interrupt: () => interrupts.press(),
    type: (keys) => keyboard.type(keys),
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!pattern.test(shown())) return;
          written.off("written", look);
          resolve();
        };
        written.on("written", look);
        ended.then(() => reject(new Error(`It ended before ${pattern} came:\n${shown()}`)), reject);
        look();
      }),
    async [Symbol.asyncDispose]() {
      keyboard[Symbol.dispose]();
      interrupts[Symbol.dispose]();
      await runtime.close();
    },
  };
}
