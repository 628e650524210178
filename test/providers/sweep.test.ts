/**
 * Every session is sent to every provider, at every step, with the provider changed at every position: by the path
 * of a live step, through the real clients, against the rules. A breach names rule, session and position.
 * `npm test` takes a sample in which each provider has its turn; a long run asks all of them at each place.
 */

import { jsonSchema, tool } from "ai";
import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { describeWithCorpus } from "../corpus/corpus-suite.ts";
import { recordedTurn } from "../corpus/recorded-turn.ts";
import { recordedSessions, sessionsPresent } from "../corpus/session-corpus.ts";
import { corpusPresent, wireRows } from "../corpus/wire-manifest.ts";
import { serveWire } from "../corpus/wire-server.ts";
import { fixtureNames, readFixture } from "../laws/session-fixture.ts";
import { long, lot, sampled, stepOf, times } from "../support/runs.ts";
import { dressed, makers, type MakerName } from "./dressed.ts";
import { providerNames } from "./index.ts";
import { breachesAt, sources, type AgentParts, type Place } from "./posted.ts";
import {
  fuzzedLog,
  fuzzedValues,
  hostileLogs,
  imaginedLogs,
  placesOf,
  recordedPlaces,
} from "./sweep-sessions.ts";

const counted = { sessions: 0, places: 0, requests: 0 };

afterAll(() => {
  const { sessions, places, requests } = counted;
  console.log(`${requests} requests, from ${places} places of ${sessions} sessions, were judged.`);
});

let next = lot;

/** The breaches of all requests. Each provider and each step source has its turn. */
async function sweep(
  places: Iterable<Place>,
  parts?: AgentParts,
  least = 1,
): Promise<readonly string[]> {
  counted.sessions += 1;
  const count = long ? Math.max(least, providerNames.length) : least;
  const found: string[] = [];
  for (const place of places) {
    counted.places += 1;
    for (let index = 0; index < count; index++) {
      next += 1;
      const provider = providerNames[next % providerNames.length];
      const source = sources[Math.floor(next / providerNames.length) % sources.length];
      if (provider === undefined || source === undefined) throw new Error("Nobody is asked.");
      counted.requests += 1;
      found.push(...(await breachesAt(place, provider, source, { setting: next % 5, ...parts })));
    }
  }
  return found;
}

const makerNames = Object.keys(makers) as MakerName[];

describe.each(makerNames)("what %s has made, every provider takes", (maker) => {
  it("in generated sessions", async () => {
    const logs = fc.sample(imaginedLogs, { numRuns: times(2, 6), seed: 2026 + lot });
    for (const [index, log] of logs.entries()) {
      const places = placesOf(`generated ${index}`, dressed(log, makers[maker]), stepOf(7));
      expect(await sweep(places)).toEqual([]);
    }
  });

  it.each(sampled(fixtureNames, 3, makerNames.indexOf(maker)))(
    "in the recorded session %s",
    async (name) => {
      const events = dressed(await readFixture(name), makers[maker]);
      expect(await sweep(placesOf(name, events, stepOf(9)))).toEqual([]);
    },
  );
});

describe("Whatever is in a session, every provider takes it", () => {
  it("fuzzed: what is said, names and inputs of calls, results, errors and instructions", async () => {
    const fuzzed = fc.sample(fuzzedValues, { numRuns: times(60, 150), seed: 2026 + lot });
    for (const [index, values] of fuzzed.entries()) {
      const places = placesOf(`fuzzed ${index}`, fuzzedLog(values), 1000);
      const found = await sweep(places, { instructions: values.said }, 3);
      expect(found, JSON.stringify(values)).toEqual([]);
    }
  });

  it.each(hostileLogs())("hostile: %s", async (name, log) => {
    expect(await sweep(placesOf(name, log, 1000))).toEqual([]);
  });

  const at = { type: "object", properties: { at: { type: "string" } } } as const;
  it.each<[string, object]>([
    ["nothing", {}],
    ["anything", { additionalProperties: true }],
    ["no inputs", { type: "object", properties: {} }],
    ["alternatives at the top", { anyOf: [at, { required: ["to"] }] }],
    ["alternatives beside inputs", { ...at, oneOf: [{ required: ["at"] }, { required: [] }] }],
    ["all of several", { allOf: [at, at] }],
    ["a reference at the top", { $ref: "#/$defs/at", $defs: { at } }],
    ["names of inputs with spaces and brackets", { ...at, properties: { "at [] it": {} } }],
    ["half a character", { ...at, description: "half of a \ud83d" }],
    ["inputs within inputs", { type: "object", properties: { at: { anyOf: [at, at] } } }],
  ])("a tool of an MCP server whose schema has %s", async (title, schema) => {
    const look = tool({ inputSchema: jsonSchema(schema), execute: () => "seen" });
    const tools = { look, search: look };
    const log = fuzzedLog({
      said: "Look.",
      toolName: "look",
      input: { at: "it" },
      output: "seen",
      error: { name: "Error", message: "Not there." },
    });
    const [place] = placesOf(title, log, 1000).slice(-1);
    if (place === undefined) throw new Error("There is no place.");
    expect(await sweep([place], { tools }, providerNames.length * sources.length)).toEqual([]);
  });
});

describeWithCorpus("what was recorded of others", () => {
  it.each(sampled(corpusPresent ? wireRows() : [], 20))(
    "every provider takes, with the marks of its own: $family $file",
    async (row) => {
      await using server = await serveWire(row, { seed: 3 });
      const { events } = await recordedTurn(row, server, "language-model-call");
      const places = placesOf(row.file, events, stepOf(200));
      expect(await sweep(places, {}, 4)).toEqual([]);
    },
  );

  const recorded = sessionsPresent ? recordedSessions() : [];

  it("every provider takes, at every step of a session", async () => {
    for (const session of sampled(recorded, 5)) {
      const places = sampled([...recordedPlaces(session)], 9, session.messages.length);
      expect(await sweep(places)).toEqual([]);
    }
  });
});
