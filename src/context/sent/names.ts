/** Names of tools that a model accepts. Pure. */

import { hash } from "node:crypto";
import type { ModelName } from "../../events/index.ts";
import { modelFamily } from "../models/model-family.ts";

interface NameForm {
  readonly form: RegExp;
  readonly words: string;
}

const COMMON: NameForm = {
  form: /^[\w-]{1,64}$/,
  words: "1 to 64 letters (a-z, A-Z), digits, `_` and `-`",
};
const ANTHROPIC: NameForm = {
  form: /^[\w-]{1,128}$/,
  words: "1 to 128 letters (a-z, A-Z), digits, `_` and `-`",
};
const GOOGLE: NameForm = {
  form: /^[a-z_][\w.:-]{0,63}$/i,
  words:
    "1 to 64 letters (a-z, A-Z), digits, `_`, `-`, `.` and `:`, and begin with a letter or `_`",
};
/** Google's models behind another interface. */
const GEMINI: NameForm = {
  form: /^[a-z_][\w-]{0,63}$/i,
  words: "1 to 64 letters (a-z, A-Z), digits, `_` and `-`, and begin with a letter or `_`",
};

const LONGEST = 64;
const DIGEST = 8;

function formFor(model: ModelName | undefined): NameForm {
  if (model === undefined) return COMMON;
  if (modelFamily(model).name === "google")
    return model.provider.startsWith("google") ? GOOGLE : GEMINI;
  return model.provider.startsWith("anthropic") ? ANTHROPIC : COMMON;
}

/** Providers that are known to refuse names of another form; a local server may take any. */
const strict =
  /^(?:anthropic|openai|azure|google|vertex|amazon-bedrock|bedrock|mistral|xai|groq|deepseek|gateway)\b/;

/** What names of tools must consist of, if the model's provider refuses this one. */
export function nameRefusal(name: string, model: ModelName): string | undefined {
  if (!strict.test(model.provider)) return undefined;
  const { form, words } = formFor(model);
  return form.test(name) ? undefined : words;
}

/**
 * The name as it is sent. A model may invent a name that no provider accepts; its replacement has that form
 * and a digest, so that it is no tool's own name. So has one like `constructor`, which clients that look names up
 * in an object do not send.
 */
export function sentName(name: string, model: ModelName | undefined): string {
  if (formFor(model).form.test(name) && !(name in Object.prototype)) return name;
  const letters = name.slice(0, LONGEST).replaceAll(/[^\w-]+/g, "_");
  const readable = /^[a-z_]/i.test(letters) ? letters : `_${letters}`;
  const digest = hash("sha256", JSON.stringify(name)).slice(0, DIGEST);
  return `${readable.slice(0, LONGEST - DIGEST - 1)}_${digest}`;
}
