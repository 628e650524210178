/** What rules find of secrets, and what of ordinary words; the formats are in files of their own. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Redaction } from "../../../src/archive/exchange/redaction.ts";
import { secretRules } from "../../../src/archive/exchange/secrets/secret-rules.ts";
import { all, inAll, sampled } from "../../support/runs.ts";
import { planted, stays } from "./planted.ts";
import {
  aimedFormats,
  blindFormats,
  blindLines,
  developedFormats,
  heldBackFormats,
  seenFormats,
  type SecretFormat,
} from "./secret-formats.ts";

const rules = await secretRules();
const redacted = (pieces: readonly string[]): string =>
  new Redaction({ rules, own: [], home: undefined }).pieces(pieces).join("");

/** As a string of JSON has it, which is what a tool's input is streamed as. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/** In pieces of seven characters, as a model says it. */
const inPieces = (text: string): readonly string[] => text.match(/[^]{1,7}/g) ?? [];

/** Which ways of saying a secret it survives. */
function survived(format: SecretFormat, seed: string): readonly string[] {
  const { text, secrets } = planted(format, seed);
  const ways = {
    whole: stay(secrets, redacted([text])),
    "in pieces": stay(secrets, redacted(inPieces(`Look:\n${text}`))),
    "in JSON": stay(secrets.map(escaped), redacted(inPieces(escaped(text)))),
    "in JSON of JSON": stay(
      secrets.map((secret) => escaped(escaped(secret))),
      redacted([escaped(escaped(text))]),
    ),
  };
  return Object.entries(ways).flatMap(([way, isLeft]) => (isLeft ? [way] : []));
}

const stay = (secrets: readonly string[], text: string): boolean =>
  secrets.some((secret) => stays(secret, text));

describe.each([...developedFormats, ...seenFormats])("a secret of the format %s", (...format) => {
  it("goes, whole or in pieces, escaped or not", () => {
    expect(survived(format, "1")).toEqual([]);
  });
});

it("at most 5 % of the formats that were held back from the author of the rules stay", () => {
  const left = heldBackFormats.filter((format) => survived(format, "1").length > 0);
  expect(left.length / heldBackFormats.length).toBeLessThanOrEqual(0.05);
});

// The first rates, before rules were widened by what stayed: of the first 336, written blind, 39 in
// some place of an exported session (11.6 %), and of ordinary lines 1.8 % of the words went; of the 60
// that were then aimed beside the rules 15 (25 %).
it.each([
  ["by an author who knew no rule", blindFormats],
  ["that were aimed beside the rules", aimedFormats],
])("at most 2 % of the formats %s stay", (_name, formats) => {
  const left = formats.filter((format) => survived(format, "1").length > 0);
  const names = left.map(([name]) => name).join(", ");
  expect(left.length / formats.length, names).toBeLessThanOrEqual(0.02);
});

it("of ordinary lines by that author at most 1 % of the words go", () => {
  const lines = blindLines.map((line) => planted([line, line], "1").text);
  const words = (text: string): readonly string[] => text.split(/\s+/);
  const gone = lines.flatMap((line) => {
    const left = new Set(words(redacted([line])));
    return words(line).filter((word) => !left.has(word));
  });
  expect(gone.length / lines.flatMap(words).length, gone.join(" ")).toBeLessThanOrEqual(0.01);
});

it("JSON in a text is JSON after it", () => {
  const broken = [...developedFormats, ...blindFormats, ...aimedFormats].filter(
    ([name, pattern]) => {
      const { text } = planted([name, pattern], "1");
      const json = redacted([JSON.stringify({ input: `Look: "${text}", and go on.` })]);
      try {
        return !JSON.parse(json);
      } catch {
        return true;
      }
    },
  );
  expect(broken.map(([name]) => name)).toEqual([]);
});

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:ts|md|jsonl?|txt|sse)$/.test(name))
    .map((name) => join(folder, name));
}

describe("of ordinary words", () => {
  const root = join(import.meta.dirname, "../../..");
  it.each([
    ["the documents", "docs"],
    ["the sources", "src/runtime"],
    ["recorded streams", "../shared/corpus/wire/vercel-ai"],
  ])("at most 1 % goes: %s", (_name, folder) => {
    const path = join(root, folder);
    if (!existsSync(path)) return;
    let words = 0;
    let gone = 0;
    for (const file of sampled(filesIn(path), 3)) {
      const text = readFileSync(file, "utf8").slice(0, 30_000);
      words += text.split(/\s+/).length;
      gone += (redacted([text]).match(/\[secret\]/g) ?? []).length;
    }
    expect(words).toBeGreaterThan(3000);
    expect(gone / words).toBeLessThanOrEqual(0.01);
  });

  it.each([
    ["a commit", "Merge 066a13e9d1f0b25cc5a3a3c7d7b4ea3a4ec40b1f into main"],
    ["a digest", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    [
      "a digest of a package",
      '"integrity": "sha512-prbX4Z3YszrFNgH+MW5Zoeq3baXrMtP/MQnFeET90UB/GtGc=="',
    ],
    ["a UUID", "The session 0193b3c4-7d2e-7c1a-9f00-3a5f4be01c11 is closed."],
    ["a path", "/usr/lib/node_modules/.pnpm/@ai-sdk+provider-utils@5.0.81/dist/index.d.ts"],
    [
      "a name in code",
      "const parts: LanguageModelV4StreamPart[] = convertUint8ArrayToBase64(bytes);",
    ],
    ["a type of a password", "interface Login { user: string; password: string; token?: Token }"],
    ["a sentence on passwords", "The password must have eight characters, and a token expires."],
    ["a count of tokens", '{"max_tokens": 4096, "inputTokens": 12345, "total_tokens": 99999}'],
    ["an expression", "password = config.get('db').password; token: process.env.GITHUB_TOKEN"],
    ["a placeholder", "export API_KEY=<your key>; PASSWORD=$PASSWORD; token: ${{ secrets.TOKEN }}"],
    ["a text in base64", "aGVsbG8gd29ybGQsIHRoaXMgaXMgYW4gb3JkaW5hcnkgdGV4dA=="],
    [
      "ids of providers",
      "toolu_01A09q90qw90lq917835lq9 msg_01XFDUDYJgAACzvnptvVoYEL call_Xy7Qp2Lm9Rt4",
    ],
    [
      "a user with a port",
      "docker run -u 1000 -p 8080:80/tcp a; psql -U me -p 5432; ssh -u me -p 22",
    ],
    ["a database", "mysql -u root -p shop2 < dump.sql; net use; net user bob"],
    [
      "a package's version",
      "npm:React18@18.2.0 file:Archive2B@latest git@github.com:Acme/Repo1.git",
    ],
    ["an image", "registry.acme.com/team/App1Server:RC2Build9@sha256:abc"],
    ["a table without secrets", "| password | token |\n|---|---|\n| required | optional |"],
    ["a sentence with commas", "The password, the token, and the key\nare secret, each of them,"],
  ])("%s stays", (_name, text) => {
    expect(redacted([text])).toBe(text);
  });
});

it("a credential in base64 goes whole, also where no rule knows its parts", () => {
  const credential = Buffer.from("kX9fQ2mZ7pLw4TtRb81Zc:wordsAloneHere").toString("base64");
  const left = redacted([`Authorization: ApiKey ${credential}`]);
  expect(left).toBe("Authorization: ApiKey [secret]");
});

it("a comment in a session switches no rule off", () => {
  const key = "glpat-aB3dE5gH7jK9mN1pQ3sT";
  const text = `/* secretlint-disable */ ${key} // secretlint-disable-line`;
  expect(redacted([text])).not.toContain(key);
});

it.skipIf(!all)(`costs no more than its length, whatever a text is made of${inAll}`, () => {
  const made = [
    "key ",
    "key=",
    'password="',
    "\\",
    "a://",
    "-----END PRIVATE KEY-----",
    "cookie: ",
    "aB3",
  ];
  for (const one of made) {
    const before = process.cpuUsage();
    redacted([one.repeat(40_000 / one.length)]);
    const { user, system } = process.cpuUsage(before);
    // Seconds of CPU. Where the cost was quadratic, it was half a minute; now it is one.
    expect((user + system) / 1e6, one).toBeLessThan(15);
  }
});
