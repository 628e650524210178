/** The site of the guides and the reference; `../build.ts` gathers its pages. A dead link ends the build. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type DefaultTheme } from "vitepress";

const pages = join(import.meta.dirname, "../pages");

/** A link to a page, with its first heading. */
function item(path: string): DefaultTheme.SidebarItem {
  const [, title = path] = /^# (.+)$/m.exec(readFileSync(join(pages, path), "utf8")) ?? [];
  return { text: title.replaceAll("`", ""), link: `/${path}` };
}

/** The guides, in the order in which the list of guides names them first. */
function guides(): readonly string[] {
  const list = readFileSync(join(pages, "docs/index.md"), "utf8");
  return [...new Set([...list.matchAll(/\]\(([\w-]+\.md)/g)].map(([, name]) => `docs/${name}`))];
}

const lookedUp = ["events", "reference", "errors"];

/** Whether a page is for reading, by its address or its path. */
function isGuide(page: string): boolean {
  const [, name = ""] = /docs\/([\w-]+)(?:\.\w+)?$/.exec(page) ?? [];
  return name !== "" && !lookedUp.includes(name);
}

function folder(path: string): DefaultTheme.SidebarItem[] {
  const names = readdirSync(join(pages, path)).filter((name) => /^(?!index).*\.md$/.test(name));
  return names.toSorted().map((name) => item(`${path}/${name}`));
}

export default defineConfig({
  title: "turnlog",
  description: "A durable runtime for LLM agent sessions on the AI SDK.",
  srcDir: "pages",
  outDir: "dist",
  // The default colors of code are too pale for WCAG AA.
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  themeConfig: {
    search: {
      provider: "local",
      options: {
        miniSearch: {
          searchOptions: {
            fuzzy: 0.1,
            // Who searches wants a guide first, and the reasons last.
            boostDocument: (id: string) =>
              id.includes("/decisions/") ? 0.3 : isGuide(id.replace(/#.*/, "")) ? 3 : 1,
          },
        },
      },
    },
    outline: [2, 3],
    nav: [
      { text: "Guides", link: "/docs/" },
      { text: "Reference", link: "/reference/" },
      { text: "Try it", link: "/try.md" },
      { text: "Examples", link: "/examples/" },
      { text: "Studio", link: "/studio/index.html", target: "_self" },
      { text: "Upgrading", link: "/UPGRADING.md" },
    ],
    // Who learns is not shown the reference, and the other way round.
    sidebar: {
      "/": [
        { text: "Guides", items: guides().filter(isGuide).map(item) },
        { text: "To look up", items: lookedUp.map((name) => item(`docs/${name}.md`)) },
        { text: "Why it is so", items: [{ text: "Decisions", link: "/docs/decisions/" }] },
      ],
      "/docs/decisions/": [{ text: "Decisions", items: folder("docs/decisions") }],
      "/reference/": [
        {
          text: "Reference",
          items: readdirSync(join(pages, "reference"), { withFileTypes: true })
            .filter((entry) => entry.isDirectory())
            .map(({ name }) => ({
              text: name === "index" ? "turnlog" : `turnlog/${name}`,
              link: `/reference/${name}/`,
            })),
        },
      ],
    },
  },
});
