/** Tools that load late: `toolSearch()` finds them by the SDK's ranking, and the next request has them. */

import { tool, toolSearch, type ToolSet } from "ai";
import { z } from "zod";
import { call, calling } from "../support/script.ts";
import { conforms, type ConformanceCase } from "./conformance.ts";

const inputSchema = z.object({});
const late = (name: string, description?: string): ToolSet => ({
  [name]: tool({
    deferLoading: true,
    inputSchema,
    ...(description === undefined ? {} : { description }),
    execute: () => `${name} answers`,
  }),
});
const tools: ToolSet = {
  ...late("getWeather", "Tells the forecast of a city."),
  ...late("weather_history", "Tells how the weather was."),
  ...late("sendMail", "Sends a letter."),
  ...late("nameless"),
  clock: tool({ inputSchema, execute: () => "noon" }),
};

const asks = (query: string, id = "s") => calling(call("search", id, { query }));

const differs = { calls: "The text of a failed call has no name of an error before it." };

function searching(
  name: string,
  steps: ReturnType<ConformanceCase["make"]>["script"],
  settings: ReturnType<ConformanceCase["make"]>["settings"] = {},
): ConformanceCase {
  return {
    name,
    make: () => ({
      script: steps,
      settings: { tools: { search: toolSearch(), ...tools }, ...settings },
    }),
  };
}

conforms([
  searching("a search, then a call of what it found", [
    asks("weather forecast"),
    calling(call("getWeather", "w")),
    "Rain.",
  ]),
  searching("a search that finds nothing", [asks("xylophone"), "Nothing."]),
  {
    ...searching("a call of a tool that was not found", [calling(call("sendMail", "m")), "Sorry."]),
    differs,
  },
  {
    ...searching("a call in the same reply as the search that finds its tool", [
      calling(call("search", "s", { query: "mail" }), call("sendMail", "m")),
      calling(call("sendMail", "n")),
      "Sent.",
    ]),
    differs: { ...differs, executions: "The messages of the later run have that text." },
  },
  searching("two searches in one reply", [
    calling(call("search", "s", { query: "mail" }), call("search", "t", { query: "weather" })),
    "Found.",
  ]),
  searching(
    "a search among the active tools",
    [asks("weather mail"), calling(call("sendMail", "m")), "Done."],
    {
      activeTools: ["search", "sendMail"],
    },
  ),
  searching("a search with a function of its own", [asks("any"), "Done."], {
    tools: {
      search: toolSearch({
        maxResults: 2,
        search: ({ tools: all }) => ["none", ...all.map(({ name }) => name)],
      }),
      ...tools,
    },
  }),
  {
    ...searching("a search that throws", [asks("any"), "Done."], {
      tools: {
        search: toolSearch({
          search: () => {
            throw new Error("No index.");
          },
        }),
        ...tools,
      },
    }),
    differs,
  },
  searching("a search with descriptions that are made", [asks("river"), "Done."], {
    toolsContext: { rivers: { country: "Italy" } },
    tools: {
      search: toolSearch(),
      rivers: tool({
        deferLoading: true,
        inputSchema,
        contextSchema: z.object({ country: z.string() }),
        description: ({ context }) => `Every river of ${context.country}.`,
        execute: () => "Po",
      }),
    },
  }),
]);
