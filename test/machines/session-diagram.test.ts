/** The picture of the machine in the documents is the machine. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { structuralTypes } from "../../src/machines/structural-events.ts";
import { chartStates, chartTransitions } from "./session-chart.ts";
import { sessionDiagram } from "./session-diagram.ts";
import { documentPath, sessionDocument } from "./session-document.ts";

describe("docs/session-machine.md", () => {
  it("is what `npm run diagram` writes: run it after a change of the machine", () => {
    const written = readFileSync(new URL(`../../${documentPath}`, import.meta.url), "utf8");
    expect(written).toBe(sessionDocument());
  });
});

describe("The chart", () => {
  it("hears every structural event and no other", () => {
    const heard = chartTransitions.flatMap(({ event }) => (event === undefined ? [] : [event]));
    expect([...new Set(heard)].toSorted()).toEqual(structuralTypes.toSorted());
  });

  it("knows the states of the design", () => {
    const outer = chartStates.map(({ path }) => path).filter((path) => /^\w+$/.test(path));
    expect(outer).toEqual(
      expect.arrayContaining(["idle", "streaming", "tools", "compacting", "closed"]),
    );
  });
});

describe("The diagram", () => {
  const lines = sessionDiagram()
    .split("\n")
    .map((line) => line.trim());

  it("draws every state once", () => {
    for (const { path } of chartStates.filter(({ path }) => path !== "")) {
      const declared = lines.filter((line) =>
        new RegExp(`^state "\\w+" as ${path.replace(".", "_")}( \\{)?$`).test(line),
      );
      expect({ path, declared: declared.length }).toEqual({ path, declared: 1 });
    }
  });

  it("names every event, guard and effect of the chart outside of what all states do alike", () => {
    const words = new Set(lines.flatMap((line) => line.split(/[^\w.-]+|br\//)));
    const named = [
      ...chartStates.flatMap(({ entry }) => entry),
      ...chartTransitions
        .filter(({ source }) => source !== "")
        .flatMap(({ event, guard, effects }) => [event, guard, ...effects]),
    ];
    expect(named.filter((word) => word !== undefined && !words.has(word))).toEqual([]);
  });

  it("has no colon or semicolon in a label, which mermaid would end it at", () => {
    const labels = lines.flatMap((line) => / : (.*)$/.exec(line)?.[1] ?? []);
    expect(labels.length).toBeGreaterThan(30);
    expect(labels.filter((label) => /[:;]/.test(label))).toEqual([]);
  });
});
