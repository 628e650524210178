/** Defines the commands that read sessions and change nothing. */

import type { LoadedCommand } from "./loaded-command.ts";
import {
  at,
  billOptions,
  compareOptions,
  limit,
  logOptions,
  replayOptions,
  showOptions,
  verifyOptions,
} from "./command-options.ts";
import { position } from "./option-values.ts";

export function addLookCommands(program: LoadedCommand): void {
  program
    .command("sessions")
    .description("list the sessions of the store, newest first")
    .does([limit], async () => (await import("./sessions-command.ts")).sessions);

  program
    .command("show")
    .description("show a session now or at a position; runs nothing")
    .argument("<session>", "its id")
    .does(showOptions, async () => (await import("./show-command.ts")).show);

  program
    .command("branches")
    .description("list the branches of a session, oldest first; * marks the active one")
    .argument("<session>", "its id")
    .does([], async () => (await import("./rewind-command.ts")).branches);

  program
    .command("context")
    .description("show the size and the parts of a session's next prompt")
    .argument("<session>", "its id")
    .does([at], async () => (await import("./context-command.ts")).context);

  program
    .command("bill")
    .description("show what a session paid and for what, or what all sessions paid")
    .argument("[session]", "its id (default: all sessions of the store)")
    .does(billOptions, async () => (await import("./bill-command.ts")).bill);

  program
    .command("diff")
    .description("compare the prompts at two positions of a session, or two sessions by step")
    .argument("<session>", "its id")
    .argument("<before>", "a position, counted from 1; without <after>: another session")
    .argument("[after]", "another position", position)
    .does([], async () => (await import("./diff-command.ts")).diff);

  program
    .command("log")
    .description("print the events of all sessions in the order in which they were written")
    .does(logOptions, async () => (await import("./log-command.ts")).showLog);

  program
    .command("verify")
    .description("check one session, or all, against the laws; exit code 1 if one is broken")
    .argument("[session]", "its id (default: every session of the store)")
    .does(verifyOptions, async () => (await import("./verify-command.ts")).verify);

  program
    .command("replay")
    .description("show a session again as in the chat, or check that its agent repeats it")
    .argument("<session>", "its id")
    .does(replayOptions, async () => (await import("./replay-command.ts")).replaySession);

  program
    .command("compare")
    .description(
      "try a changed agent on recorded sessions: its model is called, its tools answer from the recording",
    )
    .argument("[session...]", "their ids")
    .addHelpText("after", compareHelp)
    .does(compareOptions, async () => (await import("./compare-command.ts")).compareSessions);
}

const compareHelp = `
The agent as it was recorded is the one of --agent without --model and --instructions: it must repeat
the recording. No tool runs but those of --live. Models are called and cost money: see --budget.
Exit codes: 0 if nothing is worse or stopped, 1 otherwise, 2 wrong usage, 130 interrupted.`;
