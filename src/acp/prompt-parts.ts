/** The blocks of an editor's prompt as the parts of a message. Files are read here, as the editor has them. */

import { fileURLToPath } from "node:url";
import type { ContentBlock } from "@agentclientprotocol/sdk";
import { hasCode, TurnlogError } from "../events/index.ts";
import { attachedName, type MessagePart, messageParts } from "../media/index.ts";
import type { EditorLink } from "./editor-link.ts";
import type { ShownSession } from "./questions.ts";

/** @throws TurnlogError `INVALID_INPUT` */
export async function promptParts(
  blocks: readonly ContentBlock[],
  { id, folder }: ShownSession,
  { mentionedFiles, readText }: EditorLink,
): Promise<readonly MessagePart[]> {
  async function fileParts(source: string): Promise<readonly MessagePart[]> {
    const parts = await messageParts(id, { files: [source] });
    if (typeof parts === "string") return [{ type: "text", text: parts }];
    if (parts[0]?.type !== "text" || /^https?:/i.test(source)) return parts;
    const path = /^file:/i.test(source) ? fileURLToPath(source) : source;
    const unsaved = await readText(id, path);
    return unsaved === undefined ? parts : [textFile(attachedName(path), unsaved)];
  }

  async function partsOf(block: ContentBlock): Promise<readonly MessagePart[]> {
    switch (block.type) {
      case "text": {
        const files = await mentionedFiles(block.text, folder);
        const attached = await Promise.all(files.map(fileParts));
        return [...attached.flat(), { type: "text", text: block.text }];
      }
      case "image":
        return [bytes(block.mimeType, block.data)];
      case "resource": {
        const { resource } = block;
        if ("text" in resource) return [textFile(resource.uri, resource.text)];
        return [bytes(resource.mimeType ?? "application/octet-stream", resource.blob)];
      }
      case "resource_link":
        try {
          return await fileParts(block.uri);
        } catch (error) {
          // A folder, or an address that only the editor knows: the model gets its name.
          if (!hasCode(error, "INVALID_INPUT")) throw error;
          return [{ type: "text", text: `[${block.name}](${block.uri})` }];
        }
      default: {
        const why = `A prompt has text, images and resources; this one has ${block.type}. Nothing was sent.`;
        throw new TurnlogError("INVALID_INPUT", why, { session: id });
      }
    }
  }

  return (await Promise.all(blocks.map(partsOf))).flat();
}

function textFile(name: string, text: string): MessagePart {
  return {
    type: "text",
    text: `<file name=${JSON.stringify(name)}>\n${text}\n</file>`,
    filename: name,
  };
}

function bytes(mediaType: string, data: string): MessagePart {
  return { type: "file", mediaType, url: `data:${mediaType};base64,${data}` };
}
