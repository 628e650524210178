/** The line at the bottom of a chat: what is typed, the lines before it, and what can complete it. */

import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { draftText, edit, emptyDraft, lineStep, type Draft } from "../../terminal/draft.ts";
import type { Key } from "../../terminal/keyboard.ts";
import { TurnlogError } from "../../../events/index.ts";
import type { ChatStore } from "../host/chat-session.ts";
import { droppedFiles } from "./mentioned-files.ts";
import { completionOf, type Choice, type Completion, type FormField } from "./completion.ts";

export interface TypedLineOptions {
  /** Text in the line at the start. */
  readonly draft: string;
  /** Lines of this session, oldest first. */
  readonly earlier: readonly string[];
  readonly folder: string;
  /** Called when names have been read that may complete the line. */
  readonly onNames: () => void;
}

/** What an empty line can become. */
export interface Offer {
  /** Tells one offer from the next. */
  readonly about: string;
  readonly choices: readonly Choice[];
  readonly form: readonly FormField[];
}

export class TypedLine {
  readonly #options: TypedLineOptions;
  readonly #history: InputHistory;
  readonly #entries = new Map<string, readonly string[] | undefined>();
  #sessions: readonly Choice[] = [];
  #models: readonly Choice[] = [];
  #offer: Offer = { about: "", choices: [], form: [] };
  /** The index of what the arrow keys have chosen. */
  #chosen: number | undefined;
  #draft: Draft;
  /** The search in the history, while it lasts. */
  #search: HistorySearch | undefined;

  constructor(options: TypedLineOptions) {
    this.#options = options;
    this.#history = new InputHistory(options.earlier);
    this.#draft = edit(emptyDraft, { kind: "text", text: options.draft });
  }

  get draft(): Draft {
    return this.#draft;
  }

  get text(): string {
    return draftText(this.#draft);
  }

  get completion(): Completion | undefined {
    return completionOf(this.#draft, {
      sessions: this.#sessions,
      models: this.#models,
      form: this.#offer.form,
      entries: (folder) => this.#entriesOf(folder),
    });
  }

  /** What completes the line; on an empty one, what Down offers once it is pressed. */
  get choices(): readonly Choice[] {
    if (this.#search !== undefined) return [];
    return this.completion?.choices ?? (this.#chosen === undefined ? [] : this.#offered);
  }

  get chosen(): number | undefined {
    return this.#chosen;
  }

  get #offered(): readonly Choice[] {
    return this.text === "" ? this.#offer.choices : [];
  }

  set(draft: Draft): void {
    this.#draft = draft;
    this.#chosen = undefined;
  }

  /** Sets what an empty line can become. A choice among other things is given up: Enter would take what nobody saw. */
  offer(offer: Offer): void {
    if (offer.about !== this.#offer.about) this.#chosen = undefined;

    this.#offer = offer;
  }

  /** The lines that go to a session, or change the model. */
  linesOf(command: "/resume" | "/model"): readonly Choice[] {
    const named = command === "/resume" ? this.#sessions : this.#models;
    return named.map(({ name, what }) => ({ name: `${command} ${name}`, what }));
  }

  /** Puts what is chosen into the line. `whole`: nothing is left to type. Undefined if nothing is chosen. */
  take(): "begun" | "whole" | undefined {
    const choice = this.#chosen === undefined ? undefined : this.choices[this.#chosen];
    const { completion } = this;
    this.#chosen = undefined;
    if (choice === undefined) return undefined;
    this.set(completion?.with(choice) ?? { before: choice.name, after: "" });
    const isWhole = /^\/(?:resume|model|compact|preview) \S/.test(this.text);
    return completion === undefined || isWhole ? "whole" : "begun";
  }

  /** Chooses nothing. False if nothing was chosen. */
  unchoose(): boolean {
    const isChosen = this.#chosen !== undefined;
    this.#chosen = undefined;
    return isChosen;
  }

  edit(key: Key): void {
    const { before } = this.#draft;
    // A command of the person's gets a path as it is.
    const files =
      key.kind === "text" && !before.startsWith("!")
        ? droppedFiles(key.text, this.#options.folder)
        : undefined;
    const text = files && (/\S$/.test(before) ? ` ${files}` : files);
    this.set(edit(this.#draft, text === undefined ? key : { kind: "text", text }));
  }

  /**
   * To the line above or below, from the first and the last to earlier and later messages, and from the newest into
   * the list of what can be chosen.
   */
  step(direction: "up" | "down"): void {
    const last = (this.completion?.choices ?? this.#offered).length - 1;
    if (this.#chosen !== undefined) {
      const next = this.#chosen + (direction === "down" ? 1 : -1);
      this.#chosen = next < 0 ? undefined : Math.min(next, last);
      return;
    }
    const draft = lineStep(this.#draft, direction) ?? this.#history.step(direction, this.#draft);
    if (direction === "down" && draft === this.#draft && last >= 0) this.#chosen = 0;
    else this.#draft = draft;
  }

  /** What is searched in the history, and whether the line shows it. */
  get search(): Pick<HistorySearch, "query" | "isFound"> | undefined {
    return this.#search;
  }

  /** Ctrl-R and what follows it, as in bash. False for a key that does what it does without a search. */
  searchBy(key: Key): boolean {
    const search = this.#search;
    if (key.kind === "press" && key.name === "ctrl-r")
      this.#find(search ?? { query: "", typed: this.#draft, at: undefined, isFound: true });
    else if (search === undefined) return false;
    else if (key.kind === "text") this.#find({ ...search, query: search.query + key.text }, true);
    else if (key.name === "backspace")
      this.#find({ ...search, query: search.query.slice(0, -1), at: undefined });
    else {
      this.#search = undefined;
      if (key.name === "escape" || key.name === "ctrl-g") this.#draft = search.typed;
      else return key.name === "enter";
    }
    return true;
  }

  /** Finds an older line, or if `stays` the same one as long as it fits. */
  #find(search: HistorySearch, stays = false): void {
    const before = search.at === undefined ? undefined : search.at + (stays ? 1 : 0);
    const at = search.query === "" ? undefined : this.#history.find(search.query, before);
    this.#search = {
      ...search,
      at: at ?? search.at,
      isFound: search.query === "" || at !== undefined,
    };
    if (at !== undefined) this.#draft = { before: this.#history.line(at), after: "" };
    else if (search.query === "") this.#draft = search.typed;
  }

  /** Adds a sent line to the history. Folders are read again for the next line. */
  add(line: string): void {
    this.#entries.clear();
    this.#history.add(line);
  }

  /** Reads the names of the store's sessions and models, and the texts of the sessions but one, for Tab and Up. */
  async learn(store: ChatStore, but?: string): Promise<void> {
    this.#models = (store.models?.names ?? []).map((name) => ({ name, what: "" }));
    try {
      const sessions = await store.list();
      this.#sessions = sessions.map(({ session, title }) => ({ name: session, what: title }));
      if (but !== undefined) this.#history.addOlder(await store.earlierTexts(but));
      this.#options.onNames();
    } catch (error) {
      // A session that cannot be read, or a store that has been closed, completes nothing.
      if (!TurnlogError.isInstance(error)) throw error;
    }
  }

  /** Completes the line; false if nothing can be completed. */
  complete(): boolean {
    const { completion } = this;
    if (completion === undefined) return false;
    this.set(completion.completed);
    return true;
  }

  #entriesOf(folder: string): readonly string[] | undefined {
    if (!this.#entries.has(folder)) {
      this.#entries.set(folder, undefined);
      void this.#read(folder);
    }
    return this.#entries.get(folder);
  }

  async #read(folder: string): Promise<void> {
    const found = await readdir(resolve(this.#options.folder, folder), {
      withFileTypes: true,
    }).catch(
      // A folder that cannot be read completes nothing.
      () => [],
    );
    const names = found.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
    this.#entries.set(folder, names.toSorted());
    this.#options.onNames();
  }
}

interface HistorySearch {
  readonly query: string;
  /** What was typed before the search. */
  readonly typed: Draft;
  /** The index of the line that was found last; undefined before the first. */
  readonly at: number | undefined;
  readonly isFound: boolean;
}

/** The lines typed before, which Up and Down bring back. Keeps the line that was being typed. */
export class InputHistory {
  readonly #lines: string[] = [];
  /** The index of the shown line; after the last one, the line being typed. */
  #index = 0;
  #typed: Draft = emptyDraft;

  /** @param lines - Oldest first. */
  constructor(lines: readonly string[] = []) {
    for (const line of lines) this.add(line);
  }

  /** Adds a sent line, unless it repeats the last one. */
  add(line: string): void {
    if (line.trim() !== "" && line !== this.#lines.at(-1)) this.#lines.push(line);
    this.#index = this.#lines.length;
    this.#typed = emptyDraft;
  }

  /** Adds lines that are older than all others, and keeps the shown one. */
  addOlder(lines: readonly string[]): void {
    const older = lines.filter((line, at) => line.trim() !== "" && line !== lines[at + 1]);
    this.#lines.unshift(...older);
    this.#index += older.length;
  }

  line(at: number): string {
    return this.#lines[at] ?? "";
  }

  /** The index of the newest line that has the text, in any case, before an index. */
  find(text: string, before = this.#lines.length): number | undefined {
    const wanted = text.toLowerCase();
    const at = this.#lines
      .slice(0, before)
      .findLastIndex((line) => line.toLowerCase().includes(wanted));
    return at === -1 ? undefined : at;
  }

  /** The previous or next line as a draft; the same draft at the ends. */
  step(direction: "up" | "down", draft: Draft): Draft {
    const next = this.#index + (direction === "up" ? -1 : 1);
    if (next < 0 || next > this.#lines.length) return draft;
    if (this.#index === this.#lines.length) this.#typed = draft;
    this.#index = next;
    const line = this.#lines[next];
    // The cursor is at the end, as after typing.
    return line === undefined ? this.#typed : { before: line, after: "" };
  }
}
