/** The sessions of the demo: the messages of each, and the answers of their models. */

import { APICallError } from "ai";
import type { ScriptedStep } from "../../models/index.ts";
import type { Session } from "../../runtime/index.ts";
import { called, said, step, thought } from "./demo-agent.ts";

const FIX = `The flush loses jobs that come while it writes. \`push\` adds to the same array that \`#flush\` empties **after** the write:

\`\`\`ts
async #flush(): Promise<void> {
  const jobs = this.#jobs.splice(0);
  this.#timer = undefined;
  await this.sink.write(jobs);
}
\`\`\`

Taking the jobs out first means that a job that comes meanwhile begins a flush of its own.`;

const overloaded = (): ScriptedStep => ({
  failure: new APICallError({
    message: "Overloaded",
    statusCode: 529,
    responseHeaders: { "retry-after-ms": "5" },
    url: "https://provider.invalid",
    requestBodyValues: {},
    isRetryable: true,
  }),
});

const outline = (city: string): ScriptedStep =>
  step(
    1_900,
    said(
      `Three days in ${city}:\n\n1. The old town on foot, the market at noon.\n2. The museum in the morning, the river in the evening.\n3. A train into the hills, back by eight.\n\nTell me what you like to eat and I add restaurants.`,
    ),
  );

/** The answers of each session's model, by the session's name. */
export const scripts: Readonly<Record<string, readonly ScriptedStep[]>> = {
  "fix-flaky-test": [
    step(
      3_140,
      thought("The test fails now and then. I should see the test and the queue before I guess."),
      said("I look at the test and at what it tests."),
      called("read_file", { path: "test/queue.test.ts" }),
      called("read_file", { path: "src/queue.ts" }),
    ),
    step(
      4_310,
      thought(
        "Jobs pushed during the write land in an array that is then replaced. That is the race.",
      ),
      called("run_tests", { command: "vitest run test/queue.test.ts" }),
    ),
    step(4_720, said(FIX)),
    step(
      5_380,
      called("edit_file", {
        path: "src/queue.ts",
        find: "const jobs = this.#jobs;",
        replace: "const jobs = this.#jobs.splice(0);",
      }),
      called("run_tests", { command: "vitest run test/queue.test.ts --repeat 40" }),
    ),
    step(5_960, said("Done. 40 runs pass; before, about one in seven failed.")),
    step(6_240, called("read_file", { path: "docs/queue.md" })),
    step(
      6_510,
      said(
        "There is no `docs/queue.md`, so nothing there has to change. I would add a line to the changelog: “Jobs that come during a flush are no longer lost.”",
      ),
    ),
    step(
      2_180,
      said(
        "The race was between `push` and `#flush`: both used one array. The fix takes the jobs out before it writes.",
      ),
    ),
  ],
  "fix-flaky-test-lock": [
    step(
      5_020,
      thought("A lock would also work, but it makes every push wait for the sink."),
      called("edit_file", {
        path: "src/queue.ts",
        find: "async #flush",
        replace: "async #flushLocked",
      }),
    ),
    step(
      5_600,
      said(
        "With a lock, `push` waits while the sink writes. It is correct and slower: 11 ms a push under load instead of 0.02 ms. I would keep `splice(0)`.",
      ),
    ),
  ],
  "refund-4711": [
    step(2_050, said("I look the order up."), called("find_order", { order: "4711" })),
    step(
      2_420,
      thought("Four gears, one broken: a quarter of 74 is 18.50."),
      said("One of four gears is broken, so 18.50 goes back."),
      called("refund", { order: "4711", amount: 74 }),
    ),
    step(
      2_790,
      said("You are right, not the whole order. I refund one gear."),
      called("refund", { order: "4711", amount: 18.5 }),
    ),
    step(3_080, said("18.50 is on its way back (RF-20931). Shall I tell the customer?")),
    step(
      3_240,
      called("send_mail", {
        to: "ada@example.com",
        text: "Your refund of 18.50 (RF-20931) is on its way.",
      }),
    ),
  ],
  "nightly-report-before": [
    step(
      1_720,
      said("I sum the sales of each region."),
      called("query_sales", { region: "north" }),
      called("query_sales", { region: "south" }),
    ),
    step(2_260, said("North and south are done.")),
  ],
  "nightly-report": [
    step(
      2_260,
      said(
        "| region | orders | revenue |\n|---|---|---|\n| north | 447 | 99,755 |\n| south | 447 | 99,755 |\n\nBoth regions are level with last week.",
      ),
    ),
  ],
  "plan-a-trip": [
    outline("Lisbon"),
    outline("Porto"),
    outline("Porto, by train"),
    step(2_480, said("Vegetarian: **Daterra** near the station, **O Macrobiótico** by the river.")),
  ],
  "rate-limited": [
    overloaded(),
    overloaded(),
    step(
      1_480,
      said("The provider refused twice and answered the third time. Both attempts are in the log."),
    ),
  ],
  "right-to-left": [
    step(
      1_310,
      said(
        "مرحبًا! 你好！👩‍🚀 Die Donaudampfschifffahrtsgesellschaftskapitänsmütze ist ein langes Wort, und `أهلاً` steht von rechts nach links.",
      ),
    ),
  ],
};

async function ask(session: Session, text: string): Promise<void> {
  await (await session.send(text)).untilRest();
}

/** How each session is played. */
export const plays: Readonly<Record<string, (session: Session) => Promise<void>>> = {
  "fix-flaky-test": async (session) => {
    await ask(session, "test/queue.test.ts fails about one time in seven. Why?");
    const { position } = await session.view();
    await ask(session, "Fix it, and run the test 40 times.");
    await ask(session, "Does the documentation say anything about it?");
    await session.compact();
    await ask(session, "In two sentences for the changelog, please.");
    const fork = await session.fork({ id: "fix-flaky-test-lock", position });
    await ask(fork, "Would a lock be simpler?");
  },
  "refund-4711": async (session) => {
    await ask(session, "Order 4711: one of the gears came broken. Refund it.");
    await answer(session, false, "Only one of four is broken.");
    await answer(session, true);
    await ask(session, "Yes, please.");
  },
  "plan-a-trip": async (session) => {
    const first = await session.send("Plan three days in Lisbon.");
    await first.untilRest();
    const second = await session.send("Plan three days in Porto.", { replaces: first.messageId });
    await second.untilRest();
    const third = await session.send("Plan three days in Porto, by train.", {
      replaces: second.messageId,
    });
    await third.untilRest();
    await ask(session, "I eat vegetarian.");
  },
  "rate-limited": async (session) => {
    await ask(session, "Are you there?");
  },
  "right-to-left": async (session) => {
    await ask(session, "قل مرحبًا بثلاث لغات");
  },
};

async function answer(session: Session, isApproved: boolean, reason?: string): Promise<void> {
  const { approvals } = await session.view();
  const waiting = approvals.find(({ status }) => status === "waiting");
  if (waiting === undefined) return;
  const { approvalId } = waiting;
  const { position } = await session.view();
  const by = { by: "mira", ...(reason === undefined ? {} : { reason }) };
  await (isApproved ? session.approve(approvalId, by) : session.deny(approvalId, by));
  for await (const { type } of session.events({ from: position + 1 }))
    if (type === "turn.ended" || type === "tool.approval-requested") return;
}

/** The session whose process dies between the two calls of its first step. */
export const crashed = {
  before: "nightly-report-before",
  name: "nightly-report",
  message: "Write the sales report of last night.",
  isLast: (type: string): boolean => type === "tool.succeeded",
} as const;
