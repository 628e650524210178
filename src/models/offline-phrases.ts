/** The English phrases of the offline model, with examples. Words have single spaces; `⟦0⟧` is a quote. */

const mentions =
  "(?:mention|contain|include|use|import|reference|require|call|define|say|match|have the (?:word|text))(?:s|es)?";
const used = "(?:appears?|occurs?|used|mentioned|defined|imported|called|found)";
const upTo = "(?:-| ?(?:-|to|through|until|and) ?)";

/** The named groups of the first phrase that matches. */
export type Found = Readonly<Partial<Record<Part, string>>>;

type Part = "thing" | "rest" | "place" | "path" | "words" | "which" | "from" | "to" | "first";

export function firstFit(clause: string, phrases: readonly RegExp[]): Found | undefined {
  for (const phrase of phrases) {
    const match = phrase.exec(clause);
    if (match !== null) return match.groups ?? {};
  }
  return undefined;
}

export const forHelp: readonly RegExp[] = [
  /^(?:help|(?:hi|hello|hey)(?: there)?)$/i,
  /^(?:who|what) are you$/i,
  /^what (?:can|do) (?:you do|i ask.*)$/i,
  /\bwhat you can do$/i, // tell me what you can do
];

export const forAnAccount: readonly RegExp[] = [
  /\b(?:what|how|why|which tools) (?:did|have) you\b/i, // how did you find that
  /\bwhat you (?:just )?(?:did|have done)\b/i, // explain what you did
  /^explain (?:yourself|that|it|how you|your)\b/i,
  /^what happened$/i,
];

/** Any count; `rest` names the counted things. */
export const forACount: readonly RegExp[] = [
  /\b(?:how many|how often|how long|count|number of)\b ?(?:(?:is|are|the|all|up) )*(?<rest>.*)$/i,
];

export const forACountOfMatches: readonly RegExp[] = [
  new RegExp(`\\b${mentions} (?<thing>.+)$`, "i"), // files mention zod
  /^(?:matches|occurrences|mentions|uses|hits) (?:of|for) (?<thing>.+)$/i,
  // times does zod appear in src
  new RegExp(
    `^(?:times )?(?:(?:does|do|is|are) )?(?<thing>.+?) (?:(?:is|are) )?${used}\\b(?<rest>.*)$`,
    "i",
  ),
];

export const forASearch: readonly RegExp[] = [
  // look in src for foo
  /^(?:look|search) (?:in|through) (?:the )?(?<place>\S+)(?: (?:folder|directory|file))? for (?<thing>.+)$/i,
  /^grep (?!for )(?<thing>\S+) (?<place>\S+)$/i, // grep foo src
  new RegExp(`^(?:what|who|which) ${mentions} (?<thing>.+)$`, "i"), // what uses zod
  // which typescript files in src mention zod; find the files that mention zod
  new RegExp(
    `^(?:find|show|list|which|what|all|the|files)\\b[^⟦]*?\\bfiles?(?: (?:in|under) (?:the )?(?<place>\\S+))?(?: (?:that|which))? ${mentions} (?<thing>.+)$`,
    "i",
  ),
  // where is zod used in src
  new RegExp(`^where (?:is|are|does|do) (?<thing>.+?) ${used}\\b(?<rest>.*)$`, "i"),
  // search the files for foo; grep for foo
  /^(?:search|grep|look)(?: (?:the|all|every) (?:files?|folder|code|project))?(?: for)? (?<thing>.+)$/i,
  // find zod, where is zod; but not: find all files, find package.json
  /^(?:find|where (?:is|are)) (?!.*\bfiles?\b.)(?!(?:the )?\S+\.\w+$)(?<thing>.+)$/i,
];

/** A listing and not a search: find the markdown files. */
export const onlyFiles = /^(?:(?:all|the) )*(?:\S+ )?files?$/i;

export const forAFoundFile: readonly RegExp[] = [
  /^(?:read|open|show|print|display|view) (?:me )?(?:it|them|that)$/i,
  /^(?:read|open|show|print|display|view) (?:me )?(?:the )?(?<which>first|second|third|last)(?: (?:one|file|match|result))?$/i,
];

export const ofLines = new RegExp(
  `\\b(?:the )?(?:lines? (?<from>\\d+)(?:${upTo}(?<to>\\d+))?|first (?<first>\\d+) lines?)(?: (?:of|in|from))? ?`,
  "i",
);

export const forAFile: readonly RegExp[] = [
  // read the file a.txt; show me the contents of a.txt; open the readme file
  /^(?:read|open|cat|print|view|show|display)(?: me)?(?: the)?(?: (?:contents?|text) of)?(?: the)?(?: file)? (?<path>\S+)(?: file)?$/i,
  // what does a.txt say; what's in a.txt
  /^what(?:'s| is| does| do) (?:in(?:side)? )?(?:the )?(?:file )?(?<path>\S*\.\w+)(?: (?:file|say|says|contain))?$/i,
];

/** Words in the place of a file name that name no file. */
export const noFile = /^(?:files?|folders?|here|everything|all)$/i;

export const forFilesByName: readonly RegExp[] = [
  /\bfiles? (?:called|named) (?<path>\S+)$/i,
  /^(?:find|where is) (?:the )?(?<path>\S+\.\w+)$/i,
];

export const forAListing: readonly RegExp[] = [
  /^(?:list|ls|dir)\b/i,
  /^(?:find|show|display|which|what)\b.*\b(?:files?|folders?|is in|is here)\b/i,
  /^what's (?:in|here)\b/i,
];

export const ofAllBelow = /\b(?:all|every|everything|recursive(?:ly)?|tree)\b/i;

export const forWriting: readonly RegExp[] = [
  // write hello to a.txt
  /^(?:write|save|put|add) (?<words>.+) (?:to|into|in|as) (?:(?:the|a) )?(?:new )?(?:file )?(?<path>\S+)$/i,
  // create a file a.txt with hello
  /^(?:create|write|make) (?:(?:the|a) )?(?:new )?(?:file )?(?:(?:called|named) )?(?<path>\S+) (?:with|containing|saying) (?:the (?:text|words?) )?(?<words>.+)$/i,
  // create a.txt
  /^(?:create|make) (?:(?:the|a) )?(?:new )?(?:file )?(?:(?:called|named) )?(?<path>\S*[./⟦]\S*)$/i,
];
