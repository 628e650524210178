/** A chat: turns keys into commands to a session, and the session's events into the screen. */

import { onAbort, firstAbort } from "../../shared/index.ts";
import type { CancelMode, Delivery, SessionEvent } from "../../events/index.ts";
import type { ChatSession, ChatOptions, ChatPlace } from "./host/chat-session.ts";
import { emptyDraft } from "../terminal/draft.ts";
import type { Key } from "../terminal/keyboard.ts";
import { ShellCommands } from "./acts/shell-command.ts";
import { TurnCancel } from "./acts/turn-cancel.ts";
import { OpenEditor } from "./line/text-editor.ts";
import { answerChoices, helpLines } from "./line/chat-help.ts";
import { readLine, type ChatLine } from "./line/chat-line.ts";
import { TypedLine, type Offer } from "./line/typed-line.ts";
import { carryOut } from "./acts/slash-commands.ts";
import { ChatScreen } from "./screen/chat-screen.ts";
import { conversationOf, questionsOf } from "./screen/conversation-state.ts";
import { isShownByEvents, isWrongCommand, type Moved } from "./acts/command-outcome.ts";
import { formFields } from "../wording/event-lines.ts";
import { earlierInputs } from "./host/resumed-session.ts";
import { SessionFigures } from "./screen/session-figures.ts";

/** A turn that takes longer calls the person back. */
const LONG_MS = 10_000;
const callsBack: Partial<Readonly<Record<SessionEvent["type"], string>>> = {
  "turn.ended": "is done",
  "tool.approval-requested": "asks",
  "turn.held": "asks",
};

export class Chat {
  readonly #options: ChatOptions;
  readonly #screen: ChatScreen;
  readonly #left: PromiseWithResolvers<void> = Promise.withResolvers();
  #session: ChatSession;
  /** Of the last event that was shown. */
  #position: number;
  #followed: FollowedSession | undefined;
  readonly #order = new LineOrder();
  readonly #line: TypedLine;
  #hint: string | undefined;
  readonly #cancel: TurnCancel;
  readonly #editor = new OpenEditor();
  readonly #shell = new ShellCommands();
  readonly #figures: SessionFigures;
  /** What the last line listed, by the command that takes one of it. */
  #listed: "/resume" | "/model" | undefined;
  /** When a key was pressed last. */
  #touchedAt = performance.now();
  /** Whether Ctrl-C was pressed on an empty line: pressing it again leaves. */
  #asksToLeave = false;
  /** Whether the person has left: the chat then writes nothing. */
  #isOver = false;

  constructor(options: ChatOptions) {
    const { output, debug, view, present } = options;
    this.#options = options;
    this.#session = options.session;
    this.#position = view.position;
    this.#line = new TypedLine({
      draft: options.draft ?? "",
      earlier: earlierInputs(view),
      folder: process.cwd(),
      onNames: () => this.redraw(),
    });
    this.#screen = new ChatScreen({ output, debug, present, state: conversationOf(view) });
    this.#cancel = new TurnCancel(this.#screen);
    this.#figures = new SessionFigures(this.#screen, () => this.redraw());
  }

  /** Where another chat continues once this one has ended. */
  get place(): ChatPlace {
    const { id } = this.#session;
    return { session: id, position: this.#position, draft: this.#line.text };
  }

  /** Runs until the person leaves or a signal ends the process. @returns the session at the end */
  async run(): Promise<ChatSession> {
    const { view, interrupts } = this.#options;
    using _ = onAbort(interrupts.ending, () => this.#left.resolve());
    await this.#screen.begin();
    this.redraw();
    this.#background(() => this.#line.learn(this.#options.store, this.#session.id));
    // A failed log ends the session but not its event stream.
    if (!this.#isIdle) this.#watch(this.#session.idle());
    this.#figures.follow(this.#isIdle);
    this.#measure(false);
    this.#follow(view.position);
    try {
      await this.#left.promise;
    } finally {
      this.#isOver = true;
      this.#shell.kill();
      await this.#editor.closed;
      this.#figures[Symbol.dispose]();
      await this.#followed?.stop();
      await this.#screen.close();
    }
    return this.#session;
  }

  #follow(position: number): void {
    const { ending } = this.#options.interrupts;
    this.#followed = followSession(this.#session, position, ending, (event) => this.#show(event));
    this.#background(() => this.#followed?.ended ?? Promise.resolve());
  }

  /** Switches to another session, which is at rest. */
  async #switchTo({ session, view, lines }: Moved): Promise<void> {
    await this.#followed?.stop();
    this.#session = session;
    this.#position = view.position;
    this.#screen.switchTo(conversationOf(view));
    this.#cancel.reset();
    await this.#screen.notes(lines);
    await this.#screen.begin();
    if (!this.#isOver) this.#follow(view.position);
  }

  press(key: Key): void {
    this.#touchedAt = performance.now();
    if (this.#editor.isOpen) return;
    this.#hint = undefined;
    this.#asksToLeave = false;
    if (this.#line.searchBy(key)) return this.redraw();
    if (key.kind === "press" && this.#isCommandKey(key.name)) return;
    this.#line.edit(key);
    this.redraw();
  }

  /** Ctrl-C: cancels a running turn; at rest, clears the line; on an empty line, asks, then leaves. */
  interrupt(): "taken" | "leave" {
    if (this.#editor.isOpen) return "taken";
    this.#hint = undefined;
    if (this.#line.searchBy({ kind: "press", name: "escape" })) {
      this.redraw();
      return "taken";
    }
    if (this.#shell.stop()) return "taken";
    if (!this.#isIdle) return this.#cancelNext() ? "taken" : "leave";
    if (this.#asksToLeave) this.#left.resolve();
    const isDropped = this.#shell.forget();
    this.#asksToLeave = this.#line.text === "" && !isDropped;
    if (isDropped) this.#hint = "The output of your command will not be sent.";
    if (this.#asksToLeave) this.#hint = "Ctrl-C again leaves.";
    this.#line.set(emptyDraft);
    this.redraw();
    return "taken";
  }

  redraw(): void {
    if (this.#editor.isOpen) return;
    this.#line.offer(this.#offer());
    const { draft, choices, chosen, search } = this.#line;
    const { standing, elapsed } = this.#figures;
    const hint = search === undefined ? this.#hint : searchHint(search);
    this.#background(() => this.#screen.draw({ draft, hint, choices, chosen, standing, elapsed }));
  }

  get #isIdle(): boolean {
    return this.#screen.state.activity === "idle";
  }

  /** Handles keys that do more than edit the line; false for all other keys. */
  #isCommandKey(name: Extract<Key, { readonly kind: "press" }>["name"]): boolean {
    switch (name) {
      case "enter":
        if (this.#line.take() === "begun") this.redraw();
        else this.#enter("follow-up");
        return true;
      case "tab":
        this.#tab();
        return true;
      case "ctrl-g":
        this.#background(() => this.#edit());
        return true;
      case "ctrl-l":
        this.#background(() => this.#screen.clear());
        return true;
      case "ctrl-z":
        this.#background(() => this.#suspend());
        return true;
      case "up":
      case "down":
        this.#line.step(name);
        this.redraw();
        return true;
      case "escape":
        if (!this.#line.unchoose() && !this.#isIdle) this.#cancelNext();
        this.redraw();
        return true;
      case "ctrl-d":
        if (this.#line.text !== "") return false;
        this.#leave();
        return true;
      default:
        return false;
    }
  }

  /** Completes the line, or else steers the running turn: at rest nothing can be steered. */
  #tab(): void {
    const isCompleted = this.#line.take() !== undefined || this.#line.complete();
    if (!isCompleted && !this.#isIdle) return this.#enter("steer");
    if (!isCompleted) this.#hint = "Enter sends. Tab completes, or steers while the agent works.";
    this.redraw();
  }

  async #edit(): Promise<void> {
    const { editText } = this.#options;
    if (editText === undefined) this.#hint = "Set VISUAL or EDITOR to write in your editor.";
    else {
      const text = await this.#editor.use(() => editText(this.#line.text));
      if (text === undefined) this.#hint = "The editor failed; the line is unchanged.";
      else this.#line.set({ before: text, after: "" });
    }
    this.redraw();
  }

  async #suspend(): Promise<void> {
    const { suspend } = this.#options;
    if (suspend === undefined) return;
    await this.#editor.use(async () => {
      await this.#screen.hide();
      await suspend();
    });
    this.redraw();
  }

  #enter(delivery: Delivery): void {
    const typed = this.#line.draft;
    const text = this.#line.text;
    const isAsked = delivery === "follow-up" && questionsOf(this.#screen.state).length > 0;
    const line = readLine(text, isAsked);
    if (line.kind !== "wrong") this.#line.set(emptyDraft);
    this.#list(line);
    if (line.kind !== "wrong" && line.kind !== "answer") this.#line.add(text);
    const done = this.#order.run(line, async () => {
      try {
        await this.#carryOut(line, delivery);
      } catch (error) {
        // Puts a line that failed back, unless the person has typed on.
        if (this.#line.text === "") this.#line.set(typed);
        if (!isWrongCommand(error)) throw error;
        await this.#screen.showError(error);
      }
      if (this.#isIdle) this.#measure(false);
      this.redraw();
    });
    this.#background(() => done);
    this.redraw();
  }

  /** What Down offers on an empty line: answers to the open question, else what was just listed. */
  #offer(): Offer {
    const [open] = questionsOf(this.#screen.state);
    if (open === undefined) {
      const choices = this.#listed === undefined ? [] : this.#line.linesOf(this.#listed);
      return { about: this.#listed ?? "", choices, form: [] };
    }
    const { question, asked } = open;
    const form = formFields(question);
    // Only the calls of tools can be answered for good.
    const choices = answerChoices.slice(0, question === undefined ? undefined : 2);
    return { about: `call ${asked}`, choices: form.length > 0 ? [] : choices, form };
  }

  #list(line: ChatLine): void {
    if (line.kind === "sessions") this.#listed = "/resume";
    else this.#listed = line.kind === "model" && line.model === undefined ? "/model" : undefined;
    if (this.#listed !== undefined) this.#background(() => this.#line.learn(this.#options.store));
  }

  async #carryOut(line: ChatLine, delivery: Delivery): Promise<void> {
    switch (line.kind) {
      case "wrong":
        this.#hint = line.why;
        return;
      case "help":
        return await this.#screen.notes(helpLines(this.#screen.columns));
      case "quit":
        return await this.#quit();
      case "cancel":
        return await this.#stop(line.mode, line.withdraw);
      case "shell":
        return await this.#runShell(line.command);
      default: {
        const { state, columns } = this.#screen;
        const { store } = this.#options;
        const outcome = await carryOut(
          line,
          this.#session,
          store,
          state,
          delivery,
          columns,
          this.#shell,
        );
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

  async #runShell(command: string): Promise<void> {
    if (this.#shell.isRunning) {
      this.#hint = "A command of yours is running: Ctrl-C ends it.";
      return;
    }
    const { id } = this.#session;
    await this.#screen.notes([`! ${command}`], "bold");
    this.#hint = "Ctrl-C ends your command.";
    this.redraw();
    const ended = await this.#shell.run(id, command, async (lines) => {
      if (!this.#isOver) await this.#screen.notes([`  ${lines}`]);
    });
    if (this.#isOver) return;
    if (ended !== "exit code 0") await this.#screen.notes([`  ${ended}`], "yellow");
    const to = id === this.#session.id ? "" : ` to ${id}`;
    this.#hint = `The output goes with your next message${to}; Ctrl-C takes it back.`;
  }

  async #show(event: SessionEvent): Promise<void> {
    await this.#editor.closed;
    await this.#screen.show(event);
    this.#position = event.position;
    this.#cancel.follow(event);
    // Deltas do not change the panel.
    if (event.type.endsWith("-delta")) return;
    const calls = callsBack[event.type];
    if (calls !== undefined) this.#callBack(calls);
    this.#figures.follow(this.#isIdle);
    if (event.type === "turn.ended") {
      this.#hint = undefined;
      this.#measure(true);
    }
    this.redraw();
  }

  /** Calls the person back who has been away from a turn for long. */
  #callBack(what: string): void {
    const { notice } = this.#options;
    const away = Math.min(performance.now() - this.#touchedAt, this.#figures.elapsed ?? 0);
    if (notice === undefined || away < LONG_MS) return;
    this.#background(() => this.#screen.ring(notice, `turnlog: ${this.#session.id} ${what}`));
  }

  /** Cancels by the next mode; false if the turn is already stopping at once. */
  #cancelNext(): boolean {
    const mode = this.#cancel.next();
    if (mode === undefined) return false;
    this.#background(() => this.#stop(mode, false));
    return true;
  }

  async #stop(mode: CancelMode, withdraw: boolean): Promise<void> {
    await this.#cancel.stop(this.#session, mode, withdraw);
    this.redraw();
  }

  #leave(): void {
    const { state } = this.#screen;
    const waits = state.budget !== undefined || questionsOf(state).length > 0;
    if (this.#isIdle || waits) return this.#background(() => this.#quit());
    this.#hint = "A turn is running: Esc cancels it, /quit cancels it and leaves.";
    this.redraw();
  }

  async #quit(): Promise<void> {
    const { state } = this.#screen;
    const isAtRest = state.calls.length > 0 && state.calls.length === questionsOf(state).length;
    if (state.budget !== undefined)
      await this.#screen.notes(["The turn still waits; more can be allowed later."]);
    else if (isAtRest)
      await this.#screen.notes(["The call still waits; it can be answered later."]);
    else if (!this.#isIdle) await this.#stop("now", false);
    this.#left.resolve();
  }

  /** Ends the chat when the session fails. The events of a failed turn show its error. */
  #watch(ended: Promise<unknown>): void {
    ended.catch((error: unknown) => {
      if (!isShownByEvents(error)) this.#left.reject(error);
    });
  }

  #measure(warns: boolean): void {
    this.#background(() => this.#figures.measure(this.#session, warns));
  }

  #background(work: () => Promise<void>): void {
    work().catch((error: unknown) => this.#left.reject(error));
  }
}

function searchHint({ query, isFound }: NonNullable<TypedLine["search"]>): string {
  return isFound
    ? `Search "${query}". Ctrl-R finds an older line, Enter takes it, Esc gives up.`
    : `Search "${query}": no other line has it. Esc gives up.`;
}

/** The events of a session while the chat is in it. */
interface FollowedSession {
  /** Rejects if the events cannot be read or shown. */
  readonly ended: Promise<void>;
  /** Resolves when the last event has been shown. */
  stop(): Promise<void>;
}

/** Shows the events after a position until it is stopped or the process ends. */
function followSession(
  session: ChatSession,
  position: number,
  ending: AbortSignal,
  show: (event: SessionEvent) => Promise<void>,
): FollowedSession {
  const following = new AbortController();
  const showing = (async (): Promise<void> => {
    using ends = firstAbort(following.signal, ending);
    const events = session.events({ from: position + 1, signal: ends.signal });
    for await (const event of events) await show(event);
  })();
  return {
    ended: showing,
    async stop() {
      following.abort();
      await showing.catch(() => {});
    },
  };
}

const moves: ReadonlySet<ChatLine["kind"]> = new Set(["fork", "undo", "new", "resume"]);

/** The order in which lines are carried out, where they move to another session. */
class LineOrder {
  /** Settles when the last message is accepted: a fork waits for it, so that it includes the message. */
  #sent: Promise<void> = Promise.resolve();
  /** Settles when the last move is done: lines typed until then go to the new session. */
  #moved: Promise<void> = Promise.resolve();

  run({ kind }: ChatLine, work: () => Promise<void>): Promise<void> {
    const isMove = moves.has(kind);
    const before = [this.#moved, ...(isMove ? [this.#sent] : [])];
    const done = Promise.all(before).then(work);
    const settled = done.catch(() => {});
    if (isMove) this.#moved = settled;
    else if (kind === "message") this.#sent = settled;
    return done;
  }
}
