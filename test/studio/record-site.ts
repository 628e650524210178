/**
 * `record-site.ts <folder>`: the built studio over the sessions of `turnlog studio --demo`, whose answers are recorded, for
 * the site, which has no server. Its build calls it. What was not recorded (a search, another limit) says so there.
 */

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { z } from "zod";
import { makeDemoStore } from "../../src/cli/demo/demo-store.ts";
import { createRuntime } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";

interface Row {
  readonly event: { readonly position: number; readonly type: string };
}

const root = join(import.meta.dirname, "../..");
const [site] = z.tuple([z.string()]).parse(process.argv.slice(2));
const dir = mkdtempSync(join(tmpdir(), "turnlog-site-"));
try {
  await makeDemoStore(dir, Date.now());
  cpSync(join(root, "dist/studio"), site, { recursive: true });
  const program = readFileSync(join(root, "studio/recorded-answers.ts"), "utf8");
  writeFileSync(join(site, "recorded-answers.js"), stripTypeScriptTypes(program));
  // Compressed, as not every host of files compresses.
  writeFileSync(join(site, "answers.bin"), gzipSync(JSON.stringify(await recorded(dir))));
  const page = join(site, "index.html");
  const script = '<script src="./recorded-answers.js"></script>';
  writeFileSync(page, readFileSync(page, "utf8").replace("<head>", `<head>${script}`));
} finally {
  rmSync(dir, { recursive: true, force: true });
}

interface Recorded {
  /** The place of each answer among the texts. */
  readonly places: Readonly<Record<string, number>>;
  /** Each once: many positions have the same state. */
  readonly texts: readonly string[];
}

async function recorded(dir: string): Promise<Recorded> {
  await using runtime = await createRuntime({
    dir,
    agent: () => Promise.reject(new Error("Nothing runs.")),
  });
  const token = "recording";
  const server = createServer(runtime, { token, studio: "read-only" });
  const places: Record<string, number> = {};
  const texts = new Map<string, number>();
  const ask = async <Answer>(url: string): Promise<Answer> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await server.fetch(new Request(`http://127.0.0.1${url}`, { headers }));
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${url}: ${text}`);
    places[url] = texts.get(text) ?? texts.size;
    texts.set(text, places[url]);
    return JSON.parse(text) as Answer;
  };
  await ask("/api/studio/about");
  await ask("/api/studio/experiments");
  const { sessions } = await ask<{ sessions: readonly { session: string }[] }>(
    "/api/studio/sessions?limit=200",
  );
  for (const { session: id } of sessions) {
    const at = (path: string): string => `/api/studio/sessions/${encodeURIComponent(id)}/${path}`;
    for (const path of ["state", "verify"]) await ask(at(path));
    const newest = await ask<{ from: number; rows: readonly Row[] }>(at("newest"));
    const rows: Row[] = [];
    for (let from: number | undefined = newest.from > 1 ? 1 : undefined; from !== undefined;) {
      const page: { rows: Row[]; next?: number } = await ask(
        at(`log?from=${from}&to=${newest.from - 1}`),
      );
      rows.push(...page.rows);
      from = page.next;
    }
    const events = [...rows, ...newest.rows].map(({ event }) => event);
    const last = events.at(-1)?.position ?? 0;
    const steps = events.filter(({ type }) => type === "step.started");
    for (let position = 1; position <= last; position++) {
      for (const path of ["state", "prompt", "bill"]) await ask(at(`${path}?position=${position}`));
      const step = steps.findLast((one) => one.position <= position);
      const begun = step && Math.max(1, step.position - 1);
      if (begun !== undefined) await ask(at(`diff?before=${begun}&after=${position}`));
    }
    for (const [index, { position }] of steps.slice(1).entries()) {
      const before = Math.max(1, (steps[index]?.position ?? 1) - 1);
      await ask(at(`diff?before=${before}&after=${position - 1}`));
    }
  }
  return { places, texts: [...texts.keys()] };
}
