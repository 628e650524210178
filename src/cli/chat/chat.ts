/**
 * A chat: keys come in and become commands to the session, its events come in and become the screen,
 * side by side, until the person leaves. Keys and screen are given to it; it opens neither.
 */

import type { CancelMode, Delivery, SessionEvent } from "../../events/index.ts";
import type { Session } from "../../runtime/index.ts";
import type { SessionView } from "../../state/index.ts";
import type { Output } from "../output/index.ts";
import { contextWarning } from "../wording/index.ts";
import { draftText, edit, emptyDraft, type Draft, type Key, Recall } from "../terminal/index.ts";
import { cancelSentences, nextCancel } from "./cancel-words.ts";
import { helpLines } from "./chat-help.ts";
import { readLine, type ChatLine } from "./chat-line.ts";
import { carryOut } from "./slash-commands.ts";
import { ChatScreen } from "./chat-screen.ts";
import { conversationOf, questionsOf } from "./conversation-state.ts";
import type { Interrupts } from "./interrupts.ts";
import { isToldByEvents, isWrongCommand, type Moved } from "./command-outcome.ts";
import { saidBefore } from "./resumed-session.ts";

export interface ChatOptions {
  /** The one that it begins with; a fork or an undoing moves it on to another one. */
  readonly session: Session;
  /** How the session stands. */
  readonly view: SessionView;
  readonly output: Output;
  readonly interrupts: Interrupts;
  /** What stands in the line already. */
  readonly draft?: string;
  /** Whether errors are told with their stacks. */
  readonly debug: boolean;
}

export class Chat {
  readonly #options: ChatOptions;
  readonly #screen: ChatScreen;
  readonly #left: PromiseWithResolvers<void> = Promise.withResolvers();
  #session: Session;
  /** Stops showing what happens in the session. */
  #unfollow: () => Promise<void> = async () => {};
  /** The last message is accepted: what forks the session has it. */
  #sent: Promise<void> = Promise.resolve();
  /** The chat is where a fork or an undoing has moved it: what is typed meanwhile is for that session. */
  #moved: Promise<void> = Promise.resolve();
  #draft: Draft;
  readonly #recall: Recall;
  #hint: string | undefined;
  /** What has been asked for of the turn that runs, before its event has come. */
  #cancel: CancelMode | undefined;
  /** The person has left: nothing more is written. */
  #isOver = false;
  /** Told when the turn has been shown to its end. */
  #shown: (() => void)[] = [];

  constructor(options: ChatOptions) {
    const { output, debug, view } = options;
    this.#options = options;
    this.#session = options.session;
    this.#recall = new Recall(saidBefore(view));
    this.#draft = edit(emptyDraft, { kind: "text", text: options.draft ?? "" });
    this.#screen = new ChatScreen({ output, debug, state: conversationOf(view) });
  }

  /**
   * Shows the session's events until the person leaves or the process is told to end.
   * @returns the session in which the chat was then
   */
  async run(): Promise<Session> {
    const { view, interrupts } = this.#options;
    const over = new AbortController();
    interrupts.ending.addEventListener("abort", () => this.#left.resolve(), {
      signal: over.signal,
    });
    await this.#screen.begin();
    this.redraw();
    // A log that gives up tells nobody; the session does.
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

  /** Shows what happens in the session behind a position. */
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

  /** Goes on in another session, at rest; the one before stays as it is. */
  async #move({ session, view, lines }: Moved): Promise<void> {
    await this.#unfollow();
    this.#session = session;
    this.#screen.turnTo(conversationOf(view));
    this.#cancel = undefined;
    await this.#screen.notes(lines);
    if (!this.#isOver) this.#follow(view.position);
  }

  press(key: Key): void {
    this.#hint = undefined;
    if (key.kind === "press" && this.#pressed(key.name)) return;
    this.#draft = edit(this.#draft, key);
    this.redraw();
  }

  /** Ctrl-C: cancels what runs; where nothing does, gives up the line, then leaves. */
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

  /** Whether the key was for more than the line. */
  #pressed(name: Extract<Key, { readonly kind: "press" }>["name"]): boolean {
    switch (name) {
      case "enter":
        this.#enter("follow-up");
        return true;
      case "tab":
        this.#enter("steer");
        return true;
      case "up":
      case "down":
        this.#draft = this.#recall.step(name, this.#draft);
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
    if (line.kind !== "wrong" && line.kind !== "answer") this.#recall.add(draftText(typed));
    const before = [this.#moved, ...(isMove(line) ? [this.#sent] : [])];
    const obeying = async (): Promise<void> => {
      await Promise.all(before);
      try {
        await this.#obey(line, delivery);
      } catch (error) {
        if (!isWrongCommand(error)) throw error;
        // What could not be sent is not lost.
        if (draftText(this.#draft) === "") this.#draft = typed;
        await this.#screen.tellError(error);
      }
      this.redraw();
    };
    const obeyed = obeying();
    const settled = obeyed.catch(() => {});
    if (isMove(line)) this.#moved = settled;
    else if (line.kind === "message") this.#sent = settled;
    this.#background(() => obeyed);
    this.redraw();
  }

  async #obey(line: ChatLine, delivery: Delivery): Promise<void> {
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
        else if (outcome.kind === "moved") await this.#move(outcome);
        else if (outcome.kind === "sent") this.#watch(outcome.turn.result);
      }
    }
  }

  async #show(event: SessionEvent): Promise<void> {
    await this.#screen.show(event);
    if (event.type === "turn.ended") {
      this.#hint = undefined;
      for (const tell of this.#shown.splice(0)) tell();
      this.#background(() => this.#warn());
    }
    // A compaction between turns ends without the end of a turn.
    if (this.#isIdle) this.#cancel = undefined;
    // Deltas change nothing in the panel, which stands below what they have brought.
    if (!event.type.endsWith("-delta")) this.redraw();
  }

  /** An agent that compacts only when it is asked to has to be asked in time. */
  async #warn(): Promise<void> {
    const warning = contextWarning(await this.#session.context());
    if (warning === undefined || this.#isOver) return;
    await this.#screen.notes([`${warning} /compact shortens it.`], "yellow");
    if (!this.#isOver) this.redraw();
  }

  /** Whether there was anything left to ask for. */
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
    if (isAtRest) await this.#screen.notes(["The call waits on; it can be answered another time."]);
    else if (!this.#isIdle) await this.#stop("now", false);
    this.#left.resolve();
  }

  /** What a turn comes to is told by its events; a session that cannot go on ends the conversation. */
  #watch(ended: Promise<unknown>): void {
    ended.catch((error: unknown) => {
      if (!isToldByEvents(error)) this.#left.reject(error);
    });
  }

  #background(work: () => Promise<void>): void {
    work().catch((error: unknown) => this.#left.reject(error));
  }
}

function isMove({ kind }: ChatLine): boolean {
  return kind === "fork" || kind === "undo";
}
