/** What both of OpenAI's interfaces say alike. Pure. */

export const OPENAI_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Whether a function's schema has at its top what OpenAI does not take there. */
export function openaiSchemaFault(schema: Readonly<Record<string, unknown>>): boolean {
  return ["oneOf", "anyOf", "allOf", "enum", "not"].some((key) => key in schema);
}

/** The media type and the base64 of a data URL; undefined for any other. */
export function dataUrl(
  url: string | undefined,
): { readonly type: string; readonly data: string } | undefined {
  const [, type = "", data = ""] = /^data:([^;,]*);base64,(.*)$/s.exec(url ?? "") ?? [];
  return type === "" ? undefined : { type, data };
}
