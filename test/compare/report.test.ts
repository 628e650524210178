/** The report on several sessions: figures, verdicts, what to read first; as HTML and JUnit, with hostile texts. */

import { expect, it } from "vitest";
import {
  htmlOf,
  junitOf,
  pair,
  report,
  type ComparedSession,
  type Lane,
} from "../../src/compare/index.ts";
import { call, calling } from "../support/script.ts";
import { lane, usual } from "./lanes.ts";

interface More extends Partial<
  Pick<ComparedSession, "run" | "misses" | "stopped" | "scores" | "replay">
> {
  readonly session: string;
}

const recorded = await lane();

function compared(candidate: Lane, { session, ...more }: More): ComparedSession {
  return {
    session,
    run: 1,
    recorded,
    candidate,
    pair: pair(recorded, candidate),
    replay: { equal: true },
    misses: [],
    scores: {},
    ...more,
  };
}

const scored = (now: number) => ({ scores: { accuracy: { recorded: 0.5, candidate: now } } });
const miss = { step: 2, toolName: "refund", input: { order: 1 }, policy: "stop" } as const;
const stopped = { at: "miss", step: 2, of: 4, why: "Step 2: no recorded refund." } as const;

const other = await lane({ script: usual.with(1, "It is 7.") });
const failing = await lane({ script: [...usual.slice(0, 3), { failure: new Error("Gone.") }] });
const calls = await lane({
  script: usual.with(2, calling(call("refund", "x", { order: 18 }))),
});
const short = await lane({
  script: usual.slice(0, 1),
  messages: ["What is order 16?"],
  maxSteps: 1,
});

const set = [
  compared(recorded, { session: "same" }),
  compared(other, { session: "other" }),
  compared(failing, { session: "failing" }),
  compared(other, { session: "gain", ...scored(1) }),
  compared(other, { session: "small loss", ...scored(0.4) }),
  compared(other, { session: "loss", ...scored(0) }),
  compared(other, {
    session: "mixed",
    scores: { accuracy: { recorded: 0.5, candidate: 1 }, tone: { recorded: 0.5, candidate: 0.2 } },
  }),
  compared(calls, { session: "calls" }),
  compared(short, { session: "stopped", misses: [miss], stopped }),
];

it("says what became better, worse and different, by scores and else by ends", () => {
  const { sessions, counts, shares } = report("e", "c", set);
  expect(sessions.map(({ session, verdict }) => [session, verdict])).toEqual([
    ["same", "equal"],
    ["other", "different"],
    ["failing", "worse"],
    ["gain", "better"],
    ["small loss", "worse"],
    ["loss", "worse"],
    ["mixed", "better"],
    ["calls", "different"],
    ["stopped", "stopped"],
  ]);
  expect(counts).toEqual({
    sessions: 9,
    runs: 9,
    replayed: 9,
    misses: 1,
    equal: 1,
    better: 2,
    worse: 3,
    different: 2,
    stopped: 1,
  });
  expect(shares.worse).toMatchObject({ value: 3 / 9, n: 9 });
});

it("orders what to read first: loss of score, worse ends, misses, calls, the rest", () => {
  const { first } = report("e", "c", set);
  expect(first.map(({ session, reason }) => [session, reason])).toEqual([
    ["loss", "The score accuracy fell from 0.5 to 0."],
    ["mixed", "The score tone fell from 0.5 to 0.2."],
    ["small loss", "The score accuracy fell from 0.5 to 0.4."],
    ["failing", 'Turn 2 failed with "Gone."; the recorded turn finished.'],
    ["stopped", "Step 2: no recorded refund."],
    ["calls", "Step 3 calls refund with another input: `order` is 18 and was 17."],
    ["other", 'Step 2 says "It is 7.", the recording said "It is 6.".'],
    ["gain", 'Step 2 says "It is 7.", the recording said "It is 6.".'],
  ]);
  const many = Array.from({ length: 20 }, (_, index) => compared(other, { session: `s${index}` }));
  expect(report("e", "c", many).first).toHaveLength(10);
});

it("has the figures of those that came to their end; runs of one session count once", () => {
  const { totals, scores } = report("e", "c", [
    compared(recorded, { session: "a", ...scored(1) }),
    compared(recorded, { session: "a", run: 2, ...scored(0) }),
    compared(recorded, { session: "b", ...scored(1) }),
    compared(short, { session: "c", stopped }),
  ]);
  expect(totals.steps).toEqual({
    recorded: 4,
    candidate: 4,
    difference: { value: 0, low: 0, high: 0, n: 2 },
  });
  expect(totals.dollars.recorded).toBeCloseTo(recorded.totals.dollars ?? 0);
  expect(scores["accuracy"]).toMatchObject({
    recorded: 0.5,
    candidate: 0.75,
    difference: { value: 0.25, n: 2 },
  });
});

it("is JSON", () => {
  const made = report("e", "c", set);
  expect(JSON.parse(JSON.stringify(made))).toEqual(made);
});

const attack = `</pre></details><script>alert(1)</script><img src=x onerror="alert(1)">'"&\u0000\u202E\uD800]]>`;

async function hostile() {
  const said = await lane({ script: usual.with(1, attack) });
  return report(attack, attack, [
    compared(said, {
      session: attack,
      scores: { [attack]: { recorded: 1, candidate: 0 } },
      misses: [{ ...miss, toolName: attack, input: attack }],
      stopped: { ...stopped, why: attack },
      replay: { skipped: attack },
    }),
    compared(said, { session: "z", replay: { equal: false, difference: attack } }),
  ]);
}

it("is one HTML file in which hostile texts are text", async () => {
  const html = htmlOf(await hostile());
  // No element but those of the report, and no attribute of another name.
  const tags = new Set(html.match(/<[^/!][^>]*>/g)?.map((tag) => tag.replace(/[ >].*/s, "")));
  expect(tags).not.toContain("<script");
  expect(tags).not.toContain("<img");
  // An attribute that a text broke out of would leave an odd quote.
  for (const tag of html.match(/<[^/!][^>]*>/g) ?? [])
    expect(tag).toMatch(/^<\w+( [\w-]+="[^"]*")*>$/);
  expect(html).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
  for (const character of ["\u0000", "\u202E", "\uD800"]) expect(html).not.toContain(character);
  expect(html).not.toMatch(/(src|href)="?(https?:|\/\/)/);
});

it("is JUnit XML: a failure has the first difference, and a recording that differs is an error", async () => {
  const xml = junitOf(report("e", "c", set));
  expect(xml).toContain('<testsuite name="e" tests="9" failures="6" errors="0">');
  expect(xml).toMatch(/<testcase classname="e" name="same, run 1" time="[\d.]+"\/>/);
  expect(xml).toContain(
    '<failure message="Step 2 says &quot;It is 7.&quot;, the recording said &quot;It is 6.&quot;.">',
  );
  const other = junitOf(await hostile());
  expect(other).toContain('failures="1" errors="1"');
  // No markup but that of JUnit, and no character that XML forbids.
  expect(other).not.toMatch(/<(?!\/?(testsuites|testsuite|testcase|failure|error)\b|\?xml)/);
  expect(other).not.toMatch(/&(?!(amp|lt|gt|quot|#39);)/);
  expect(other).not.toMatch(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u);
});
