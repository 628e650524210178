/** Pages of other sites in Chromium: those of `origins` use the server with a user's cookie, others do not. */

import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "playwright-core";
import { expect, it, vi } from "vitest";
import { scriptedModel } from "../../../src/models/index.ts";
import type { createClient as newClient } from "../../../src/public/client.ts";
import { createRuntime } from "../../../src/public/index.ts";
import { serveNode } from "../../../src/public/server.ts";
import { patience } from "../../support/runs.ts";
import { describeAll } from "../in-browser.ts";
import { browserPath, bundledPage } from "../stage.ts";

vi.setConfig({ testTimeout: patience });

declare global {
  var createClient: typeof newClient;
}

/** Sends a message and reads the reply from the session's stream, as a program of the page. */
async function chat(page: Page, baseUrl: string, credentials: "include" | "omit"): Promise<string> {
  return await page.evaluate(
    async ([url, how]) => {
      const client = globalThis.createClient({
        baseUrl: url,
        fetch: (request) => {
          request.headers.set("x-csrf", "1");
          return fetch(request, { credentials: how });
        },
      });
      try {
        const session = client.session("ann-1");
        await session.send("Hi.");
        let text = "";
        for await (const { type, data } of session.events()) {
          if (type === "part.text-delta") text += data.text;
          if (type === "turn.ended") break;
        }
        return text;
      } catch (error) {
        return error instanceof Error && "code" in error ? String(error.code) : String(error);
      }
    },
    [baseUrl, credentials] as const,
  );
}

describeAll("a page of another site", () => {
  it("uses the server with the user's cookie and a header of its own, streams included", async () => {
    const code = await bundledPage(
      fileURLToPath(new URL("../page/other-site.ts", import.meta.url)),
    );
    const site = createHttpServer((_, answer) => {
      answer.setHeader("content-type", "text/html");
      answer.end(`<script type="module">${code}</script>`);
    });
    await once(site.listen(0), "listening");
    const { port } = site.address() as AddressInfo;
    await using runtime = await createRuntime({
      memory: true,
      agent: { model: scriptedModel(() => "Hello, Ann.") },
    });
    await using server = await serveNode(runtime, {
      port: 0,
      token: false,
      origins: [`http://localhost:${port}`],
      credentials: true,
      allowHeaders: ["x-csrf"],
      authorize: ({ headers }) =>
        headers.get("x-csrf") === "1" &&
        headers.get("cookie") === "user=ann" && { actor: "ann", audience: "operator" },
    });
    const baseUrl = `http://localhost:${server.port}`;
    const browser = await chromium.launch({
      executablePath: browserPath ?? "",
      args: ["--headless", "--no-sandbox", "--disable-gpu"],
    });
    try {
      const context = await browser.newContext();
      await context.addCookies([{ name: "user", value: "ann", url: baseUrl }]);
      const page = await context.newPage();
      await page.goto(`http://localhost:${port}/`);
      expect(await chat(page, baseUrl, "include")).toBe("Hello, Ann.");
      expect(await chat(page, baseUrl, "omit")).toBe("FORBIDDEN");
      const stranger = await context.newPage();
      await stranger.goto(`http://127.0.0.1:${port}/`);
      expect(await chat(stranger, baseUrl, "include")).toBe("SERVER_UNREACHABLE");
      expect(await Array.fromAsync(runtime.sessions())).toHaveLength(1);
    } finally {
      await browser.close();
      site.close();
    }
  });
});
