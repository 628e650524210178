/**
 * What a provider blames when it refuses a request as invalid, by its own words. Reads the stored form of the
 * error only, so that a replay decides as the live session did. Pure.
 */

import { z } from "zod";
import {
  jsonSchema,
  type FailureKind,
  type JsonValue,
  type StoredError,
  jsonOrText,
} from "../../events/index.ts";

/**
 * - `media`: a file of the conversation, which the provider cannot read or does not take.
 * - `history`: the conversation otherwise.
 * - `setup`: model, key, settings or tools, but not the conversation.
 * - `unclear`: the words do not say.
 */
export type RefusalCause = "media" | "history" | "setup" | "unclear";

/** Each row is a wording, with an example and where it was reported. The first that matches decides. */
const rows: readonly (readonly [RefusalCause, RegExp])[] = [
  // Fields of the request besides the conversation. Anthropic: "tools.3.custom.input_schema: …",
  // "system: text content blocks must be non-empty", "max_tokens: 999999 > 64000"; OpenAI: "Invalid
  // 'tools[0].function.name'"; Google: "GenerateContentRequest.tools[0].function_declarations[0].name: …";
  // Bedrock: "#/toolConfig/tools/0/…" (API references).
  [
    "setup",
    /(?:^|['"`\s/*]|Request\.)(?:tools|tool_choice|toolConfig|functions|function_declarations|system|system_instruction|response_format|generation_config|max_(?:output_|completion_)?tokens|temperature|top_p|top_k|stop_sequences|betas|mcp_servers|container|thinking)(?:[.[/]\w|['"`]?:\s)/m,
  ],
  // FastAPI gateways and Mistral: {"loc": ["body", "temperature"], "msg": …}.
  ["setup", /^body (?!messages|input|contents)\w+/m],
  // OpenAI: {"param": "web_search_options"}; the role of the instructions: "'messages[0].role' does not support
  // 'developer' with this model" (recorded error answers).
  ["setup", /^param (?!messages|input|contents)\w/m],
  // Marks for caching, which are no part of the conversation: "messages.0.content.0.cache_control: Extra inputs are
  // not permitted" (langchain-ai/deepagents#2881).
  ["setup", /cache_control/],
  // Tools that a model does not take. Google: "Function calling is not enabled for this model", "Function calling
  // with a response mime type … is unsupported"; Ollama: "… does not support tools".
  ["setup", /function calling|\bsupport tools?\b/i],
  ["setup", /messages\[\d+\]\.role' does not support '(?:developer|system)'/],

  // Anthropic: "messages.2.content.1.image.source.base64.data: Could not process image" (claude-code#1747),
  // "image exceeds 5 MB maximum", "Image does not match the provided media type"; Google: "Unable to process
  // input image"; OpenAI: "You uploaded an unsupported image" (vercel/ai#1544), "The image data you provided
  // does not represent a valid image" (codex#4946), "Invalid base64 image_url"; OpenRouter: "No endpoints found
  // that support image input"; DeepSeek: "unknown variant `image_url`, expected `text`".
  [
    "media",
    /(?:process|unsupported|invalid|valid|support|corrupt\w*|decode|download\w*|parse|read|load|exceeds?|upload\w*|represent|fetch\w*|variant|format|many|maximum)\b[^.\n]{0,80}\b(?:images?|pictures?|image_url|input_image|input_audio|audio|video|pdfs?|documents?)\b/i,
  ],
  [
    "media",
    /\b(?:images?|pictures?|image_url|input_image|input_audio|audio|videos?|pdfs?|documents?)\b[^\n]{0,80}(?:\bnot (?:valid|supported|enabled|match)|unsupported|invalid|password|exceeds?|too (?:large|big|many|small)|maximum|corrupt|could not|cannot|failed|must be|no pages|required|dimensions)/i,
  ],
  [
    "media",
    /invalid_image|image_parse_error|unsupported_(?:file|image)|invalid_file|invalid_base64/i,
  ],
  // OpenAI chat: "Content blocks are expected to be either text or image_url type" (recorded error answers).
  ["media", /expected to be either text or image_url/],
  ["media", /invalid base64|base64[- ]encoded|not (?:a )?valid base64/i],
  ["media", /(?:mime|media)[ _-]?type/i],
  [
    "media",
    /(?:^|[\s.])(?:image|document|audio|video|file|inline_?data|file_?data)\.(?:source|url|data|media_type|file_data)/im,
  ],
  // OpenAI: "Error while downloading https://…", "The file type you uploaded is not supported"; Anthropic:
  // "Unable to download the file"; the AI SDK: "Failed to download https://…: 404 Not Found".
  ["media", /(?:error while|failed to|unable to|timeout while|could not) download/i],
  [
    "media",
    /\bfile\b[^\n]{0,60}(?:not (?:found|supported|exist)|unsupported|invalid|expired|deleted)/i,
  ],
  ["media", /^AI_(?:Download|InvalidDataContent)Error\b/m],
  // The AI SDK, before anything is sent: "'file part media type video/mp4' functionality not supported."
  ["media", /^AI_UnsupportedFunctionalityError\b[^]*(?:media type|file|image|audio|pdf)/im],

  // A place in the conversation. Anthropic: "messages.0: Input does not match the expected shape"; OpenAI:
  // "Invalid 'messages[3]'", "Invalid 'input[3].name'"; Google: "contents[2].parts[0].function_response";
  // Bedrock: "#/messages/2/content/0"; FastAPI: "body messages 2".
  ["history", /\b(?:messages|input|contents|history)(?:\.\d|\[\d|\/\d|: )/],
  ["history", /^(?:param|body) (?:messages|input|contents)/m],

  // Settings that are named without a place. Anthropic: "`temperature` may only be set to 1 when thinking is
  // enabled", "Thinking may not be enabled when tool_choice forces tool use", "output_format: Extra inputs are not
  // permitted"; Google: "Budget 0 is invalid. This model only works in thinking mode"; OpenAI: "max_tokens is too
  // large: 100000"; xAI: "Argument not supported on this model: reasoningEffort".
  [
    "setup",
    /\b(?:temperature|top_?[pk]|max_?(?:output_?|completion_?)?tokens|(?:presence|frequency)_?penalty|reasoning_?effort|tool[ _-]?choice|response[ _]?(?:format|schema|mime)|thinking[ _](?:config|budget|level|mode)|anthropic-beta)\b/i,
  ],
  ["setup", /^[a-z_]+(?:\.\w+)*: (?:extra inputs|input should be|field required)/im],
  // Accounts. Anthropic: "You have reached your specified API usage limits", "This organization has been disabled",
  // "This credential is only authorized for …"; LiteLLM: "Budget has been exceeded"; OpenRouter: "No endpoints found
  // matching your data policy"; Google: "User location is not supported for the API use", "Developer instruction is
  // not enabled for this model".
  [
    "setup",
    /usage limits?|\borganization\b|\bcredential|budget has been exceeded|data policy|user location|not enabled for/i,
  ],

  // Anthropic: "This model does not support assistant message prefill. The conversation must end with a user
  // message"; OpenAI: "Invalid schema for function 'look'".
  ["history", /prefill|must end with a user message/i],
  ["setup", /invalid (?:json )?schema|input_schema|specified schema/i],
  // Keys and accounts. Google: "API key not valid"; xAI: "Incorrect API key provided"; Anthropic: "Your credit
  // balance is too low" (recorded error answers).
  ["setup", /api[ _-]?key|credit balance|billing|subscription|permission|access denied/i],
  // Models and what they take: "The requested model 'gpt-5.2-proo' does not exist", "The provided model
  // identifier is invalid", "This model does not support effort level", "… not supported with this model".
  ["setup", /model_not_found|DeploymentNotFound|model identifier/i],
  [
    "setup",
    /\bmodels?\b[^\n]{0,100}(?:not (?:exist|found|available|support)|does not|is not|unknown|invalid|deprecated|retired)/i,
  ],
  [
    "setup",
    /(?:not supported|unsupported|incompatible|available)\b[^\n]{0,40}\b(?:with|by|for) (?:this|the) model/i,
  ],
  // Groq: the model answered otherwise than it was told to (recorded error answers).
  ["setup", /tool_use_failed|tool choice is required/i],
  [
    "setup",
    /unknown (?:parameter|field|argument)|unrecognized request argument|unsupported (?:parameter|value)/i,
  ],
  ["setup", /previous_?response/i],

  // Anthropic: "`tool_use` ids were found without `tool_result` blocks", "`thinking` … blocks in the latest
  // assistant message cannot be modified" (claude-code#13201), "Invalid `signature` in `thinking` block"
  // (anthropic-sdk-python#1598), "Expected `thinking` …, but found `tool_use`".
  [
    "history",
    /tool_use|tool_result|toolUse|toolResult|tool_calls?\b|tool call id|function[ _]calls?\b|function[ _]responses?\b/i,
  ],
  ["history", /thinking|thought_?signature|signature|reasoning|encrypted[ _]content/i],
  // OpenAI: "Item 'rs_…' of type 'reasoning' was provided without its required following item", "Item with id
  // 'msg_…' not found", "No tool output found for function call call_1".
  [
    "history",
    /\bitems?\b[^\n]{0,120}(?:not found|without its|duplicate)|No tool (?:output|call) found/i,
  ],
  // "text content blocks must be non-empty", xAI: "Each message must have at least one content element".
  [
    "history",
    /content blocks?\b|content elements?\b|\bcontent\b[^\n]{0,40}(?:empty|blank)|(?:empty|blank)[^\n]{0,40}\bcontent\b/i,
  ],
  // Mistral: "Expected last role User or Tool"; Google: "Please use a valid role: user, model" (recorded error
  // answers), "function call turn comes immediately after a user turn".
  [
    "history",
    /\broles?\b|\bassistant\b|\bmessages?\b[^\n]{0,60}(?:must|should|cannot|invalid|alternat|prefill)/i,
  ],
  // Mistral: "Function name was a.b but must be a-z, A-Z, 0-9".
  ["history", /function name|tool name/i],
  // Anthropic: "The request body is not valid JSON: no low surrogate in string" (claude-code#2108); OpenAI: "We
  // could not parse the JSON body of your request"; DeepSeek: "lone leading surrogate in hex escape".
  [
    "history",
    /surrogate|hex escape|unicode|utf-?8|not valid json|could not parse the json|null (?:byte|character)/i,
  ],
];

const errorSchema = z.lazy(() =>
  z.looseObject({
    name: z.string().catch(""),
    message: z.string().catch(""),
    statusCode: z.number().optional().catch(undefined),
    responseBody: z.string().optional().catch(undefined),
  }),
);

/**
 * The statuses with which providers refuse a conversation. Another status, such as 404, concerns the address or
 * the model.
 */
const unclearStatuses: readonly (number | undefined)[] = [undefined, 400, 422];

/** Undefined for a failure that is not a refusal of a request: a rate limit, an overload, a wrong key. */
export function refusalCause(error: StoredError, kind: FailureKind): RefusalCause | undefined {
  const { name } = error;
  // The SDK throws some refusals itself, without a status.
  const isThrown = kind === "unknown" && /^AI_(?:Unsupported|Invalid|Download)/.test(name);
  if (kind !== "invalid-request" && !isThrown) return undefined;
  const text = refusalWords(error);
  const { statusCode } = errorSchema.parse(error);
  const otherwise = unclearStatuses.includes(statusCode) ? "unclear" : "setup";
  return rows.find(([, pattern]) => pattern.test(text))?.[0] ?? otherwise;
}

/** What the error says, without what it repeats of the request. */
export function refusalWords(error: StoredError): string {
  const { name, message, responseBody } = errorSchema.parse(error);
  const body = responseBody === undefined ? [] : bodyWords(responseBody);
  return [name, message, ...body].join("\n");
}

/** The fields with the provider's own words. Others may repeat what was sent. */
const named: ReadonlySet<string> = new Set([
  "message",
  "msg",
  "error",
  "detail",
  "code",
  "type",
  "raw",
  "reason",
]);

/** The words of an answer, or of one that a gateway repeats as text. */
function bodyWords(body: string): readonly string[] {
  if (!body.trimStart().startsWith("{")) return [body];
  const parsed = jsonSchema.safeParse(jsonOrText(body));
  return parsed.success && typeof parsed.data !== "string" ? wordsIn(parsed.data) : [body];
}

function wordsIn(value: JsonValue): readonly string[] {
  if (typeof value === "string") return bodyWords(value);
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(wordsIn);
  return Object.entries(value).flatMap(([key, inner]): readonly string[] => {
    if (key === "loc" && Array.isArray(inner)) return [inner.join(" ")];
    if (key === "param" && typeof inner === "string") return [`param ${inner}`];
    const isRead = named.has(key) || (typeof inner === "object" && key !== "input");
    return isRead ? wordsIn(inner) : [];
  });
}
