/**
 * The processes of the tour: the first kills itself in the middle of a reply, the second continues from its log.
 */

import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { SessionEvent } from "../../events/index.ts";
import { offlineModel } from "../../models/index.ts";
import { manual, slidingWindow, verifySession } from "../../public/index.ts";
import { createRuntime, type Runtime, type Session } from "../../runtime/index.ts";
import { agentParts } from "../chat/model/chat-agent.ts";
import { redrawn } from "../chat/screen/live-output.ts";
import { TurnScreen } from "../chat/screen/turn-screen.ts";
import { amount, figure } from "../wording/wording.ts";
import { DONE, type ExitCode } from "../output/error-report.ts";
import { writeLine, type Output } from "../output/output.ts";

export interface TourOptions {
  /** Milliseconds before each word; the tour's own pauses follow it. */
  readonly pace: number;
  readonly output: Output;
}

const SESSION = "tour";
const QUESTION = "read README.md";
/** Words of the reply before the process dies. */
const WORDS = 30;
/** Milliseconds before a word, so that the reply is not over when the process dies. */
const LEAST_DELAY = 5;
/** A pause to read a sentence, in words of the model. */
const PAUSE = 150;

/** Plays the first half in a folder without a store, and the second half in one with a store. */
export async function playTour(folder: string, options: TourOptions): Promise<ExitCode> {
  const { pace, output } = options;
  const dir = join(folder, ".turnlog");
  const parts = { folder, store: dir, allowWrite: true, canAsk: true, instructions: undefined };
  await using runtime = await createRuntime({
    dir,
    recovery: "continue",
    agent: {
      model: offlineModel({ delay: Math.max(pace, LEAST_DELAY) }),
      ...agentParts(parts),
      context: { prune: false, compact: { when: manual(), how: slidingWindow({ tokens: 200 }) } },
    },
  });
  const revision = await runtime.log.revision(SESSION);
  const narrator = new Narrator(options);
  const open = async (): Promise<Tour> => new Tour(await runtime.session(SESSION), narrator);
  if (revision === 0) await firstHalf(await open());
  // The turn resumes as soon as the session is open.
  await narrator.say(
    `5. Process ${process.pid} opens the store. The log ends at ${revision}, and the turn resumes.`,
  );
  await secondHalf(await open(), runtime, revision);
  await writeLine(output.progress, "");
  return DONE;
}

async function firstHalf(tour: Tour): Promise<void> {
  await tour.say("1. A reply streams. Each word is an event in a log on disk before it is shown.");
  await tour.ask(QUESTION);
  await tour.say("2. A call that changes something waits for a person.");
  await tour.ask('write "checked" to notes.txt', async (event) => {
    if (event.type !== "tool.approval-requested") return;
    await tour.say("In the chat you would type y. The tour answers for you.");
    await tour.approve();
  });
  await tour.say("3. While the agent works, Tab steers: a message enters at the next step.");
  let isSteered = false;
  await tour.ask("which files mention queue?", async ({ type }) => {
    if (type !== "step.started" || isSteered) return;
    isSteered = true;
    // Without a pause before it: the message must be there when the call has ended.
    await tour.session.send("list all files", { delivery: "steer" });
    await tour.tell("> list all files   (Tab)");
  });
  await tour.say(`4. kill -9: this process, ${process.pid}, dies in the middle of the next reply.`);
  let words = 0;
  await tour.ask(QUESTION, async ({ type }) => {
    if (type === "part.text-delta" && ++words === WORDS) process.kill(process.pid, "SIGKILL");
  });
}

async function secondHalf(tour: Tour, runtime: Runtime, revision: number): Promise<void> {
  const { session } = tour;
  await tour.follow(revision);
  const { position, history } = await session.view();
  await tour.say("6. Rewind: the last turn leaves the branch but stays in the log.");
  await session.rewind({ beforeTurn: history.findLast(({ kind }) => kind === "step")?.turn ?? 1 });
  const rewound = await session.view();
  const branches = await session.branches();
  await tour.tell(
    `The prompt has ${rewound.prompt.messages.length} messages; there are ${branches.length} branches.`,
  );
  await session.checkout(branches[0]?.id ?? 1);
  await tour.tell(`Back on the first: ${(await session.view()).prompt.messages.length} messages.`);
  await tour.say("7. Compaction makes the prompt shorter. It is an event too, and can be undone.");
  const before = (await session.context()).tokens;
  await session.compact();
  const compacted = (await session.context()).tokens;
  await session.restore();
  const after = (await session.context()).tokens;
  await tour.tell(
    `~${figure(before)} tokens → ~${figure(compacted)}; after the undo ~${figure(after)} again.`,
  );
  await tour.say("8. Time travel: the session as it was at any position.");
  for (const at of [5, Math.floor(position / 2), position]) {
    const { prompt, summary } = await session.at(at);
    const messages = amount(prompt.messages.length, "message");
    await tour.tell(`at ${at}: ${amount(summary.turns, "turn")}, a prompt of ${messages}`);
  }
  await session.idle();
  const verified = await verifySession(runtime.log, SESSION);
  const laws = verified.problems.length === 0 ? "every law holds" : "laws are broken";
  await tour.say(
    `The log of both processes: ${verified.events} events, and ${laws}. Now yours: the same command without --demo, then /help.`,
  );
}

class Narrator {
  readonly screen: TurnScreen;
  readonly #pace: number;

  constructor({ pace, output }: TourOptions) {
    this.#pace = pace;
    this.screen = new TurnScreen(redrawn(output), { open: [] });
  }

  async say(text: string): Promise<void> {
    await this.screen.note("");
    await this.screen.note(text, "cyan");
    await wait(this.#pace * PAUSE);
  }

  async tell(text: string): Promise<void> {
    await this.screen.note(text);
    await wait((this.#pace * PAUSE) / 2);
  }
}

/** Sends messages to the session, and shows their turns as the chat does. */
class Tour {
  readonly session: Session;
  readonly #narrator: Narrator;

  constructor(session: Session, narrator: Narrator) {
    this.session = session;
    this.#narrator = narrator;
  }

  say(text: string): Promise<void> {
    return this.#narrator.say(text);
  }

  tell(text: string): Promise<void> {
    return this.#narrator.tell(text);
  }

  async ask(text: string, after: (event: SessionEvent) => Promise<void> = async () => {}) {
    await this.#narrator.screen.note(`> ${text}`, "bold");
    const turn = await this.session.send(text);
    for await (const event of turn) {
      await this.#narrator.screen.show(event);
      await after(event);
    }
    await turn.result;
  }

  /** Shows the events after a position, up to the end of the turn. */
  async follow(position: number): Promise<void> {
    const view = await this.session.view();
    // The turn may have ended before its process died.
    if (view.position === position && view.history.at(-1)?.kind === "turn-end") return;
    for await (const event of this.session.events({ from: position + 1 })) {
      await this.#narrator.screen.show(event);
      if (event.type === "turn.ended") return;
    }
  }

  async approve(): Promise<void> {
    const { approvals } = await this.session.view();
    const waiting = approvals.find(({ status }) => status === "waiting");
    if (waiting !== undefined) await this.session.approve(waiting.approvalId);
  }
}
