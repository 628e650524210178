/** Colours code of the languages that agents write most. Other code is shown as it is. Pure. */

import type { Tokens } from "marked";
import bash from "refractor/bash";
import css from "refractor/css";
import diff from "refractor/diff";
import go from "refractor/go";
import java from "refractor/java";
import javascript from "refractor/javascript";
import json from "refractor/json";
import markup from "refractor/markup";
import python from "refractor/python";
import rust from "refractor/rust";
import sql from "refractor/sql";
import typescript from "refractor/typescript";
import yaml from "refractor/yaml";
import { refractor } from "refractor/core";
import type { Style } from "../output/output.ts";
import type { Look } from "./look.ts";

for (const language of [
  bash,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  markup,
  python,
  rust,
  sql,
  typescript,
  yaml,
])
  refractor.register(language);

const colours: Readonly<Record<string, Style>> = {
  "attr-name": "cyan",
  boolean: "yellow",
  builtin: "cyan",
  "class-name": "cyan",
  comment: "dim",
  deleted: "red",
  function: "blue",
  inserted: "green",
  keyword: "magenta",
  number: "yellow",
  property: "cyan",
  string: "green",
  tag: "magenta",
};

type Node = ReturnType<typeof refractor.highlight>["children"][number];

export function codeRows({ text, lang = "" }: Tokens.Code, { style }: Look): string[] {
  const [language = ""] = lang.split(/[\s,{]/);
  if (!refractor.registered(language)) return text.split("\n");
  const { children } = refractor.highlight(text, language);
  return children
    .map((node) => nodeText(node, style))
    .join("")
    .split("\n");
}

function nodeText(node: Node, style: Look["style"]): string {
  if (node.type === "text") return node.value;
  if (node.type !== "element") return "";
  const inside = node.children.map((one) => nodeText(one, style)).join("");
  const { className: names } = node.properties;
  const [, name = ""] = Array.isArray(names) ? names.map(String) : [];
  const colour = colours[name];
  if (colour === undefined) return inside;
  // A style ends with its row: rows are wrapped one by one.
  return inside
    .split("\n")
    .map((row) => (row === "" ? "" : style(colour, row)))
    .join("\n");
}
