/** Parses a line typed in a chat: a message, an answer to a question, or a command. Pure. */

import {
  jsonSchema,
  type CancelMode,
  type Delivery,
  type JsonObject,
  type JsonValue,
} from "../../../events/index.ts";
import {
  byImportance,
  checkpoint,
  dropMiddle,
  dropOldest,
  slidingWindow,
  summarize,
  type CompactionStrategy,
} from "../../../public/index.ts";

export interface Answer {
  readonly approved: boolean;
  /** Whether the answer holds for every later call of the tool in this session. */
  readonly always: boolean;
  readonly reason?: string;
  /** The values of a form. */
  readonly content?: JsonObject;
}

export type ContextLine =
  | { readonly kind: "context" }
  /** Without `how`, the agent's own strategy. */
  | { readonly kind: "compact" | "preview"; readonly how?: CompactionWay }
  /** Without `position`, the newest pruning or compaction. */
  | { readonly kind: "restore"; readonly position?: number };

export type TravelLine =
  /** Forks at the end. Without `name`, under a new name. */
  | { readonly kind: "fork"; readonly name?: string }
  /** Rewinds to before the last turn; returns to the branch that a rewind left; runs the last turn again. */
  | { readonly kind: "undo" | "redo" | "retry" }
  | { readonly kind: "edit"; readonly text: string }
  /** Checks a branch out; without `branch`, lists them. */
  | { readonly kind: "branches"; readonly branch?: number }
  /** Shows the session at a position; without one, says where it is. */
  | { readonly kind: "at"; readonly position?: number };

export type StoreLine =
  /** Begins another session. */
  | { readonly kind: "new"; readonly name?: string }
  /** Goes to a session. */
  | { readonly kind: "resume"; readonly session: string }
  | { readonly kind: "sessions" | "cost" }
  /** Changes the model; without a name, says which model answers. */
  | { readonly kind: "model"; readonly model?: string };

export type ChatLine =
  | ContextLine
  | StoreLine
  | TravelLine
  | { readonly kind: "message"; readonly text: string; readonly delivery?: Delivery }
  | { readonly kind: "answer"; readonly answer: Answer }
  /** Waiting messages by their numbers. */
  | { readonly kind: "withdraw"; readonly which: readonly number[] | "all" }
  | { readonly kind: "move"; readonly number: number; readonly delivery: Delivery }
  | { readonly kind: "cancel"; readonly mode: CancelMode; readonly withdraw: boolean }
  /** Takes back an `always` or `never` about a tool. */
  | { readonly kind: "ask"; readonly toolName: string }
  /** So much more, in the unit of the limit that holds the turn. */
  | { readonly kind: "allow"; readonly more: number }
  /** Runs in the shell of this machine. */
  | { readonly kind: "shell"; readonly command: string }
  | { readonly kind: "queue" }
  | { readonly kind: "deliver" }
  | { readonly kind: "help" }
  | { readonly kind: "quit" }
  | { readonly kind: "nothing" }
  | { readonly kind: "wrong"; readonly why: string };

export const ANSWERS = "y, n, n <why>, a (always) or v (never)";

/** @param isAsked - Whether a call waits for an answer. */
export function readLine(typed: string, isAsked: boolean): ChatLine {
  const text = typed.trim();
  if (text === "") return { kind: "nothing" };
  if (typed.startsWith("!")) return readShell(text.slice(1).trim());
  // `//` sends a message that begins with a slash, such as a path.
  if (text.startsWith("//")) return { kind: "message", text: text.slice(1) };
  const command = /^\/([a-z]+)(?:\s+(.*))?$/s.exec(text);
  if (command !== null) return readCommand(command[1] ?? "", (command[2] ?? "").trim());
  if (!isAsked) return { kind: "message", text };
  const answer = readAnswer(text);
  if (answer !== undefined) return { kind: "answer", answer };
  return wrong(
    `Not sent: a call waits for your answer: ${ANSWERS}. Tab sends what you have typed.`,
  );
}

/**
 * The words `yes`, `no`, `always` and `never`, their letters, a reason after a no, and the values of a form:
 * `seats=2, name=Ann`.
 */
export function readAnswer(text: string): Answer | undefined {
  const content = readForm(text);
  if (content !== undefined) return { approved: true, always: false, content };
  const [, word = "", rest] = /^(\p{L}+)(?:[\s:,.]+(\S.*))?$/su.exec(text.trim()) ?? [];
  const reason = rest === undefined ? {} : { reason: rest };
  switch (word.toLowerCase()) {
    case "n":
    case "no":
      return { approved: false, always: false, ...reason };
    case "v":
    case "never":
      return { approved: false, always: true, ...reason };
    // A yes with further words is a message, not an answer.
    case "y":
    case "yes":
      return rest === undefined ? { approved: true, always: false } : undefined;
    case "a":
    case "always":
      return rest === undefined ? { approved: true, always: true } : undefined;
    default:
      return undefined;
  }
}

/** Values are JSON or else texts: `"7"` is a text, and `7` a number. */
function readForm(text: string): JsonObject | undefined {
  const fields = text.split(/,\s*(?=[\w-]+\s*=)/).map((one) => /^\s*([\w-]+)\s*=(.*)$/s.exec(one));
  if (!fields.every((one) => one !== null)) return undefined;
  return Object.fromEntries(fields.map(([, name = "", value = ""]) => [name, formValue(value)]));
}

function formValue(text: string): JsonValue {
  try {
    return jsonSchema.parse(JSON.parse(text));
  } catch {
    return text.trim();
  }
}

function readCommand(name: string, rest: string): ChatLine {
  const reason = rest === "" ? {} : { reason: rest };
  switch (name) {
    case "context":
    case "help":
    case "queue":
    case "deliver":
    case "sessions":
    case "cost":
    case "undo":
    case "redo":
    case "retry":
    case "quit":
      return { kind: name };
    case "exit":
      return { kind: "quit" };
    case "new":
    case "fork":
      if (/\s/.test(rest))
        return wrong(`/${name} alone, or /${name} <name> with a name without spaces.`);
      return rest === "" ? { kind: name } : { kind: name, name: rest };
    case "resume":
      return rest === "" ? { kind: "sessions" } : { kind: "resume", session: rest };
    case "model":
      return rest === "" ? { kind: "model" } : { kind: "model", model: rest };
    case "edit":
      return rest === ""
        ? wrong("/edit <text> sends this text instead of the last message.")
        : { kind: "edit", text: rest };
    case "branches":
      if (rest === "") return { kind: name };
      return NUMBER.test(rest)
        ? { kind: name, branch: Number(rest) }
        : wrong("/branches lists the branches, /branches <number> goes to one.");
    case "at":
    case "restore":
      if (rest === "") return { kind: name };
      return NUMBER.test(rest) ? { kind: name, position: Number(rest) } : wrong(positions[name]);
    case "approve":
      return answered({ approved: true, always: false });
    case "always":
      return answered({ approved: true, always: true });
    case "deny":
      return answered({ approved: false, always: false, ...reason });
    case "never":
      return answered({ approved: false, always: true, ...reason });
    case "ask":
      return rest === ""
        ? wrong("/ask <tool> asks again before its calls, after you answered always or never.")
        : { kind: "ask", toolName: rest };
    case "allow": {
      const more = Number(rest.replace(/^\$/, ""));
      return Number.isFinite(more) && more > 0
        ? { kind: "allow", more }
        : wrong("/allow 2 continues a turn that a limit of spending holds.");
    }
    case "steer":
      return placed(rest, "steer");
    case "later":
      return placed(rest, "follow-up");
    case "compact":
    case "preview":
      return readWay(name, rest);
    case "withdraw":
      return readWithdraw(rest);
    case "cancel":
      return readCancel(rest);
    default:
      return wrong(`There is no /${name}; /help lists the commands.`);
  }
}

function readShell(command: string): ChatLine {
  return command === ""
    ? wrong("!<command> runs a command; a space before the ! sends it as text.")
    : { kind: "shell", command };
}

function wrong(why: string): ChatLine {
  return { kind: "wrong", why };
}

function answered(answer: Answer): ChatLine {
  return { kind: "answer", answer };
}

const NUMBER = /^[1-9]\d{0,14}$/;
const positions = {
  at: "/at shows the present position, /at <position> shows the session there.",
  restore:
    "/restore undoes the newest pruning or compaction, /restore <position> undoes the one there.",
} as const;

/** A number moves a waiting message; text sends a new one. */
function placed(rest: string, delivery: Delivery): ChatLine {
  if (/^\d{1,6}$/.test(rest)) return { kind: "move", number: Number(rest), delivery };
  if (rest !== "") return { kind: "message", text: rest, delivery };
  const name = delivery === "steer" ? "/steer" : "/later";
  return wrong(`${name} <number> moves a waiting message, ${name} <text> sends one.`);
}

function readWithdraw(rest: string): ChatLine {
  if (rest === "all") return { kind: "withdraw", which: "all" };
  const numbers = rest.split(/[\s,]+/).filter((word) => word !== "");
  if (numbers.length === 0 || !numbers.every((word) => /^\d{1,6}$/.test(word))) {
    return wrong("/withdraw <number> or /withdraw all takes waiting messages back.");
  }
  return { kind: "withdraw", which: [...new Set(numbers.map(Number))] };
}

function readCancel(rest: string): ChatLine {
  const words = new Set(rest.split(/\s+/).filter((word) => word !== ""));
  const withdraw = words.delete("all");
  const mode = words.delete("after-tools") ? "after-tools" : "now";
  words.delete("now");
  if (words.size > 0) {
    return wrong("/cancel or /cancel after-tools; all takes back the waiting messages too.");
  }
  return { kind: "cancel", mode, withdraw };
}

function readWay(kind: "compact" | "preview", rest: string): ChatLine {
  if (rest === "") return { kind };
  if (isCompactionWay(rest)) return { kind, how: rest };
  return wrong(`/${kind} alone, or with one of ${compactionWays.join(", ")}.`);
}

// Compaction strategies by the names that a person can type.

/** Turns that `drop-oldest` keeps. The turns of a chat are short. */
const KEPT_TURNS = 2;

const names = [
  "summarize",
  "checkpoint",
  "sliding-window",
  "drop-oldest",
  "drop-middle",
  "by-importance",
] as const;

type CompactionWay = (typeof names)[number];

export const compactionWays: readonly string[] = names;

const ways: Readonly<Record<CompactionWay, () => CompactionStrategy>> = {
  summarize: () => summarize(),
  // The model can read these results again.
  checkpoint: () => checkpoint({ tools: ["read_file", "search_files"] }),
  "sliding-window": () => slidingWindow(),
  "drop-oldest": () => dropOldest({ keepTurns: KEPT_TURNS }),
  "drop-middle": () => dropMiddle(),
  "by-importance": () => byImportance(),
};

function isCompactionWay(name: string): name is CompactionWay {
  return Object.hasOwn(ways, name);
}

export function strategyOf(way: CompactionWay): CompactionStrategy {
  return ways[way]();
}
