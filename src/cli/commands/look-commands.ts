/** Defines the commands that read sessions and change nothing. */

import { type Command, Option } from "commander";
import type { Runs } from "./loaded-command.ts";
import { atLeastOne, position, pace, positiveNumber, step } from "./option-values.ts";

export function addLookCommands(program: Command, runs: Runs): void {
  program
    .command("sessions")
    .description("list the sessions of the store, newest first")
    .option("--limit <n>", "list only the newest n (default: all)", atLeastOne)
    .action(runs(async () => (await import("./sessions-command.ts")).sessions));

  program
    .command("show")
    .description("show a session now or at a position; runs nothing")
    .argument("<session>", "its id")
    .option("--position <n>", "the position, counted from 1 (default: the last)", position)
    .addOption(
      new Option("--view <view>", "what to show")
        .choices(["events", "history", "prompt", "state", "usage", "timeline"])
        .default("history"),
    )
    .option("--step <n>", "one step of the timeline", step)
    .option("--full", "show long values in full")
    .action(runs(async () => (await import("./show-command.ts")).show));

  program
    .command("branches")
    .description("list the branches of a session, oldest first; * marks the active one")
    .argument("<session>", "its id")
    .action(runs(async () => (await import("./rewind-command.ts")).branches));

  program
    .command("context")
    .description("show the size and the parts of a session's next prompt")
    .argument("<session>", "its id")
    .option("--position <n>", "the position, counted from 1 (default: the last)", position)
    .action(runs(async () => (await import("./context-command.ts")).context));

  program
    .command("diff")
    .description("compare the prompts at two positions of a session")
    .argument("<session>", "its id")
    .argument("<before>", "a position, counted from 1", position)
    .argument("<after>", "another one", position)
    .action(runs(async () => (await import("./diff-command.ts")).diff));

  program
    .command("log")
    .description("print the events of all sessions in the order in which they were written")
    .option("--session <id>", "only the events of one session")
    .option("--from <n>", "the first global position, counted from 1", position)
    .option("--follow", "also print later events, each time a process closes the store")
    .action(runs(async () => (await import("./log-command.ts")).showLog));

  program
    .command("verify")
    .description("check one session, or all, against the laws; exit code 1 if one is broken")
    .argument("[session]", "its id (default: every session of the store)")
    .option(
      "--every <n>",
      "compare states at every n-th position (default: 16 of them)",
      atLeastOne,
    )
    .option(
      "--chain <position:digest>",
      "the end of the session's hash chain, as you noted it earlier",
    )
    .action(runs(async () => (await import("./verify-command.ts")).verify));

  program
    .command("replay")
    .description("show a session again as in the chat, or check that its agent repeats it")
    .argument("<session>", "its id")
    .option(
      "--pace <pace>",
      "at-once, recorded, or a factor of the recorded speed",
      pace,
      "at-once",
    )
    .option("--max-gap <seconds>", "the longest wait between two events", positiveNumber)
    .option("--check", "run the agent against the recording; exit code 1 if anything differs")
    .option(
      "--agent <module>",
      "the agent to check: a module that exports it (default: the chat's agent)",
    )
    .addOption(
      new Option("--allow <what...>", "what may differ in a check").choices([
        "instructions",
        "tool-descriptions",
      ]),
    )
    .action(runs(async () => (await import("./replay-command.ts")).replaySession));
}
