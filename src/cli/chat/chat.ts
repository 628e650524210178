/** A chat: turns keys into commands to a session, and the session's events into the screen. */

import type { CancelMode, Delivery, SessionEvent } from "../../events/index.ts";
import type { ChatSession } from "./chat-session.ts";
import type { SessionView } from "../../state/index.ts";
import type { Output } from "../output/index.ts";
import { contextWarning } from "../wording/index.ts";
import {
  draftText,
  edit,
  emptyDraft,
  InputHistory,
  type Draft,
  type Key,
} from "../terminal/index.ts";
import { cancelSentences, nextCancel } from "./cancel-words.ts";
import { helpLines } from "./chat-help.ts";
import { readLine, type ChatLine } from "./chat-line.ts";
import { carryOut } from "./slash-commands.ts";
import { ChatScreen } from "./chat-screen.ts";
import { conversationOf, questionsOf } from "./conversation-state.ts";
import type { Interrupts } from "./interrupts.ts";
import { isShownByEvents, isWrongCommand, type Moved } from "./command-outcome.ts";
import { earlierInputs } from "./resumed-session.ts";

export interface ChatOptions {
  /** The first session; `/fork` and `/undo` switch to another one. */
  readonly session: ChatSession;
  readonly view: SessionView;
  readonly output: Output;
  readonly interrupts: Interrupts;
  /** Text to put into the line at the start. */
  readonly draft?: string;
  /** Whether to print the stacks of errors. */
  readonly debug: boolean;
}

export class Chat {
  readonly #options: ChatOptions;
  readonly #screen: ChatScreen;
  readonly #left: PromiseWithResolvers<void> = Promise.withResolvers();
  #session: ChatSession;
  #unfollow: () => Promise<void> = async () => {};
  /** Settles when the last message is accepted: a fork waits for it, so that it includes the message. */
  #sent: Promise<void> = Promise.resolve();
  /** Settles when the last `/fork` or `/undo` is done: lines typed meanwhile go to the new session. */
  #moved: Promise<void> = Promise.resolve();
  #draft: Draft;
  readonly #inputHistory: InputHistory;
  #hint: string | undefined;
  /** The mode of the last cancel, whose event may not have arrived. */
  #cancel: CancelMode | undefined;
  /** Whether the person has left: the chat then writes nothing. */
  #isOver = false;
  /** Called when the screen has shown the end of the turn. */
  #shown: (() => void)[] = [];

  constructor(options: ChatOptions) {
    const { output, debug, view } = options;
    this.#options = options;
    this.#session = options.session;
    this.#inputHistory = new InputHistory(earlierInputs(view));
    this.#draft = edit(emptyDraft, { kind: "text", text: options.draft ?? "" });
    this.#screen = new ChatScreen({ output, debug, state: conversationOf(view) });
  }

  /** Runs until the person leaves or a signal ends the process. @returns the session at the end */
  async run(): Promise<ChatSession> {
    const { view, interrupts } = this.#options;
    const over = new AbortController();
    interrupts.ending.addEventListener("abort", () => this.#left.resolve(), {
      signal: over.signal,
    });
    await this.#screen.begin();
    this.redraw();
    // A failed log ends the session but not its event stream.
    if (!this.#isIdle) this.#watch(this.#session.idle());
    this.#follow(view.position);
    try {
      await this.#left.promise;
    } finally {
      this.#isOver = true;
      over.abort();
      await this.#unfollow();
      await this.#screen.close();
    }
    return this.#session;
  }

  #follow(position: number): void {
    const following = new AbortController();
    const signal = AbortSignal.any([following.signal, this.#options.interrupts.ending]);
    const events = this.#session.events({ from: position + 1, signal });
    const showing = (async (): Promise<void> => {
      for await (const event of events) await this.#show(event);
    })();
    showing.catch((error: unknown) => this.#left.reject(error));
    this.#unfollow = async () => {
      following.abort();
      await showing.catch(() => {});
    };
  }

  /** Switches to another session, which is at rest. */
  async #switchTo({ session, view, lines }: Moved): Promise<void> {
    await this.#unfollow();
    this.#session = session;
    this.#screen.switchTo(conversationOf(view));
    this.#cancel = undefined;
    await this.#screen.notes(lines);
    if (!this.#isOver) this.#follow(view.position);
  }

  press(key: Key): void {
    this.#hint = undefined;
    if (key.kind === "press" && this.#isCommandKey(key.name)) return;
    this.#draft = edit(this.#draft, key);
    this.redraw();
  }

  /** Ctrl-C: cancels a running turn; at rest, clears the line; on an empty line, leaves. */
  interrupt(): "taken" | "leave" {
    this.#hint = undefined;
    if (!this.#isIdle) return this.#cancelNext() ? "taken" : "leave";
    if (draftText(this.#draft) === "") this.#left.resolve();
    this.#draft = emptyDraft;
    this.redraw();
    return "taken";
  }

  redraw(): void {
    this.#background(() => this.#screen.draw(this.#draft, this.#hint));
  }

  get #isIdle(): boolean {
    return this.#screen.state.activity === "idle";
  }

  /** Handles keys that do more than edit the line; false for all other keys. */
  #isCommandKey(name: Extract<Key, { readonly kind: "press" }>["name"]): boolean {
    switch (name) {
      case "enter":
        this.#enter("follow-up");
        return true;
      case "tab":
        this.#enter("steer");
        return true;
      case "up":
      case "down":
        this.#draft = this.#inputHistory.step(name, this.#draft);
        this.redraw();
        return true;
      case "escape":
        if (!this.#isIdle) this.#cancelNext();
        this.redraw();
        return true;
      case "ctrl-d":
        if (draftText(this.#draft) !== "") return false;
        this.#leave();
        return true;
      default:
        return false;
    }
  }

  #enter(delivery: Delivery): void {
    const typed = this.#draft;
    const isAsked = delivery === "follow-up" && questionsOf(this.#screen.state).length > 0;
    const line = readLine(draftText(typed), isAsked);
    if (line.kind !== "wrong") this.#draft = emptyDraft;
    if (line.kind !== "wrong" && line.kind !== "answer") this.#inputHistory.add(draftText(typed));
    const before = [this.#moved, ...(isMove(line) ? [this.#sent] : [])];
    const carryOutLine = async (): Promise<void> => {
      await Promise.all(before);
      try {
        await this.#carryOut(line, delivery);
      } catch (error) {
        if (!isWrongCommand(error)) throw error;
        // Puts a line that failed back, unless the person has typed on.
        if (draftText(this.#draft) === "") this.#draft = typed;
        await this.#screen.showError(error);
      }
      this.redraw();
    };
    const done = carryOutLine();
    const settled = done.catch(() => {});
    if (isMove(line)) this.#moved = settled;
    else if (line.kind === "message") this.#sent = settled;
    this.#background(() => done);
    this.redraw();
  }

  async #carryOut(line: ChatLine, delivery: Delivery): Promise<void> {
    switch (line.kind) {
      case "wrong":
        this.#hint = line.why;
        return;
      case "help":
        return await this.#screen.notes(helpLines());
      case "quit":
        return await this.#quit();
      case "cancel":
        return await this.#stop(line.mode, line.withdraw);
      default: {
        const { state, columns } = this.#screen;
        const outcome = await carryOut(line, this.#session, state, delivery, columns);
        if (outcome.kind === "hint") this.#hint = outcome.text;
        else if (outcome.kind === "lines") await this.#screen.notes(outcome.lines);
        else if (outcome.kind === "moved") await this.#switchTo(outcome);
        else if (outcome.kind === "sent") {
          this.#watch(outcome.turn.result);
          if (outcome.lines !== undefined) await this.#screen.notes(outcome.lines);
        }
      }
    }
  }

  async #show(event: SessionEvent): Promise<void> {
    await this.#screen.show(event);
    if (event.type === "turn.ended") {
      this.#hint = undefined;
      for (const resolve of this.#shown.splice(0)) resolve();
      this.#background(() => this.#warn());
    }
    // A compaction between turns ends without a `turn.ended`.
    if (this.#isIdle) this.#cancel = undefined;
    // Deltas do not change the panel.
    if (!event.type.endsWith("-delta")) this.redraw();
  }

  /** Warns in time where only the person compacts the prompt. */
  async #warn(): Promise<void> {
    const warning = contextWarning(await this.#session.context());
    if (warning === undefined || this.#isOver) return;
    await this.#screen.notes([`${warning} /compact shortens it.`], "yellow");
    if (!this.#isOver) this.redraw();
  }

  /** Cancels by the next mode; false if the turn is already stopping at once. */
  #cancelNext(): boolean {
    const mode = nextCancel(this.#screen.state, this.#cancel);
    if (mode === undefined) return false;
    this.#background(() => this.#stop(mode, false));
    return true;
  }

  async #stop(mode: CancelMode, withdraw: boolean): Promise<void> {
    const isFirst = this.#cancel === undefined;
    if (!this.#isIdle) this.#cancel = mode;
    const cancelled = await this.#session.cancel({ mode, withdraw, reason: "the user" });
    if (cancelled.turn !== undefined && !this.#isIdle) {
      await new Promise<void>((resolve) => this.#shown.push(resolve));
    }
    if (!isFirst) return;
    const { queue, held } = this.#screen.state;
    const waiting = queue.filter(({ id }) => !cancelled.withdrawn.includes(id)).length;
    await this.#screen.notes(cancelSentences(cancelled, held ? waiting : 0));
    this.redraw();
  }

  #leave(): void {
    const { state } = this.#screen;
    if (this.#isIdle || questionsOf(state).length > 0) {
      this.#background(() => this.#quit());
      return;
    }
    this.#hint = "A turn is running: Esc cancels it, /quit cancels it and leaves.";
    this.redraw();
  }

  async #quit(): Promise<void> {
    const { state } = this.#screen;
    const isAtRest = state.calls.length > 0 && state.calls.length === questionsOf(state).length;
    if (isAtRest) await this.#screen.notes(["The call still waits; it can be answered later."]);
    else if (!this.#isIdle) await this.#stop("now", false);
    this.#left.resolve();
  }

  /** Ends the chat when the session fails. The events of a failed turn show its error. */
  #watch(ended: Promise<unknown>): void {
    ended.catch((error: unknown) => {
      if (!isShownByEvents(error)) this.#left.reject(error);
    });
  }

  #background(work: () => Promise<void>): void {
    work().catch((error: unknown) => this.#left.reject(error));
  }
}

function isMove({ kind }: ChatLine): boolean {
  return kind === "fork" || kind === "undo";
}
