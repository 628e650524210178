/**
 * What the panel shows of a session besides its state: the model that answers, how full its context is, and how
 * long the turn has run.
 */

import { TurnlogError } from "../../../events/index.ts";
import type { ContextFigures } from "../../../runtime/index.ts";
import type { ChatScreen } from "./chat-screen.ts";
import type { ChatSession } from "../host/chat-session.ts";
import { contextWarning } from "../../wording/context-words.ts";
import { figure, percent } from "../../wording/wording.ts";

const TICK_MS = 1000;

export class SessionFigures implements Disposable {
  readonly #screen: ChatScreen;
  readonly #redraw: () => void;
  #isOver = false;
  #context: ContextFigures | undefined;
  #busySince: number | undefined;
  #ticks: NodeJS.Timeout | undefined;

  constructor(screen: ChatScreen, redraw: () => void) {
    this.#screen = screen;
    this.#redraw = redraw;
  }

  get standing(): readonly string[] {
    if (this.#context === undefined) return [];
    const { model, room, tokens } = this.#context;
    const size = room === undefined ? `${figure(tokens)} tokens` : `${percent(room.used)} full`;
    return [model.modelId, size];
  }

  /** Milliseconds that the agent has been at work; undefined at rest. */
  get elapsed(): number | undefined {
    return this.#busySince === undefined ? undefined : performance.now() - this.#busySince;
  }

  /** Counts the time while the agent works. */
  follow(isIdle: boolean): void {
    if (isIdle === (this.#busySince === undefined)) return;
    clearInterval(this.#ticks);
    this.#busySince = isIdle ? undefined : performance.now();
    this.#ticks = isIdle ? undefined : setInterval(this.#redraw, TICK_MS);
  }

  /** Reads how full the context is. `warns`: in time, where only the person compacts the prompt. */
  async measure(session: ChatSession, warns: boolean): Promise<void> {
    const context = await session.context().catch((error: unknown) => {
      // A session that has failed or was closed reports that itself.
      if (TurnlogError.isInstance(error)) return undefined;
      throw error;
    });
    if (this.#isOver || context === undefined) return;
    this.#context = context;
    const warning = warns ? contextWarning(context) : undefined;
    if (warning !== undefined)
      await this.#screen.notes([`${warning} /compact shortens it.`], "yellow");
    if (!this.#isOver) this.#redraw();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearInterval(this.#ticks);
  }
}
