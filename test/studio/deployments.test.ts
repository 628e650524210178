/** What a deployment changed, from the log alone. */

import { tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, openMemoryLog, type Agent } from "../../src/public/index.ts";
import { deploymentsOf } from "../../studio/src/data/deployments.ts";

it("names instructions, tools and settings, and the step that was sent them first", async () => {
  await using log = await openMemoryLog();
  const look = (description: string) =>
    tool({ description, inputSchema: z.object({}), execute: () => "Seen." });
  const versions: readonly Partial<Agent>[] = [
    { instructions: "Be brief.", tools: { look: look("Looks."), wait: look("Waits.") } },
    { instructions: "Be polite.", tools: { look: look("Looks well."), wait: look("Waits.") } },
    {
      instructions: "Be polite.",
      tools: { look: look("Looks well."), wait: look("Waits.") },
      temperature: 0.5,
    },
  ];
  for (const version of versions) {
    await using runtime = await createRuntime({
      log,
      agent: { model: scriptedModel(["Yes.", "Yes."]), ...version },
    });
    const session = await runtime.session("s");
    for (const message of ["One?", "Two?"]) await (await session.send(message)).result;
  }
  const events = await Array.fromAsync(log.read("s"));
  const starts = events.flatMap(({ type, position }) =>
    type === "step.started" ? [position] : [],
  );
  expect(deploymentsOf(events.map((event) => ({ event })))).toMatchObject([
    { changed: "instructions, tool look", step: starts[2] },
    { changed: "settings", step: starts[4] },
  ]);
});
