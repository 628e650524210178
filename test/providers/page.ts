/** The rules as the page `docs/providers.md`. */

import { providerNames, providers } from "./index.ts";
import type { Rulebook } from "./rule.ts";

/** Where the page is kept, from the repository's root. */
export const pagePath = "docs/providers.md";

export function writePage(): string {
  return `# What providers refuse

The rules by which each request is judged in the tests: fake servers for the real clients (\`test/providers\`) check every posted body, answer 400 in the provider's own words, and end replies in every way that gateways do. Sessions that were generated, recorded here and recorded of others, and fuzzed values, are sent to all of them at every step, with the provider changed at every position. What breaks a rule is mended when a request is made and stays in the log ([decision 21](decisions/0021-what-a-model-accepts.md)).

The rules were not tried on the providers themselves: each rule names its source, the provider's reference or a public report. \`TURNLOG_RECORD=1 npx vitest run test/providers/page.test.ts\` writes this page from the rules; \`…\` stands for a place or a value of the request.
${providerNames.map(sectionOf).join("")}`;
}

type Name = (typeof providerNames)[number];

/** Those that speak as OpenAI does are shown by what they do otherwise. */
const base: Name = "openai-chat";

function sectionOf(name: Name): string {
  const { title, rulebook, format } = providers[name];
  const shared = name !== base && format === base ? providers[base].rulebook.rules : [];
  const own = rulebook.rules.filter((rule) => !shared.includes(rule));
  const others = shared.filter(({ id }) => !rulebook.rules.some((rule) => rule.id === id));
  const except =
    others.length === 0 ? "" : `, without ${others.map(({ id }) => `\`${id}\``).join(", ")}`;
  const also =
    shared.length === 0
      ? ""
      : `\nThe rules of ${providers[base].title}${except}${own.length === 0 ? "." : ", and:"}\n`;
  const table = `
| rule | what it says | what the provider answers | source |
| --- | --- | --- | --- |
${own.map(rowOf).join("\n")}
`;
  return `
## ${title}
${also}${own.length === 0 ? "" : table}`;
}

function rowOf({ id, says, words, source }: Rulebook["rules"][number]): string {
  const answer = `\`\` ${words.replaceAll("{}", "…").replaceAll("|", String.raw`\|`)} \`\``;
  return `| \`${id}\` | ${says} | ${answer} | [${hostOf(source)}](${source}) |`;
}

function hostOf(source: string): string {
  const { hostname, pathname } = new URL(source);
  const [, owner = "", repository = "", , number = ""] = pathname.split("/");
  return hostname === "github.com" && /^\d+$/.test(number)
    ? `${owner}/${repository}#${number}`
    : hostname;
}
