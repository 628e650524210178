/** What a service left in the store of an earlier release continues: named agents, later messages, sub-agents, branches. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRuntime, folderKeys, type Runtime } from "../../src/public/index.ts";
import { ask } from "../support/asking.ts";
import { sampled } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { unpackStores, withService } from "./release-stores.ts";
import { consumed, serviceAgents, serviceEvents } from "./service-sessions.ts";
import { logProblems } from "../support/log-problems.ts";

const where = { tenant: "t-1" } as const;

describe.each(withService)("the service in a store of release %s", (release) => {
  let dir = "";
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "turnlog-service-stores-"));
    await unpackStores(release, dir);
  });
  afterAll(() => {
    rmSync(dir, { recursive: true });
  });

  async function onCopy(
    act: (runtime: Runtime<typeof serviceEvents.schemas>) => Promise<void>,
    store: "plain" | "encrypted" = "plain",
  ): Promise<void> {
    const copy = mkdtempSync(join(dir, "copy-"));
    await unpackStores(release, copy);
    const keys = folderKeys(join(copy, "keys"));
    const agents = serviceAgents(({ prompt }) =>
      prompt.at(-1)?.role === "tool"
        ? "And on it goes."
        : JSON.stringify(prompt.at(-1)).includes("Help.")
          ? calling(call("help", "new", { task: "Help." }))
          : "Here I am.",
    );
    await using runtime = await createRuntime({
      dir: join(copy, store),
      durability: "os",
      recovery: "continue",
      agents,
      events: serviceEvents,
      indexed: ["tenant"],
      ...(store === "encrypted" ? { encryption: { keys } } : {}),
    });
    await act(runtime);
    expect(await logProblems(runtime.log)).toEqual([]);
  }

  it("resumes each session by the agent that its log names, and delivers what is overdue in order", async () => {
    await onCopy(async (runtime) => {
      const { resumed, scheduled, failed } = await runtime.resumeAll({ where });
      expect(failed).toEqual([]);
      expect(scheduled).toEqual(["later"]);
      expect(resumed).toEqual(expect.arrayContaining(["delegated-killed", "killed-regenerating"]));
      const later = await runtime.session("later");
      for (const id of ["first", "second"]) await (await later.turn(id)).result;
      const delivered = (await Array.fromAsync(runtime.log.read("later"))).flatMap((event) =>
        event.type === "message.delivered" ? event.data.ids : [],
      );
      expect(delivered).toEqual(["first", "second"]);
      expect((await later.view()).queue).toMatchObject([{ id: "far" }]);
      const rows = await Array.fromAsync(runtime.sessions({ where }));
      expect(rows.map(({ session }) => session)).toContain("killed-regenerating");
      expect(new Set(rows.map(({ agent }) => agent))).toEqual(new Set(["support", undefined]));
    });
  });

  it("asks people and clients what it asked before, and the parent of a sub-agent gets the answer", async () => {
    await onCopy(async (runtime) => {
      const asked = await runtime.approvals({ where });
      const sessions = asked.map(({ session }) => session.replace(/\/help-.*/, "/help"));
      expect(sessions.toSorted()).toEqual(["delegated-asking/help", "locating"]);
      for (const question of asked) {
        const session = await runtime.session(question.session);
        if (question.kind === "approval") await session.approve(question.approval.approvalId);
        if (question.kind === "output")
          await session.answerCall(question.request.requestId, { output: "Ulm" });
      }
      for (const name of ["delegated-asking", "locating"]) {
        const session = await runtime.session(name);
        await session.idle();
        const { summary, history } = await session.view();
        expect([name, summary.lastEnd]).toEqual([name, "stop"]);
        expect(JSON.stringify(history)).toContain("And on it goes.");
      }
    });
  });

  it("gives a consumer the first event that it had not had", async () => {
    await onCopy(async (runtime) => {
      const all = await Array.fromAsync(runtime.log.readAll());
      const got: number[] = [];
      const stop = new AbortController();
      const consumer = await runtime.consume(
        "mirror",
        ({ position }) => {
          got.push(position);
          if (position === all.at(-1)?.position) stop.abort();
        },
        { signal: stop.signal },
      );
      await consumer.done;
      const rest = all.filter(({ position }) => position > consumed);
      expect(got).toEqual(rest.map(({ position }) => position));
    });
  });

  it.each(sampled(["plain", "encrypted"] as const, 1))(
    "keeps metadata, events of the program, typed replies and branches: %s",
    async (store) => {
      await onCopy(async (runtime) => {
        const noted = await runtime.session("noted");
        const { summary } = await noted.view();
        expect(summary).toMatchObject({
          agent: "coder",
          metadata: { tenant: "t-2", topic: "travel" },
          lastEnd: "out-of-budget",
        });
        const own = (await Array.fromAsync(runtime.log.read("noted"))).flatMap(
          (event) => serviceEvents.parse(event) ?? [],
        );
        expect(own.map(({ data }) => data)).toEqual([{ ticket: "T-1", urgent: false }]);
        expect(await ask(noted, "Once more.")).toBe("Here I am.");

        const branches = await runtime.session("branches");
        const all = await branches.branches();
        expect(all).toHaveLength(4);
        for (const { id } of all) {
          await branches.checkout(id);
          expect(await ask(branches, "And now?")).toBe("Here I am.");
        }
        expect(await ask(await runtime.session("prepared"), "Help.")).toBe("And on it goes.");
        const { subAgents } = await (await runtime.session("delegated")).subAgents();
        expect(subAgents).toMatchObject([{ toolName: "help" }]);
      }, store);
    },
  );
});
