/**
 * An unmodified `useChat` in Chromium whose node is killed in the middle of a sentence: another node on the same
 * database says the rest, without a reload. Needs a browser and PostgreSQL.
 */

import { expect, it, vi } from "vitest";
import { installedPostgres, startPostgres } from "../../support/postgres-server.ts";
import { patience, times } from "../../support/runs.ts";
import { describeAll } from "../in-browser.ts";
import { expectLogged, Stage, written } from "../stage.ts";

vi.setConfig({ testTimeout: patience });

/** What `watchSilence` keeps in the page. */
declare global {
  var silence: number;
}

const programs = installedPostgres();
/** The lease of a node is two seconds: nobody takes its turn before. */
const LONGEST_SILENCE_MS = 3000;
const WORDS = 700;
const text = Array.from({ length: WORDS }, (_, index) => `w${index} `).join("");

describeAll("`useChat` before several nodes", () => {
  it.skipIf(programs === undefined)(
    "shows the rest of a sentence whose node was killed from another node within three seconds, every word once (needs PostgreSQL)",
    async () => {
      await using server = await startPostgres(programs ?? "");
      const stage = await Stage.open(server.connectionString);
      for (let kill = 0; kill < times(2, 4); kill++) {
        const id = `nodes-${kill}`;
        const page = await stage.page(id);
        const failOver = await stage.startBeside();
        await page.evaluate((given) => void chat.sendMessage({ text: given }), `tell ${WORDS}`);
        await written(page, 300);
        await page.evaluate(watchSilence);
        await failOver();
        const [, reply] = await expectLogged(stage, page, id, 2);
        const silence = await page.evaluate(() => Math.round(globalThis.silence));
        console.log(`The longest silence of the page was ${silence} ms.`);
        expect(silence).toBeLessThanOrEqual(LONGEST_SILENCE_MS);
        const said = reply?.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
        expect(said?.join("").endsWith(text.slice(-400))).toBe(true);
        await page.close();
      }
      await stage.close();
    },
  );
});

/** In the page: keeps the longest time in which no word came. A new attempt begins the sentence again. */
function watchSilence(): void {
  const last = { length: 0, at: performance.now(), silence: 0 };
  setInterval(() => {
    const parts = chat.messages.flatMap((message) => message.parts);
    const { length } = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    const now = performance.now();
    if (length === last.length) return;
    last.silence = Math.max(last.silence, now - last.at);
    Object.assign(last, { length, at: now });
    Object.assign(globalThis, { silence: last.silence });
  }, 20);
}
