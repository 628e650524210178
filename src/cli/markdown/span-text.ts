/** Draws the text within a block: emphasis, code, links. Pure. */

import type { MarkedToken, Token } from "marked";
import type { Look } from "./look.ts";

export function spanText(spans: readonly Token[], look: Look): string {
  return spans.map((span) => spanOf(span, look)).join("");
}

const kinds: ReadonlySet<string> = new Set<MarkedToken["type"]>([
  "blockquote",
  "br",
  "checkbox",
  "code",
  "codespan",
  "def",
  "del",
  "em",
  "escape",
  "heading",
  "hr",
  "html",
  "image",
  "link",
  "list",
  "list_item",
  "paragraph",
  "space",
  "strong",
  "table",
  "text",
]);

/** Whether a token is of Markdown itself, and not of an extension. */
export function isOwn(token: Token): token is MarkedToken {
  return kinds.has(token.type);
}

function spanOf(span: Token, look: Look): string {
  if (!isOwn(span)) return span.raw;
  switch (span.type) {
    case "strong":
      return look.style("bold", spanText(span.tokens, look));
    case "em":
      return look.style("italic", spanText(span.tokens, look));
    case "del":
      return look.style("dim", spanText(span.tokens, look));
    case "codespan":
      return look.style("cyan", span.text);
    case "link": {
      const text = spanText(span.tokens, look);
      return span.href === text || span.href === `mailto:${text}`
        ? text
        : `${text} ${look.style("dim", `(${span.href})`)}`;
    }
    case "image":
      return `${span.text} ${look.style("dim", `(${span.href})`)}`;
    case "br":
      return "\n";
    case "text":
      return span.tokens === undefined ? span.text : spanText(span.tokens, look);
    case "escape":
      return span.text;
    default:
      return span.raw;
  }
}
