/** Classifies names by what they say about their values. Pure. */

/**
 * - `secret`: any value is secret, also an ordinary word (`password`, `client_secret`)
 * - `token`: the value is secret if it could be a token and is not a word (`access_token`, `session`)
 * - `key`: the value is secret if it is random (`cache_key` has other values)
 * - `code`: the value is secret if it is a number or could be a token (`verification code`)
 */
export type NameKind = "secret" | "token" | "key" | "code";

const SECRET =
  /(?:password|passwd|passphrase|passcode|passwort|kennwort|contrase[nñ]a|motdepasse|senha|пароль|密码|密碼|パスワード|비밀번호|secret|pwd|mnemonic|credentials?|zugangsdaten|masterkey|privatekey|secretkey|secretaccesskey|accountkey|sharedaccesskey|clientsecret|storagekey|seedphrase|recoverycodes?|backupcodes?|securestring|psk|(?<!by|com|tres|sur|over|under)pass)$/;
const TOKEN =
  /(?:tokens?|jwt|bearer|authorization|cookie|apikeys?|accesskey|accesskeyid|authkey|signingkey|encryptionkey|licen[cs]ekey|subscriptionkey|sharedkey|servicekey|deploykey|writekey|readkey|adminkey|appkey|applicationkey|webhookurl|webhook|connectionstring|connstr|sharedaccesssignature|xamzsignature|xamzcredential|xgoogsignature|clientassertion|hmac|sonarlogin|crumb|privatekeyid|presharedkey|jsessionid|phpsessid|sessionid|sessid)$/;
const CODE =
  /(?:verification|confirmation|security|onetime|single-?use|login|sign-?in|auth|access|2fa|mfa|sms)code$/;

/** Last words of a name that are too short to be searched for inside other words. */
const secretWords: ReadonlySet<string> = new Set([
  "pw",
  "pin",
  "otp",
  "totp",
  "passwords",
  "secrets",
]);
const tokenWords: ReadonlySet<string> = new Set([
  "auth",
  "session",
  "sid",
  "dsn",
  "sas",
  "sig",
  "creds",
  "cred",
  "csrf",
  "xsrf",
]);

/** `DB_PASSWORD`, `dbPassword` and `db-password` have the same words. */
function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
    .filter((word) => word !== "");
}

export function nameKind(name: string): NameKind | undefined {
  const words = wordsOf(name);
  // `API_KEY_1`, `token2`, `password_value`.
  while (
    words.length > 1 &&
    /^(?:\d+|value|old|new|prod|production|dev|test|staging|live|base64|b64|hash|plaintext|raw)$/.test(
      words.at(-1) ?? "",
    )
  )
    words.pop();
  const last = (words.at(-1) ?? "").replace(/\d+$/, "");
  const whole = words.join("").replace(/\d+$/, "");
  if (SECRET.test(whole) || secretWords.has(last)) return "secret";
  if (TOKEN.test(whole) || tokenWords.has(last)) return "token";
  if (CODE.test(whole)) return "code";
  return last === "key" || last === "keys" || last === "salt" ? "key" : undefined;
}
