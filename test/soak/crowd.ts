/**
 * Many sessions at once on one runtime, each of so many steps with tools, in which its user steers,
 * says more, and cancels. Run by the soak test, which asks for the laws, and by the benchmark, which
 * asks what it costs.
 */

import { createRuntime, type EventLog, type Session } from "../../src/public/index.ts";
import { seededRandom, type Random } from "../support/random.ts";
import { crowdModel, crowdTools } from "./crowd-agent.ts";

export interface CrowdOptions {
  readonly log: EventLog;
  readonly sessions: number;
  /** Model steps that each session takes at least. */
  readonly steps: number;
  readonly seed: string;
}

/** What the users of a crowd did. */
export interface CrowdReport {
  /** Ids of the messages that `send` accepted, by session. */
  readonly accepted: ReadonlyMap<string, readonly string[]>;
  readonly steps: number;
  readonly cancels: number;
  readonly steers: number;
}

/** Runs them all to their ends. */
export async function runCrowd(options: CrowdOptions): Promise<CrowdReport> {
  const { log, sessions, steps, seed } = options;
  await using runtime = await createRuntime({
    log,
    graceMs: 20,
    idleAfterMs: 10,
    agent: { model: crowdModel(), tools: crowdTools(), maxSteps: 8, toolCallConcurrency: 2 },
  });
  const names = Array.from(
    { length: sessions },
    (_, index) => `${seed.replaceAll(" ", "-")}-${index + 1}`,
  );
  const users = await Promise.all(
    names.map(async (name) => {
      const user = new User(await runtime.session(name), seededRandom(`${seed} ${name}`));
      await user.go(steps);
      return user;
    }),
  );
  const sum = (of: (user: User) => number): number =>
    users.reduce((total, user) => total + of(user), 0);
  return {
    accepted: new Map(users.map((user) => [user.session.id, user.accepted])),
    steps: sum((user) => user.steps),
    cancels: sum((user) => user.cancels),
    steers: sum((user) => user.steers),
  };
}

/** Somebody who talks to one session and has little patience. */
class User {
  readonly session: Session;
  readonly accepted: string[] = [];
  steps = 0;
  cancels = 0;
  steers = 0;
  readonly #random: Random;
  readonly #side: Promise<unknown>[] = [];
  #messages = 0;

  constructor(session: Session, random: Random) {
    this.session = session;
    this.#random = random;
  }

  async go(steps: number): Promise<void> {
    while (this.steps < steps) await this.#converse();
    await Promise.all(this.#side);
    // What a cancel held back goes with one message more.
    while ((await this.session.view()).queue.length > 0) await this.#converse();
  }

  async #converse(): Promise<void> {
    const turn = await this.#say("follow-up");
    for await (const event of turn) {
      if (event.type === "step.finished") this.steps += 1;
      if (event.type !== "step.finished" && event.type !== "tool.started") continue;
      if (this.#random.chance(0.05)) this.#steer();
      if (this.#random.chance(0.02)) this.#cancel();
    }
    await turn.result;
  }

  #steer(): void {
    this.steers += 1;
    this.#side.push(this.#say("steer"));
  }

  #cancel(): void {
    this.cancels += 1;
    this.#side.push(this.session.cancel({ reason: "enough" }));
  }

  async #say(delivery: "steer" | "follow-up") {
    this.#messages += 1;
    const id = `${this.session.id}-${this.#messages}`;
    const turn = await this.session.send(`Message ${id}.`, { id, delivery });
    this.accepted.push(id);
    return turn;
  }
}
