/**
 * A process that fights for a store, over and over, until it is killed.
 *
 *   fight-child.ts write <dir> <witness> <seed>   appends while it owns it, prints `ack <text>` for each event
 *   fight-child.ts read <dir> <witness> <seed>    only reads, prints `read <events>`
 *
 * Prints `own` each time that it owns the store, and `wrong <what>` for what may never happen.
 */
import { copyFileSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { TurnlogError, type EventLog } from "../../../src/events/index.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { randomFrom } from "./disk.ts";

const [role = "", dir = "", witness = "", seed = ""] = process.argv.slice(2);
const random = randomFrom(Number(seed));
const owner = join(witness, "owner");

function print(line: string): void {
  writeSync(1, `${line}\n`);
}

/** The same folder under one of its names. */
function spelling(): string {
  const names = [
    dir,
    `${dir}/.`,
    join(witness, "link"),
    `/proc/self/cwd/${relative(process.cwd(), dir)}`,
  ];
  return names[Math.floor(random() * names.length)] ?? dir;
}

/** A check without file locks: of two live owners, one finds the other's pid. */
function begin(): void {
  try {
    writeFileSync(owner, String(process.pid), { flag: "wx" });
  } catch {
    const other = Number(readFileSync(owner, "utf8"));
    if (isAlive(other)) print(`wrong ${other} owns the store too`);
    writeFileSync(owner, String(process.pid));
  }
}

/** A killed process has a pid until its parent notices, but no memory: the kernel takes that before it closes sockets. */
function isAlive(pid: number): boolean {
  try {
    if (process.platform === "linux")
      return !readFileSync(`/proc/${pid}/statm`, "utf8").startsWith("0 ");
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function attempt(): Promise<EventLog | undefined> {
  try {
    const folder = { dir: spelling() };
    return await openLog(role === "read" ? { ...folder, readOnly: true } : folder);
  } catch (error) {
    const code = TurnlogError.isInstance(error) ? error.code : undefined;
    // A reader may come before the store exists.
    if (code !== "LOG_LOCKED" && !(code === "LOG_NOT_FOUND" && role === "read"))
      print(`wrong ${String(error)}`);
    return undefined;
  }
}

/** What a process may do to its own store's files without losing it. */
async function unsettle(): Promise<void> {
  if (random() < 0.5) if ((await attempt()) !== undefined) print("wrong opened twice");
  for (const folder of ["lock", "log"]) {
    const file = join(dir, folder, "LOCK");
    if (random() < 0.5) readFileSync(file);
    else copyFileSync(file, join(witness, `copy-${process.pid}`));
  }
}

async function write(log: EventLog): Promise<void> {
  let revision = await log.revision("s");
  const rounds = 1 + Math.floor(random() * 20);
  for (let round = 0; round < rounds; round++) {
    if (round === 1) await unsettle();
    const texts = Array.from(
      { length: 1 + Math.floor(random() * 5) },
      () => `${process.pid}-${++revision}`,
    );
    const before = revision - texts.length;
    const appends = texts.map(async (text, index) => {
      const data = { id: "0", text };
      await log.append("s", before + index, [{ type: "part.text-delta", time: 1, data }]);
      print(`ack ${text}`);
    });
    await Promise.all(appends);
  }
}

for (;;) {
  const log = await attempt();
  if (log === undefined) {
    await wait(random() * 5);
    continue;
  }
  begin();
  print("own");
  if (role === "write") await write(log);
  else print(`read ${(await Array.fromAsync(log.read("s"))).length}`);
  rmSync(owner, { force: true });
  await log.close();
  // Otherwise a reader, who has little to do, keeps the writers out of a busy machine.
  if (role === "read") await wait(random() * 5);
}
