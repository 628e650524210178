/** The rules by which posted bodies are judged: each finds its breach, and nothing else. */

import { describe, expect, it } from "vitest";
import { providerNames, providers } from "./index.ts";
import { breaking, fairBody } from "./rule-cases.ts";

describe.each(providerNames)("of %s", (name) => {
  const { rulebook, format } = providers[name];
  const fair = fairBody(name, format);
  const ids = rulebook.rules.map(({ id }) => id);

  it("a fair body breaks no rule", () => {
    expect(rulebook.breaches(fair)).toEqual([]);
  });

  it.each(ids)("the rule %s is broken by a body that is not fair", (id) => {
    const change = breaking[format][id];
    const found = rulebook.breaches(change?.(fair));
    expect(found.map(({ rule }) => rule)).toContain(id);
    // Every place of the words is filled in.
    expect(found.map(({ words }) => words).join("\n")).not.toContain("{}");
  });

  it("every rule has another id, a sentence and a source", () => {
    expect(new Set(ids).size).toBe(ids.length);
    for (const { says, source } of rulebook.rules) {
      expect(says).toMatch(/^[A-Z].*\.$/);
      expect(source).toMatch(/^https:\/\//);
    }
  });
});
