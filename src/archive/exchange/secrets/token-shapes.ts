/**
 * Finds tokens by their form, from their providers' documentation. Lengths are lower bounds, for truncated and
 * future longer tokens. Pure.
 */

/** Prefixes of tokens, by the least number of characters that follow. */
const prefixes: Readonly<Record<number, readonly string[]>> = {
  16: [
    String.raw`[spr]k[-_]`,
    String.raw`[spr]k[-_](?:live|test|prod|proj|ant|or|lf|svcacct|admin)[-_]`,
    String.raw`(?:whsec|secret|token|apikey|api_key|access_token)[_-]`,
    // GitHub, GitLab, Bitbucket, Atlassian, Slack.
    "gh[pousr]_",
    "github_pat_",
    "gl(?:pat|dt|rt|rtr|cbt|ptt|ft|soat|imt|agent|oas|wt|ffct)-",
    "GR1348941",
    "BBDC-",
    "ATBB",
    "AT[AC]TT3",
    "ATTA",
    // Package registries.
    "npm_",
    "pypi-",
    "rubygems_",
    "oy2",
    "CLOJARS_",
    "dckr_[po]at_",
    "jfrt@",
    "AKCp",
    "cmVmd",
    // Clouds.
    "GOCSPX-",
    "GOOG1",
    String.raw`ya29\.`,
    "1//0",
    "4/0A",
    "do[opr]_v1_",
    "LTAI",
    "AKID",
    "AKLT",
    "AQVN",
    String.raw`t1\.9`,
    "y0_",
    "SCW",
    "HRKU-",
    "ABSK",
    "bedrock-api-key-",
    "nfp_",
    "rnd_",
    "fo1_",
    "fm[12]_",
    "vc[piark]_",
    "cf(?:at|ut|k)_",
    String.raw`v1\.0-`,
    "tskey-[a-z]+-",
    "napi_",
    "npg_",
    "sbp_",
    "sb_secret_",
    "pscale_(?:tkn|pw|oauth)_",
    "pul-",
    "dapi",
    "dose_",
    String.raw`hv[sbr]\.`,
    String.raw`dp\.(?:pt|st|ct|sa|scim|audit)\.`,
    "ops_",
    "A3-",
    "AGE-SECRET-KEY-1",
    // Models.
    "AIza",
    String.raw`AQ\.Ab`,
    "gsk_",
    "pplx-",
    "xai-",
    "hf_",
    "api_org_",
    "r8_",
    "fw_",
    "nvapi-",
    "tgp_v1_",
    "csk-",
    "jina_",
    "tvly-(?:dev-|prod-)?",
    "fc-",
    "e2b_",
    "lsv2_[ps][tk]_",
    "apify_api_",
    "esecret_",
    "wandb_v1_",
    // Messages and mail.
    "xox[abceoprs]-",
    String.raw`xoxe\.xox[bp]-`,
    "xapp-",
    String.raw`SG\.`,
    "xkeysib-",
    "xsmtpsib-",
    "re_",
    String.raw`mlsn\.`,
    "key-",
    // Payment and shops.
    "(?:live|test)_",
    "sq0(?:atp|csp|idp)-",
    "EAA",
    "IGQ",
    "shp(?:at|ca|pa|ss|tka|ua)_",
    "rzp_(?:live|test)_",
    "FLWSECK[_-]",
    "EZ[AT]K",
    "shippo_(?:live|test)_",
    "access-(?:production|sandbox|development)-",
    "duffel_(?:live|test)_",
    // Work.
    "lin_(?:api|oauth)_",
    "ntn_",
    "fig[dou]r?_",
    "PMAK-",
    "tfp_",
    "CFPAT-",
    "(?:sdk|mob|api)-[0-9a-f]{8}-",
    "pat-(?:na|eu|ap)\\d-",
    String.raw`sl\.(?:u\.)?`,
    "glc_",
    "glsa_",
    "NR(?:AK|JS|II|AA|RA|IQ|BR)-",
    "sntry[su]_",
    "ph[xs]_",
    "sq[pua]_",
    "bk(?:ua|at|ct)_",
    "CCI(?:PAT|PRJ)_",
    "rdme_",
    "pnu_",
    "fio-u-",
  ],
};

/** Contains a run of letters and digits that is not a word of a hyphenated name. */
const BODY = String.raw`(?=[\w+=~.-]*(?:\d|[a-z][A-Z][\w+=~.-]*[a-z][A-Z]))(?=[\w+/=~.-]*?[A-Za-z0-9]{8})[\w+/=~-]`;

const known = Object.entries(prefixes).map(
  ([least, starts]) =>
    new RegExp(String.raw`(?<![\w-])(?:${starts.join("|")})${BODY}[\w+/=.~-]{${least},}(?<![.~-])`),
);

export const tokenShapes: SecretRule = patternRule("provider-keys", [
  ...known,
  /(?<![A-Za-z0-9])(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{12,}/,
  /(?<![\w/+])(?:FwoGZXIvYXdz|IQoJb3JpZ2lu)[\w+/=]{20,}/,
  // Azure: client secrets, account keys, keys that contain a mark of their service.
  /(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{20,}/,
  /(?<![\w+/]|sha512-)[\w+/]{86}==(?![\w=])/,
  /(?<![\w+/-])[\w+/-]{30,}(?:AzFu|AzSe|AzCa|AzIo|ACDb|APIM|AZDO|\+A(?:St|MC|Eh|Rm|Ba|Cs|SB))[\w+/=]{4,}/,
  // Prefixes with dots, dollars and colons, which other words have too.
  /\bamzn\.mws\.[\da-f]{8}-[\da-f-]{20,}/,
  /\baccess_token\$\w+\$[\da-z]{8,}\$[\da-f]{16,}/,
  /(?<![\w.])v\d\.(?:local|public)\.[\w-]{40,}(?:\.[\w-]{4,})?/,
  /(?<![\w-])AAAA[\w-]{7}:[\w-]{100,}/,
  // Slack, Discord, Telegram, and webhook addresses.
  /(?<=hooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w/-]{16,}/i,
  /(?<=discord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\/)[\w/-]{16,}/i,
  /\.(?:webhook\.office|logic\.azure)\.com(?:\/\w{1,30})?\/(?<secret>[^\s"'<>]{16,})/i,
  /(?<=hooks\.zapier\.com\/hooks\/catch\/)[\w/]{8,}/i,
  /(?<=open\.(?:feishu|larksuite)\.c(?:n|om)\/open-apis\/bot\/v2\/hook\/)[\w-]{8,}/i,
  /maker\.ifttt\.com\/[^\s"']{0,80}?\/key\/(?<secret>[\w-]{8,})/i,
  /(?<![\w.-])(?:[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{20,}|mfa\.[\w-]{40,})/,
  /(?<!\d)\d{8,10}:A[\w-]{30,}/,
  // Twilio, Mailchimp, Asana, Airtable, Notion, Terraform, HashiCorp, Heroku, Ghost, Sentry.
  /(?<![A-Za-z0-9])SK[\da-f]{32}(?![A-Za-z0-9])/,
  /(?<![A-Za-z0-9])[\da-f]{32}-us\d{1,2}(?!\w)/,
  /(?<![\w/])[012]\/\d{10,}(?:\/\d+)?:[\da-f]{32}(?!\w)/,
  /(?<![A-Za-z0-9])pat\w{14}\.[\da-f]{40,}/,
  /(?<![A-Za-z0-9])\w{14}\.atlasv1\.[\w=-]{40,}/,
  /(?<![\w.])s\.[A-Za-z0-9]{24}(?![\w.])/,
  /(?<![\da-f])[\da-f]{24}:[\da-f]{64}(?![\da-f])/,
  /(?<=https?:\/\/)[\da-f]{32}(?::[\da-f]{32})?(?=@)/,
  /(?<![\w.])p8e-[\w-]{20,}/,
  // Dynatrace; tokens that join Kubernetes clusters.
  /(?<![A-Za-z0-9])dt0[a-z]\d{2}\.[A-Z\d]{16,}(?:\.[A-Z\d]{16,})?/,
  /(?<=token\W{1,4})[a-z\d]{6}\.[a-z\d]{16}(?!\w)/,
  // Project ids in service addresses, which grant access.
  /(?<=:\/\/[\w.-]{1,100}\/v\d{1,2}\/)[\da-f]{32}(?![\w/-])/,
  // A key pair of Solana: 64 bytes.
  /\[\s{0,4}(?<secret>\d{1,3}(?:\s{0,4},\s{0,4}\d{1,3}){63})\s{0,4}\]/,
  /(?<![A-Za-z0-9])00D\w{9,15}![\w.]{20,}/,
  // Private keys as wallets export them.
  /(?<![A-Za-z0-9])(?:[5KL][1-9A-HJ-NP-Za-km-z]{50,51}|[xyzt]prv[1-9A-HJ-NP-Za-km-z]{80,})(?![A-Za-z0-9])/,
  // Password hashes, whose passwords can be guessed.
  /\$(?:apr1|1|2[abxy]|5|6|7|y|argon2(?:id?|d)|scrypt|pbkdf2[\w-]*)\$[^\s:"'`\\]{12,}/,
]);

/** `header.payload.signature`, also truncated or encrypted. */
export const jsonWebTokens: SecretRule = patternRule("json-web-tokens", [
  /(?<![A-Za-z0-9])(?:[spt]k?\.)?ey[JI][\w-]{8,}(?:\.[\w-]*){1,4}/,
]);

// The interface of rules that find secrets in a text, and rules made of patterns.

/** Characters of a text from `from` to before `to`. */
export type Range = readonly [from: number, to: number];

export interface SecretRule {
  /** The header of a fixture lists the names of the rules that found something. */
  readonly name: string;
  find(text: string): Range[];
}

/** A rule of patterns. It finds the group named `secret`, else the whole match. */
export function patternRule(name: string, patterns: readonly RegExp[]): SecretRule {
  const marked = patterns.map(
    (pattern) => new RegExp(pattern.source, `${pattern.flags.replaceAll(/[dgy]/g, "")}dg`),
  );
  return {
    name,
    find: (text) =>
      marked.flatMap((pattern) =>
        [...text.matchAll(pattern)].flatMap(({ indices }): readonly Range[] => {
          const range = indices?.groups?.["secret"] ?? indices?.[0];
          return range === undefined || range[0] === range[1] ? [] : [range];
        }),
      ),
  };
}
