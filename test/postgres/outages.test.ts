/** A database that is away for longer than any statement is repeated: everything continues by itself afterwards. */

import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createRuntime, type TurnlogError } from "../../src/public/index.ts";
import { verifySession } from "../../src/archive/verify/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { eventually } from "../support/eventually.ts";
import { storedEvents } from "../support/replay.ts";
import { saying } from "../support/script.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { serverOfFile } from "./server-of-file.ts";

const { server, several, needs } = await serverOfFile();

/** Statements are repeated for three seconds. */
const OUTAGE_MS = 8000;

describe.skipIf(!several)(`a database that is away for eight seconds${needs}`, () => {
  it.each([1000, 30_000])(
    "delays messages for later, consumers and turns, and loses nothing (leases of %i ms)",
    async (leaseMs) => {
      const url = new URL(server?.connectionString ?? "");
      await using proxy = await tcpProxy(url.hostname, Number(url.port));
      const direct = url.href;
      url.port = `${proxy.port}`;
      const schema = `o${leaseMs}`;
      await using log = await openPostgresLog({ connectionString: url.href, schema, leaseMs });
      await using other = await openPostgresLog({ connectionString: direct, schema });
      const warnings: TurnlogError[] = [];
      const hold = gate();
      let isHeld = true;
      const model = scriptedModel(({ prompt }) => {
        if (!isHeld || !JSON.stringify(prompt).includes("Hold.")) return "Done.";
        isHeld = false;
        return saying("One ", hold, "two.");
      });
      await using runtime = await createRuntime({
        log,
        agent: { model },
        recovery: "continue",
        idleAfterMs: 100,
        onWarning: (warning) => void warnings.push(warning),
      });
      const handled = new Set<number>();
      await using _ = await runtime.consume("c", ({ position }) => void handled.add(position));
      const due = Date.now() + 2000;
      const later = await runtime.session("later");
      await later.send("Later.", { id: "m", notBefore: new Date(due) });
      const turn = await (await runtime.session("held")).send("Hold.", { id: "h" });
      const failed = turn.result.catch((error: unknown) => error);
      await hold.reached;
      const back = proxy.outage();
      hold.open();
      await setTimeout(OUTAGE_MS);
      back();
      expect(String(await failed)).toContain("database");
      const types = async (session: string): Promise<readonly string[]> =>
        (await storedEvents(other, session)).map(({ type }) => type);
      // Nobody opens the sessions.
      await eventually(async () => {
        expect(await types("later")).toContain("turn.ended");
        expect(await types("held")).toContain("turn.ended");
      }, 100);
      const all = await Array.fromAsync(other.readAll(), ({ position }) => position);
      await eventually(() => expect([...handled].toSorted((a, b) => a - b)).toEqual(all), 100);
      expect(
        warnings.filter(({ details }) => details["consumer"] === "c").length,
      ).toBeLessThanOrEqual(1);
      for (const session of ["later", "held"])
        expect((await verifySession(other, session)).problems).toEqual([]);
    },
  );
});
