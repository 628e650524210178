/** The files of the studio, as `npm run build` made them, with a policy that lets them load nothing else. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { hasCode } from "../../events/index.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** No script, style, image or request but the server's own. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Pictures that a message has inside; `data:` requests nothing.
  "img-src 'self' data:",
  "media-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The answer for a path below `/`; undefined if the studio has no such file. */
export async function studioFile(path: string): Promise<Response | undefined> {
  const name = path === "/" ? "/index.html" : path;
  const type = types[extname(name)];
  if (type === undefined || !/^\/(?:assets\/)?[\w-]+(?:\.[\w-]+)*$/.test(name)) return undefined;
  let content: Buffer<ArrayBuffer>;
  try {
    content = await readFile(join(folder(), name));
  } catch (error) {
    if (hasCode(error, "ENOENT")) return name === "/index.html" ? notBuilt() : undefined;
    throw error;
  }
  return new Response(content, {
    headers: {
      "content-type": type,
      "content-security-policy": POLICY,
      "cross-origin-opener-policy": "same-origin",
      "cache-control": cacheRule(name),
    },
  });
}

/** Names of assets have a digest of their content. Browsers ask for the icon again at each place of the page. */
function cacheRule(name: string): string {
  if (name.startsWith("/assets/")) return "public, max-age=31536000, immutable";
  return name === "/icon.svg" ? "public, max-age=86400" : "no-cache";
}

function notBuilt(): Response {
  const text =
    "The studio is not built here. Run `npm run build:studio`, then load this page again.";
  return new Response(text, { status: 503, headers: { "content-type": "text/plain" } });
}

let found: string | undefined;

/** `dist/studio` of this package: this code runs from `src`, or from one of the folders of `dist`. */
function folder(): string {
  if (found !== undefined) return found;
  let at = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(at, "package.json")) && dirname(at) !== at) at = dirname(at);
  found = join(at, "dist", "studio");
  return found;
}
