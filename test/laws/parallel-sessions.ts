/** A session to record: many calls of one step, of which some wait for a place, and results that come in parts. */

import { tool } from "ai";
import { z } from "zod";
import type { Agent, Session } from "../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { usualTools } from "./recording-parts.ts";
import type { Stage } from "./stage.ts";

const city = z.object({ city: z.string() });

/** @param trip - Resolves when the first weather may be told. */
export function busyAgent(
  steps: readonly ScriptedStep[] = [],
  trip: PromiseLike<unknown> = Promise.resolve(),
): Agent {
  const weather = tool({
    inputSchema: city,
    execute: async ({ city }) => {
      if (city === "Ulm") await trip;
      return { city, degrees: city.length };
    },
    toModelOutput: ({ output }) => ({ type: "text", value: `${output.degrees} degrees` }),
  });
  const map = tool({
    inputSchema: city,
    execute: async function* ({ city }) {
      yield { drawn: 0.25 };
      yield { drawn: 0.75 };
      yield `a map of ${city}`;
    },
  });
  const train = tool({
    inputSchema: city,
    execute: async ({ city }): Promise<string> => {
      throw new RangeError(`No train goes to ${city}.`);
    },
  });
  return {
    instructions: "You do many things at once.",
    model: scriptedModel(steps),
    tools: { ...usualTools, weather, map, train },
    toolCallConcurrency: 3,
    toolPolicies: { map: { concurrency: 1 } },
  };
}

export async function parallelSession({ open }: Stage): Promise<Session> {
  const trip = gate();
  const all = ["weather", "map", "map", "train", "weather", "quick"];
  const session = await open(
    busyAgent(
      [
        calling(
          ...all.map((name, index) =>
            call(
              name,
              `${index + 1}`,
              name === "quick" ? {} : { city: index === 0 ? "Ulm" : "Bonn" },
            ),
          ),
        ),
        calling(call("weather", "1", { city: "Jena" }), call("map", "2", { city: "Jena" })),
        "Stay at home.",
      ],
      trip.until,
    ),
  );
  const turn = await session.send("Where shall I go?", { id: "m1" });
  // The first one is the last to be done.
  await seen(session, "tool.succeeded", ({ callId }) => callId === "6");
  trip.open();
  await turn.result;
  return session;
}
