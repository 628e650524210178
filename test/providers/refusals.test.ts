/** The refusals of the fake providers have the form of those that were recorded of the real ones. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { describeWithCorpus } from "../corpus/corpus-suite.ts";
import { corpusFolder, corpusPresent } from "../corpus/wire-manifest.ts";
import { providers, type ProviderName } from "./providers.ts";

/** The names of the recorded families that are played. */
const families: Readonly<Record<string, ProviderName>> = {
  anthropic: "anthropic",
  "openai-responses": "openai",
  "openai-chat": "openai-chat",
  google: "google",
  groq: "groq",
  "amazon-bedrock": "bedrock",
};

const rowSchema = z.looseObject({
  family: z.string(),
  path: z.string(),
  url: z.string(),
  status: z.number(),
  body: z.string(),
});

/** Recorded refusals of the providers themselves, and not of gateways in their family. */
function recordedRefusals() {
  const ours =
    /\/\/(api\.(anthropic|openai|groq)\.com|generativelanguage\.googleapis|bedrock-runtime)/;
  return readFileSync(resolve(corpusFolder, "errors/errors.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => rowSchema.parse(JSON.parse(line)))
    .flatMap(({ family, ...row }) => {
      const provider = families[family];
      return provider !== undefined && row.status === 400 && ours.test(row.url)
        ? [{ provider, ...row }]
        : [];
    });
}

const fields = z.record(z.string(), z.unknown());

/** Each field that has a value of its own, by its path. */
function pathsIn(value: unknown, at = ""): readonly string[] {
  const { data } = fields.safeParse(value);
  if (data === undefined || Array.isArray(value)) return [at];
  return Object.entries(data).flatMap(([key, one]) => pathsIn(one, `${at}.${key}`));
}

describeWithCorpus("a recorded refusal", () => {
  it.each(corpusPresent ? recordedRefusals() : [])(
    "has every field that the fake one has: $provider $path",
    ({ provider, body }) => {
      const recorded: unknown = JSON.parse(body);
      const made = pathsIn(providers[provider].refusal("No."));
      expect(pathsIn([recorded].flat()[0])).toEqual(
        // Anthropic's oldest answers had no id of the request.
        expect.arrayContaining(made.filter((path) => path !== ".request_id")),
      );
    },
  );
});
