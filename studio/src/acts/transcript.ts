/** A conversation as one HTML file that opens alone: no script, no request, all text escaped. */

import { readUIMessages, type SessionMessage } from "../../../src/public/ui.ts";
import type { UIMessagesState } from "../../../src/ui/index.ts";
import { indentedText } from "../../../src/projections/index.ts";
import { read } from "../data/client.ts";
import type { Standing } from "../data/types.ts";
import { threadOf } from "../chat/thread.ts";
import { exactTime, reducedTo } from "../data/words.ts";
import { visible } from "../shown/visible.ts";

/** With what the model was sent beside the messages, where the reader may see that. */
export async function saveTranscript(
  session: string,
  state: UIMessagesState,
  position: number,
): Promise<undefined> {
  const messages = threadOf(readUIMessages(state)).map(({ message }) => message);
  const beside = await read<Standing>(session, "prompt", { position }).catch(() => undefined);
  const page = transcript(session, messages, beside);
  const url = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${session.replaceAll(/[^\w.-]/gu, "_")}.html`;
  link.click();
  URL.revokeObjectURL(url);
}

/** Pure. */
function transcript(
  session: string,
  messages: readonly SessionMessage[],
  beside: Standing | undefined,
): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${escaped(session)}</title>
<style>${STYLE}</style></head>
<body><h1>${escaped(session)}</h1>
${beside === undefined ? "" : standingHtml(beside)}
${messages.map(messageHtml).join("\n")}
</body></html>
`;
}

function standingHtml({ instructions, tools, settings }: Standing): string {
  const part = (name: string, { digest, text }: Standing["instructions"]): string =>
    text === ""
      ? ""
      : `<details><summary>${escaped(name)}</summary>${block(text === undefined ? `Digest only: ${digest ?? "not recorded"}` : indentedText(text))}</details>`;
  return [
    part("Instructions", instructions),
    ...tools.map((tool) => part(`Tool ${tool.name}`, tool)),
    settings === undefined || Object.keys(settings).length === 0
      ? ""
      : `<details><summary>Settings</summary>${block(settings)}</details>`,
  ].join("\n");
}

function messageHtml({ role, parts, metadata }: SessionMessage): string {
  const when =
    metadata === undefined
      ? ""
      : `<small>${escaped(exactTime(metadata.startedAt))} · position ${metadata.position}</small>`;
  const body = parts.map((part) => partHtml(part)).join("\n");
  return `<article class="${role === "user" ? "user" : "reply"}"><header><b>${role === "user" ? "You" : "Reply"}</b> ${when}</header>${body}</article>`;
}

function partHtml(part: SessionMessage["parts"][number]): string {
  if ("toolCallId" in part) {
    const name = part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
    const outcome =
      part.state === "output-error" ? part.errorText : "output" in part ? part.output : undefined;
    return `<details><summary>${escaped(name)} <small>${part.state}</small></summary>${block(part.input)}${outcome === undefined ? "" : block(outcome)}</details>`;
  }
  switch (part.type) {
    case "text":
      return `<p>${escaped(part.text)}</p>`;
    case "reasoning":
      return `<details><summary>Reasoning</summary><p>${escaped(part.text)}</p></details>`;
    case "file":
      return `<p>▤ ${escaped(part.filename ?? part.mediaType)}</p>`;
    case "data-compaction":
      return `<p><small>Compacted: ${part.data.beforeTokens} → ${part.data.afterTokens} tokens</small></p>`;
    case "data-reduction":
      return `<p><small>Refused by the provider, and sent again ${escaped(reducedTo[part.data.rung])}</small></p>`;
    default:
      return "";
  }
}

function block(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "");
  return `<pre>${escaped(text)}</pre>`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return visible(text).replaceAll(/[&<>"']/gu, (sign) => entities[sign] ?? "");
}

const STYLE = `:root{color-scheme:light dark;font:15px/1.6 ui-sans-serif,system-ui,sans-serif}
body{max-width:52rem;margin:2rem auto;padding:0 1rem}p{white-space:pre-wrap;overflow-wrap:anywhere}
article{margin:1.2rem 0}.user{border:1px solid #8884;border-radius:10px;padding:.4rem 1rem;background:#8881}
pre{overflow:auto;padding:.6rem;border-radius:8px;background:#8882;font:13px/1.5 ui-monospace,monospace}
small{opacity:.65}`;
