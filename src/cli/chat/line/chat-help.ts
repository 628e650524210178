/** The text of `/help`: keys, answers and commands of a chat. */

import { wrapped } from "../../terminal/cells.ts";
import { compactionWays } from "./chat-line.ts";

const keys: readonly (readonly [string, string])[] = [
  ["Enter", "sends; while the agent works, the message waits until the turn has ended"],
  ["Alt-Enter", "begins a new line in what you type (also Ctrl-J)"],
  ["Up, Down", "bring back earlier lines, even from other sessions; Down chooses in lists"],
  [
    "Ctrl-R",
    "searches those lines: Ctrl-R again finds an older one, Enter takes the line, Esc gives up",
  ],
  [
    "Tab",
    "completes commands, sessions and @files; otherwise steers: the message enters at the next step",
  ],
  ["Esc, Ctrl-C", "cancels; while tools run it waits for them, and a second press does not"],
  ["Ctrl-G", "opens what you type in your editor (VISUAL or EDITOR)"],
  ["Ctrl-Z, Ctrl-L", "gives the terminal back to the shell until fg; clears the screen"],
  ["Ctrl-D", "leaves; so does Ctrl-C twice when nothing runs"],
];

const answers: readonly (readonly [string, string])[] = [
  ["y", "runs the call (also: yes, /approve)"],
  ["n, n <why>", "refuses the call; the model is told why (also: no, /deny)"],
  ["a", "runs it, and every later call of this tool in this session (/always)"],
  ["v, v <why>", "refuses it, and every later call of this tool (/never)"],
];

/** The commands and what may stand in a message, as `/help` shows them. */
export const chatCommands: readonly (readonly [string, string])[] = [
  ["/queue", "lists the waiting messages with their numbers"],
  ["/steer <n>", "moves one to the next step; /steer <text> sends a new message there"],
  ["/later <n>", "moves one after the turn; /later <text> sends a new message there"],
  ["/withdraw <n>", "takes waiting messages back; /withdraw all takes back all of them"],
  ["/deliver", "delivers messages that a cancelled or failed turn has held back"],
  ["/ask <tool>", "asks again before calls of a tool, after you answered always or never"],
  ["/allow <n>", "continues a turn that a limit holds, with so many dollars or tokens more"],
  ["/cancel", "stops the turn; after-tools waits for them; all takes the waiting messages back"],
  ["/new", "begins another session; /new <name> names it"],
  ["/resume <id>", "goes to another session"],
  ["/sessions", "lists the sessions of this store"],
  ["/model", "says which model answers; /model <model> changes it"],
  ["/cost", "shows tokens and cost of this session"],
  ["/context", "shows the size and parts of the next prompt, and how much is free"],
  ["/compact", "compacts the prompt as the agent does; /compact <way> in one of these ways:"],
  ["", compactionWays.join(", ")],
  ["/restore", "undoes the newest pruning or compaction; /restore <position> undoes the one there"],
  ["/preview", "shows the prompt after /compact or /compact <way>; changes nothing"],
  ["/fork", "continues in a fork of this session, which does not change; /fork <name> names it"],
  ["/undo, /redo", "goes back to before the last turn, and returns from there"],
  ["/edit <text>", "sends this text instead of the last message"],
  ["/retry", "asks for another reply to the last message"],
  ["/branches", "lists the branches; /branches <number> goes to one"],
  ["/at <n>", "shows the session at position n; /at alone shows its present position"],
  ["/exit, /quit", "leaves; a running turn is cancelled, and waiting messages stay"],
  ["@<file>", "anywhere in a message sends the file along; @<address> sends one from the web"],
  ["!<command>", "runs a command on this machine; its output goes with your next message"],
  ["//…", "sends a message that begins with a slash"],
];

/** The answers without further words, to choose from. */
export const answerChoices: readonly { readonly name: string; readonly what: string }[] =
  answers.map(([names, what]) => ({ name: names.slice(0, 1), what }));

/** The commands, to complete. Answers name theirs in the text about them. */
export const commandNames: readonly { readonly name: string; readonly what: string }[] = [
  ...answers.map(([name, what]) => [what, `answers a call: ${name}`] as const),
  ...chatCommands,
  ["/help", "lists keys, answers and commands"] as const,
]
  .flatMap(([names, what]) => [...names.matchAll(/\/[a-z]+/g)].map(([name]) => ({ name, what })))
  .toSorted((one, other) => (one.name < other.name ? -1 : 1));

/** A row for each key, answer and command; more where the window is narrow. */
export function helpLines(columns: number): readonly string[] {
  const rows = (listed: typeof keys): readonly string[] =>
    listed.flatMap((one) => rowsOf(one, columns));
  return [
    ...rows(keys),
    "",
    "When a call waits for your answer:",
    ...rows(answers),
    "",
    ...rows(chatCommands),
  ];
}

/** Cells before the texts. */
const NAMES = 17;

function rowsOf([name, what]: (typeof keys)[number], columns: number): readonly string[] {
  const begin = `  ${name.padEnd(NAMES - 3)} `;
  // A narrow window gets whole lines, which are wrapped below the name.
  if (columns < 60) return [begin + what];
  return wrapped(what, columns - NAMES).map(
    (row, index) => (index === 0 ? begin : " ".repeat(NAMES)) + row,
  );
}
