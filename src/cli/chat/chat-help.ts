/** The text of `/help`: keys, answers and commands of a chat. */

import { compactionWays } from "./compaction-ways.ts";

const keys: readonly (readonly [string, string])[] = [
  ["Enter", "sends; while the agent works, the message waits until the turn has ended"],
  ["Alt-Enter", "begins a new line in what you type"],
  ["Up, Down", "bring back earlier lines of this session"],
  ["Tab", "steers: the message enters at the next step of the turn that runs"],
  ["Esc, Ctrl-C", "cancels; while tools run it waits for them, and a second one does not"],
  ["Ctrl-D", "leaves, as Ctrl-C does when nothing runs"],
];

const answers: readonly (readonly [string, string])[] = [
  ["y", "runs the call (also: yes, /approve)"],
  ["n, n <why>", "refuses the call; the model is told why (also: no, /deny)"],
  ["a", "runs it, and every later call of this tool in this session (/always)"],
  ["v, v <why>", "refuses it, and every later call of this tool (/never)"],
];

const commands: readonly (readonly [string, string])[] = [
  ["/queue", "lists the waiting messages with their numbers"],
  ["/steer <n>", "moves one to the next step; /steer <text> sends a new message there"],
  ["/later <n>", "moves one after the turn; /later <text> sends a new message there"],
  ["/withdraw <n>", "takes waiting messages back; /withdraw all takes all"],
  ["/resume", "delivers messages that a cancelled or failed turn has held back"],
  ["/ask <tool>", "asks again before calls of a tool, after an always or never"],
  ["/cancel", "stops the turn; after-tools waits for them; all takes the waiting messages back"],
  ["/context", "shows the size and parts of the next prompt, and how much is free"],
  ["/compact", "compacts the prompt as the agent does; /compact <way> in one of these ways:"],
  ["", compactionWays.join(", ")],
  ["/restore", "undoes the newest pruning or compaction; /restore <position> the one there"],
  ["/preview", "shows the prompt after /compact or /compact <way>; changes nothing"],
  ["/fork", "continues in a fork of this session, which does not change; /fork <name> names it"],
  ["/undo, /redo", "goes back to before the last turn, and returns from there"],
  ["/edit <text>", "sends this text instead of the last message"],
  ["/retry", "asks for another reply to the last message"],
  ["/branches", "lists the branches; /branches <number> goes to one"],
  ["/at <n>", "shows the session at position n; /at alone its present position"],
  ["/quit", "leaves; a turn that runs is cancelled, waiting messages stay"],
  ["@<file>", "anywhere in a message sends the file along; @<address> one from the web"],
  ["//…", "sends a message that begins with a slash"],
];

/** One row for each key, answer and command. */
export function helpLines(): readonly string[] {
  return [
    ...keys.map(row),
    "",
    "When a call waits for your answer:",
    ...answers.map(row),
    "",
    ...commands.map(row),
  ];
}

function row([name, what]: readonly [string, string]): string {
  return `  ${name.padEnd(14)} ${what}`;
}
