/**
 * Builds the site of the documents into `dist`, without a network: the guides, the examples, and a reference of every
 * public name from its docstring. `npm run docs` runs it. A dead link and an unknown name of a docstring fail it.
 */

import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { Application } from "typedoc";
import { build } from "vitepress";
import { bundlePlayground } from "./playground/bundle.ts";

const root = join(import.meta.dirname, "../..");
const pages = join(import.meta.dirname, "pages");

rmSync(pages, { recursive: true, force: true });

// The same tree as in the repository, so that links between pages hold.
const documents = ["*.md", "docs/*.md", "docs/decisions/*.md", "examples/*.md"];
for (const file of globSync(documents, { cwd: root })) {
  const text = readFileSync(join(root, file), "utf8");
  const page = text
    // The bundler takes only `./` for a path.
    .replaceAll(/((?:src|srcset)=")(?=\w+\/)/g, "$1./")
    .replaceAll("README.md)", "index.md)");
  const path = join(pages, file.replace(/README\.md$/, "index.md"));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, page);
  // Links to sources lead to them as they are.
  for (const [, link = ""] of text.matchAll(/\]\(((?!\w+:)[^)#]+)\)/g)) {
    const source = join(root, dirname(file), link);
    if (/\.md$|\/$/.test(link) || !existsSync(source)) continue;
    cpSync(source, join(pages, "public", relative(root, source)), { recursive: true });
  }
}
// Pages of the site alone.
function frame(src: string, title: string): string {
  return `<iframe src="${src}" title="${title}" loading="lazy" style="width: 100%; height: 640px; border: 1px solid var(--vp-c-divider); border-radius: 8px"></iframe>`;
}
const studioPage = join(pages, "docs/studio.md");
const studio = frame(
  "/studio/index.html#/sessions/fix-flaky-test?view=prompt&position=197",
  "The studio over recorded sessions",
);
writeFileSync(studioPage, readFileSync(studioPage, "utf8").replace("\n## ", `\n${studio}\n\n## `));
const playground = frame("/playground/index.html", "Programs to change and run");
writeFileSync(
  join(pages, "try.md"),
  `# Try it here\n\nThese programs run in this page, without a network: the log is in memory, and a script or the offline model answers. Change them, and run them again.\n\n${playground}\n`,
);
for (const file of ["docs/images", "docs/peers.svg"])
  cpSync(join(root, file), join(pages, file), { recursive: true });

const app = await Application.bootstrapWithPlugins({
  name: "turnlog",
  plugin: ["typedoc-plugin-markdown"],
  entryPoints: globSync("src/public/*.ts", { cwd: root }).map((file) => join(root, file)),
  tsconfig: join(root, "tsconfig.build.json"),
  basePath: join(root, "src/public"),
  displayBasePath: join(root, "src/public"),
  outputs: [{ name: "markdown", path: join(pages, "reference") }],
  readme: "none",
  disableSources: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeExternals: true,
  skipErrorChecking: true,
  validation: { invalidLink: true, notExported: false },
  logLevel: "Warn",
  treatValidationWarningsAsErrors: true,
});
// Settings of the plugin, which typedoc's own types do not know.
app.options.setValue("entryFileName", "index.md");
app.options.setValue("hidePageHeader", true);
app.options.setValue("hideBreadcrumbs", true);
app.options.setValue("useCodeBlocks", true);
app.options.setValue("expandObjects", true);
const project = await app.convert();
if (project === undefined) throw new Error("typedoc found no public names.");
app.validate(project);
await app.generateOutputs(project);
if (app.logger.hasErrors() || app.logger.hasWarnings())
  throw new Error("The docstrings have dead links: see above.");

await build(import.meta.dirname);

// VitePress looks at links to pages only, and takes the names of their sources.
const site = join(import.meta.dirname, "dist");
await bundlePlayground(join(site, "playground"));
execFileSync(process.execPath, [join(root, "test/studio/record-site.ts"), join(site, "studio")]);
const dead = globSync("**/*.html", { cwd: site }).flatMap((page) => {
  const links = readFileSync(join(site, page), "utf8").matchAll(/ (?:href|src)="([^"#?]+)/g);
  return [...links].flatMap(([, link = ""]) => {
    const path = decodeURIComponent(new URL(link, `http://site/${page}`).pathname);
    const isOurs = new URL(link, "http://site/").host === "site";
    const file = join(site, path.endsWith("/") ? `${path}index.html` : path);
    return isOurs && !existsSync(file) ? [`${page}: ${link}`] : [];
  });
});
if (dead.length > 0) throw new Error(`The site has dead links:\n${dead.join("\n")}`);
