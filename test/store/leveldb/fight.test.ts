/** Processes that compete for one store and are killed at any moment lose no acknowledged event. */
import { mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { runProcess, type Ended } from "../../cli/command-line.ts";
import { long, randomFrom, temporaryFolder, timeout, times } from "./disk.ts";
import { startChild, type Child } from "./process.ts";

const script = fileURLToPath(new URL("fight-child.ts", import.meta.url));
const rounds = times(1);
const killsEach = long ? 15 : 3;

it(
  `keeps what was acknowledged, and has one owner at a time, through ${rounds * killsEach} kills of those who fight for it`,
  async () => {
    const random = randomFrom(40);
    let acknowledged = 0;
    let owned = 0;
    for (let round = 0; round < rounds; round++) {
      const root = await temporaryFolder();
      const [dir, witness] = [join(root, "store"), join(root, "witness")];
      for (const folder of [dir, witness]) await mkdir(folder);
      await symlink(dir, join(witness, "link"));
      const all: Child[] = [];
      const begin = (role: "write" | "read"): Child => {
        const seed = String(Math.floor(random() * 1e9));
        const child = startChild([role, dir, witness, seed], { script });
        all.push(child);
        return child;
      };
      const writers = Array.from({ length: 2 + (round % 2) }, () => begin("write"));
      const reader = begin("read");
      const looks: Promise<Ended>[] = [];
      for (let kill = 0; kill < killsEach; kill++) {
        // The owner or any other process, within some of its writes.
        const owners = writers.map(async (child, index) => {
          await child.line((line) => line.startsWith("ack") || (kill % 2 === 1 && line === "own"));
          return index;
        });
        const first = await Promise.race(owners);
        for (const late of owners) late.catch(() => {});
        const chosen = random() < 0.7 ? first : Math.floor(random() * writers.length);
        for (let turns = Math.floor(random() * 400); turns > 0; turns--)
          await new Promise((resolve) => setImmediate(resolve));
        if (kill % 5 === 0) looks.push(runProcess(["sessions", "--dir", dir], { cwd: witness }));
        await writers[chosen]?.kill();
        writers[chosen] = begin("write");
      }
      for (const { code, stderr } of await Promise.all(looks))
        expect(code === 0 || /\[LOG_(?:LOCKED|NOT_FOUND)\]/.test(stderr), stderr).toBe(true);
      await Promise.all([...writers, reader].map((child) => child.kill()));

      const lines = all.flatMap((child) => child.lines);
      expect(lines.filter((line) => line.startsWith("wrong"))).toEqual([]);
      const acks = lines.filter((line) => line.startsWith("ack ")).map((line) => line.slice(4));
      await using log = await openLog({ dir });
      const events = await Array.fromAsync(log.read("s"));
      const texts = events.map((event) =>
        event.type === "part.text-delta" ? event.data.text : "",
      );
      // The writer numbers each event: two writers at once would have used a number twice.
      expect(texts.map((text) => Number(text.split("-")[1]))).toEqual(texts.map((_, at) => at + 1));
      const kept = new Set(texts);
      expect(acks.filter((text) => !kept.has(text))).toEqual([]);
      await log.close();
      expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [] });
      const names = await readdir(dir);
      expect(names.filter((name) => /^(?:log\.|owner)/.test(name))).toEqual([]);
      acknowledged += acks.length;
      owned += lines.filter((line) => line === "own").length;
    }
    expect(acknowledged).toBeGreaterThan(rounds);
    console.log(
      `${rounds * killsEach} kills: owned ${owned} times, ${acknowledged} events acknowledged, none lost`,
    );
  },
  timeout,
);
