/**
 * One owner at a time: under every name of the folder, for every process, whatever is done to the
 * files.
 */
import cluster from "node:cluster";
import { fork, spawnSync } from "node:child_process";
import { once, type EventEmitter } from "node:events";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { lockedError, isElsewhere } from "../../../src/store/leveldb/files/owner.ts";
import { storePaths } from "../../../src/store/leveldb/files/store-files.ts";
import {
  askSocket,
  folderId,
  kernelAddress,
} from "../../../src/store/leveldb/ownership/owner-socket.ts";
import { numbered } from "../../../src/testing/index.ts";
import { fingerprint, openRefusal, temporaryFolder, timeout, times } from "./disk.ts";
import { startChild } from "./process.ts";

const script = new URL("opening-worker.ts", import.meta.url);

const codeSchema = z.object({ code: z.string() });

/** What another process gets when it opens the store and appends: `ok`, or a code. */
async function tried(dir: string): Promise<string> {
  const [line = ""] = await startChild(["try", dir]).ended;
  return line === "ok" ? line : codeSchema.parse(JSON.parse(line)).code;
}

async function holder(dir: string, options = {}): Promise<ReturnType<typeof startChild>> {
  const child = startChild(["hold", dir], options);
  await child.line((line) => line === "open");
  return child;
}

async function said(worker: EventEmitter): Promise<string> {
  return await new Promise((resolve) => worker.once("message", (told) => resolve(String(told))));
}

function sorted(answers: readonly string[]): readonly string[] {
  return answers.toSorted((one, other) => one.localeCompare(other));
}

describe("a store that is open", () => {
  it("is refused under every spelling of its path, to this process and to others", async () => {
    const root = await temporaryFolder();
    const dir = join(root, "store");
    await using log = await openLog({ dir });
    await log.append("s", "none", [numbered(1)]);
    await symlink(dir, join(root, "link"));
    await symlink(root, join(root, "up"));
    const cwd = process.cwd();
    onTestFinished(() => process.chdir(cwd));
    process.chdir(root);
    const spellings = [
      "store",
      "./store",
      `${dir}/`,
      join(root, "link"),
      join(root, "up", "up", "link"),
      "/proc/self/cwd/store",
      `${root}/./store/../store`,
    ];
    for (const spelling of spellings) {
      expect((await openRefusal("LOG_LOCKED", spelling)).details["pid"]).toBe(process.pid);
      await expect(repairLog({ dir: spelling })).rejects.toMatchObject({ code: "LOG_LOCKED" });
    }
    expect(await tried(join(root, "link"))).toBe("LOG_LOCKED");
    await log.append("s", 1, [numbered(2)]);
  });

  it("stays its owner's after refused openings, and when its files are read, copied and deleted", async () => {
    const root = await temporaryFolder();
    const dir = join(root, "store");
    await using log = await openLog({ dir });
    await log.append("s", "none", [numbered(1)]);
    await openRefusal("LOG_LOCKED", join(root, ".", "store", "..", "store"));
    // Each of these drops the file lock of this process.
    for (const folder of ["lock", "log"]) {
      readFileSync(join(dir, folder, "LOCK"));
      copyFileSync(join(dir, folder, "LOCK"), join(root, "copy"));
    }
    const before = await fingerprint(dir);
    expect(await tried(dir)).toBe("LOG_LOCKED");
    expect(await fingerprint(dir)).toEqual(before);
    for (const name of ["lock", "owner.json", "owner.sock"])
      await rm(join(dir, name), { recursive: true });
    expect(await tried(dir)).toBe("LOG_LOCKED");
    expect(await tried(dir)).toBe("LOG_LOCKED");
    await log.append("s", 1, [numbered(2)]);
    await log.close();
    expect(await tried(dir)).toBe("ok");
    expect(await repairLog({ dir })).toMatchObject({ findings: [], events: 3 });
  });

  it("stays its owner's when its folder is moved, and where a link leads elsewhere meanwhile", async () => {
    const root = await temporaryFolder();
    const link = join(root, "link");
    for (const name of ["one", "two"]) await mkdir(join(root, name));
    await symlink(join(root, "one"), link);
    await using log = await openLog({ dir: link });
    await rm(link);
    await symlink(join(root, "two"), link);
    await log.append("s", "none", [numbered(1)]);
    expect(readdirSync(join(root, "two"))).toEqual([]);
    await rename(join(root, "one"), join(root, "moved"));
    expect(await tried(join(root, "moved"))).toBe("LOG_LOCKED");
    await rename(join(root, "moved"), join(root, "one"));
  });

  it("is refused to a thread of the same process, and free when its own thread has ended", async () => {
    const dir = await temporaryFolder();
    const log = await openLog({ dir });
    const refused = new Worker(script, { workerData: dir });
    expect(await said(refused)).toBe("LOG_LOCKED");
    await refused.terminate();
    expect(await tried(dir)).toBe("LOG_LOCKED");
    await log.append("s", "none", [numbered(1)]);
    await log.close();

    const owner = new Worker(script, { workerData: dir });
    expect(await said(owner)).toBe("open");
    expect((await openRefusal("LOG_LOCKED", dir)).details["pid"]).toBe(process.pid);
    expect(await tried(dir)).toBe("LOG_LOCKED");
    await owner.terminate();
    await using again = await openLog({ dir });
    expect(await again.revision("s")).toBe(1);
  });

  it("is refused to a process that was forked off its owner", async () => {
    const dir = await temporaryFolder();
    await using log = await openLog({ dir });
    const child = fork(fileURLToPath(new URL("child.ts", import.meta.url)), ["try", dir], {
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    const lines = await Array.fromAsync(child.stdout ?? []);
    expect(lines.join("")).toContain("LOG_LOCKED");
    await log.append("s", "none", [numbered(1)]);
  });

  it("is given to one worker of a cluster, whose workers share their sockets", async () => {
    const dir = await temporaryFolder();
    cluster.setupPrimary({ exec: fileURLToPath(script), execArgv: [] });
    const workers = [1, 2, 3].map(() => cluster.fork({ STORE: dir }));
    onTestFinished(async () => {
      for (const worker of workers) worker.process.kill("SIGKILL");
      await Promise.all(workers.map((worker) => once(worker, "exit")));
    });
    const answers = await Promise.all(workers.map(async (worker) => await said(worker)));
    expect(sorted(answers)).toEqual(["LOG_LOCKED", "LOG_LOCKED", "open"]);
  });
});

describe("a store that another process reads", () => {
  it.each([
    ["reads", { readOnly: true }],
    ["writes", {}],
  ] as const)("is waited for by who %s", async (_, more) => {
    const dir = await temporaryFolder();
    await (await openLog({ dir })).close();
    const reader = startChild(["hold", dir, "reading"]);
    await reader.line((line) => line === "open");
    const opening = openLog({ dir, ...more });
    opening.catch(() => {});
    const answer = await askSocket(join(dir, "owner.sock"));
    if (answer.kind !== "alive") throw new Error("Nobody reads the store.");
    expect(lockedError(storePaths(dir), { owner: answer.greeting }).message).toMatch(
      /has been in use by process \d+/,
    );
    reader.process.stdin?.end();
    await (await opening).close();
  });
});

describe("a store whose owner was killed", () => {
  it("is given to exactly one of several that find it at once", async () => {
    const dir = await temporaryFolder();
    for (let round = 0; round < times(2); round++) {
      await (await holder(dir)).kill();
      expect(readdirSync(dir)).toContain("owner.sock");
      const found = [1, 2, 3].map(() => startChild(["hold", dir]));
      const ends = await Promise.all(
        found.map(async (child) => {
          const line = await Promise.race([child.line((told) => told === "open"), child.ended]);
          return line === "open" ? "open" : "refused";
        }),
      );
      expect(sorted(ends)).toEqual(["open", "refused", "refused"]);
      await Promise.all(found.map((child) => child.kill()));
    }
    expect(await tried(dir)).toBe("ok");
    expect(readdirSync(dir).filter((name) => name.startsWith("owner"))).toEqual([]);
  });

  it("is free too where its path is longer than a socket's may be", async () => {
    const dir = join(await temporaryFolder(), "a".repeat(120), "b".repeat(120), "store");
    const owner = await holder(dir);
    expect((await openRefusal("LOG_LOCKED", dir)).details["pid"]).toBe(owner.process.pid);
    expect(readdirSync(dir)).toContain("owner.sock");
    await owner.kill();
    expect(await tried(dir)).toBe("ok");
    expect(readdirSync(dir).filter((name) => name.startsWith("owner"))).toEqual([]);
  });
});

/** A container has a separate network, and thus none of the other kernel names. */
const contained = { limits: `exec unshare -n "$0" "$@"` };

describe("a store on a volume that two containers share", () => {
  const canContain = spawnSync("unshare", ["-n", "true"]).status === 0;

  it.skipIf(!canContain)("is its owner's, and free when the owner was killed", async () => {
    const dir = await temporaryFolder();
    const owner = await holder(dir, contained);
    const { pid } = (await openRefusal("LOG_LOCKED", dir)).details;
    expect(pid).toBe(owner.process.pid);
    expect(await tried(dir)).toBe("LOG_LOCKED");
    await owner.kill();
    expect(await tried(dir)).toBe("ok");

    await using log = await openLog({ dir });
    // The file lock is gone; the socket remains.
    readFileSync(join(dir, "lock", "LOCK"));
    const before = await fingerprint(dir);
    const [line = ""] = await startChild(["try", dir], contained).ended;
    expect(line).toContain("LOG_LOCKED");
    expect(await fingerprint(dir)).toEqual(before);
    await log.append("s", 1, [numbered(2)]);
  });
});

describe("a store that was left open on another machine", () => {
  async function leftElsewhere(file = "owner.json"): Promise<string> {
    const dir = await temporaryFolder();
    await using log = await openLog({ dir });
    await log.append("s", "none", [numbered(1)]);
    await log.close();
    const owner = {
      pid: 12,
      host: "elsewhere",
      startedAt: new Date(0).toISOString(),
      durability: "sync",
      boot: "another",
      machine: "another",
    };
    await writeFile(join(dir, file), JSON.stringify(owner));
    return dir;
  }

  it.each(["owner.json", "owner.json.new"])(
    "is opened and repaired only by who takes it over (%s)",
    async (file) => {
      const dir = await leftElsewhere(file);
      const { message, details } = await openRefusal("LOG_LOCKED", dir);
      expect(message).toContain("--take-over");
      expect(details).toMatchObject({ pid: 12, host: "elsewhere" });
      await expect(repairLog({ dir })).rejects.toMatchObject({ code: "LOG_LOCKED" });
      await repairLog({ dir, takeOver: true });
      await writeFile(join(dir, file), await readFile(join(await leftElsewhere(file), file)));
      await using log = await openLog({ dir, takeOver: true });
      expect(await log.revision("s")).toBe(1);
      await log.close();
      await using again = await openLog({ dir });
      expect(await again.revision("s")).toBe(1);
    },
  );

  it("is not taken from an owner that answers", async () => {
    const dir = await temporaryFolder();
    await using log = await openLog({ dir });
    await expect(openLog({ dir, takeOver: true })).rejects.toMatchObject({ code: "LOG_LOCKED" });
    await log.append("s", "none", [numbered(1)]);
  });

  it("is not written to any more by an owner that lived on", async () => {
    const dir = await temporaryFolder();
    await using log = await openLog({ dir });
    await log.append("s", "none", [numbered(1)]);
    // What the other owner does: replaces our socket and our name.
    const other = createServer().listen(join(dir, "other.sock"));
    await once(other, "listening");
    onTestFinished(() => void other.close());
    await rename(join(dir, "other.sock"), join(dir, "owner.sock"));
    await writeFile(join(dir, "owner.json"), "the other's");
    const before = await fingerprint(dir);
    await expect(log.append("s", 1, [numbered(2)])).rejects.toMatchObject({ code: "LOG_LOCKED" });
    await log.close();
    expect(await fingerprint(dir)).toEqual(before);
    expect(readdirSync(dir)).toContain("owner.sock");
  });

  it.each([
    ["of this kernel", {}, false],
    ["of a container on this kernel", { host: "c1", machine: "" }, false],
    ["of this machine, before it was started again", { boot: "before" }, false],
    ["of a machine with this name", { boot: "other", machine: "other" }, true],
    ["of a container with this name, on another machine", { boot: "other", machine: "" }, true],
    ["of another machine", { host: "other", boot: "other", machine: "other" }, true],
    ["of another machine whose image is the same", { host: "other", boot: "other" }, true],
  ] as const)("is told from one %s", (_of, owner, expected) => {
    const here = { host: "here", boot: "now", machine: "this" };
    expect(isElsewhere({ ...here, ...owner }, here)).toBe(expected);
    if (!("machine" in owner)) return;
    const nameless = { host: "here", boot: "", machine: "" };
    expect(isElsewhere({ ...nameless, host: "here" }, nameless)).toBe(false);
  });
});

it.runIf(process.platform === "linux")(
  "opens where a closed owner's socket is gone only after it was asked",
  async () => {
    const dir = await temporaryFolder();
    await (await openLog({ dir })).close();
    // As a child between its fork and its own program, which has the sockets of its parent.
    const leftover = createServer((connection) => {
      leftover.close();
      connection.destroy();
    });
    leftover.listen(kernelAddress(folderId(dir)) ?? "");
    await once(leftover, "listening");
    await using log = await openLog({ dir });
    await log.append("s", "none", [numbered(1)]);
    expect(leftover.listening).toBe(false);
  },
);

it("keeps no process alive", async () => {
  const dir = await temporaryFolder();
  const { status } = spawnSync(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `import { openLog } from ${JSON.stringify(new URL("../../../src/public/index.ts", import.meta.url))}; await openLog({ dir: ${JSON.stringify(dir)} });`,
    ],
    { timeout },
  );
  expect(status).toBe(0);
});
