/** Finds secrets in texts, by their form, by the names beside them, and by how random they are. */

export { encodedTexts } from "./encoded-secrets.ts";
export type { Range, SecretRule } from "./found.ts";
export { likelySecrets } from "./likely-secrets.ts";
export { isNamedSecret } from "./named-values.ts";
export { secretRules } from "./secret-rules.ts";
