/** Finds secrets in texts by their form, by the names next to them, and by their randomness. */

export { encodedTexts, likelySecrets } from "./likely-secrets.ts";
export type { Range, SecretRule } from "./token-shapes.ts";
export { isNamedSecret } from "./named-values.ts";
export { secretRules } from "./secret-rules.ts";
