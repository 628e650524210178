/** What Google's Gemini API refuses. */

import { z } from "zod";
import { isObject, isWhole, repeated, rulebook, stringsIn, typeOfData, type Rule } from "./rule.ts";

const part = z.looseObject({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  thoughtSignature: z.string().optional(),
  inlineData: z.looseObject({ mimeType: z.string(), data: z.string() }).optional(),
  fileData: z.unknown().optional(),
  functionCall: z
    .looseObject({ name: z.string(), id: z.string().optional(), args: z.unknown().optional() })
    .optional(),
  functionResponse: z
    .looseObject({ name: z.string(), response: z.unknown().optional() })
    .optional(),
});

const googleBody = z.looseObject({
  contents: z.array(z.looseObject({ role: z.string(), parts: z.array(part) })),
  systemInstruction: z.looseObject({ parts: z.array(part) }).optional(),
  tools: z
    .array(
      z.looseObject({
        functionDeclarations: z
          .array(
            z.looseObject({
              name: z.string(),
              parameters: z.record(z.string(), z.unknown()).nullish(),
            }),
          )
          .optional(),
      }),
    )
    .optional(),
});
type Body = z.infer<typeof googleBody>;
type Content = Body["contents"][number];

const callsIn = (content: Content | undefined) =>
  (content?.parts ?? []).flatMap(({ functionCall }) => functionCall ?? []);
const responsesIn = (content: Content | undefined) =>
  (content?.parts ?? []).flatMap(({ functionResponse }) => functionResponse ?? []);

function partsOf({ contents }: Body) {
  return contents.flatMap(({ parts }, content) =>
    parts.map((part, index) => ({ part, at: `contents[${content}].parts[${index}]` })),
  );
}

function declarations({ tools = [] }: Body) {
  return tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations);
}

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/;
const BASE64 =
  /^(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9+/_-]{2}(?:==)?|[A-Za-z0-9+/_-]{3}=?)?$/;
const reference = "https://ai.google.dev/api/generate-content";
const calling = "https://ai.google.dev/gemini-api/docs/function-calling";
const nameWords =
  "Invalid function name. Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.";

const rules: readonly Rule<Body>[] = [
  {
    id: "whole-characters",
    says: "No string has half a surrogate pair.",
    source: "https://www.rfc-editor.org/rfc/rfc8259#section-8.2",
    words: "Invalid JSON payload received. Expected a value. {} in string",
    breaches: (body) =>
      [...stringsIn(body)].flatMap((string) => (string.isWellFormed() ? [] : [["Lone surrogate"]])),
  },
  {
    id: "contents",
    says: "There are contents.",
    source: reference,
    words: "* GenerateContentRequest.contents: contents is not specified",
    breaches: ({ contents }) => (contents.length === 0 ? [[]] : []),
  },
  {
    id: "roles",
    says: "A role is user or model.",
    source: reference,
    words: "Please use a valid role: user, model. ({})",
    breaches: ({ contents }) =>
      contents.flatMap(({ role }) => (role === "user" || role === "model" ? [] : [[role]])),
  },
  {
    id: "user-first",
    says: "The contents begin with the user's.",
    source: "https://ai.google.dev/gemini-api/docs/text-generation",
    words: "Please ensure that multiturn requests begin with a user turn, not with {}.",
    breaches: ({ contents }) =>
      contents[0] === undefined || contents[0].role === "user" ? [] : [[contents[0].role]],
  },
  {
    id: "turns-alternate",
    says: "No two contents of the model follow each other.",
    source: "https://ai.google.dev/gemini-api/docs/text-generation",
    words: "Please ensure that multiturn requests alternate between user and model. (contents[{}])",
    breaches: ({ contents }) =>
      contents.flatMap(({ role }, index) =>
        role === "model" && contents[index - 1]?.role === "model" ? [[index]] : [],
      ),
  },
  {
    id: "input-last",
    says: "The last content is the user's.",
    source: "https://ai.google.dev/gemini-api/docs/text-generation",
    words:
      "Please ensure that multiturn requests end with a user turn or a function response. (contents[{}])",
    breaches: ({ contents }) => (contents.at(-1)?.role === "model" ? [[contents.length - 1]] : []),
  },
  {
    id: "parts",
    says: "Each content has parts.",
    source: "https://github.com/vercel/ai/issues/3775",
    words: "* GenerateContentRequest.contents[{}].parts: contents.parts must not be empty.",
    breaches: ({ contents }) =>
      contents.flatMap(({ parts }, index) => (parts.length === 0 ? [[index]] : [])),
  },
  {
    id: "part-data",
    says: "A content has more than an empty text, unless it bears a signature.",
    source: "https://github.com/router-for-me/CLIProxyAPI/issues/1293",
    words:
      "* GenerateContentRequest.contents[{}].parts[0].data: required oneof field 'data' must have one initialized field",
    breaches: ({ contents }) =>
      contents.flatMap(({ parts }, index) =>
        parts.length > 0 &&
        parts.every(({ text, thoughtSignature }) => text === "" && thoughtSignature === undefined)
          ? [[index]]
          : [],
      ),
  },
  {
    id: "calls-after-input",
    says: "A content with calls comes after the user's, or after responses.",
    source: calling,
    words:
      "Please ensure that function call turn comes immediately after a user turn or after a function response turn. (contents[{}])",
    breaches: ({ contents }) =>
      contents.flatMap((content, index) =>
        callsIn(content).length > 0 && contents[index - 1]?.role !== "user" ? [[index]] : [],
      ),
  },
  {
    id: "calls-answered",
    says: "There are as many responses in the next content as calls.",
    source: "https://github.com/google-gemini/gemini-cli/issues/4217",
    words:
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn. ({} and {})",
    breaches: ({ contents }) =>
      contents.flatMap((content, index) => {
        const calls = callsIn(content).length;
        const responses = responsesIn(contents[index + 1]).length;
        return calls > 0 && calls !== responses ? [[responses, calls]] : [];
      }),
  },
  {
    id: "responses-called",
    says: "Responses come right after the content that called, under the names and in the order of its calls.",
    source: calling,
    words:
      "Please ensure that function response turn comes immediately after a function call turn. (contents[{}])",
    breaches: ({ contents }) =>
      contents.flatMap((content, index) => {
        const names = responsesIn(content).map(({ name }) => name);
        if (names.length === 0) return [];
        const called = callsIn(contents[index - 1]).map(({ name }) => name);
        return called.join("\n") === names.join("\n") ? [] : [[index]];
      }),
  },
  {
    id: "called-name",
    says: "The name of a called function, in the history too, begins with a letter or underscore and has at most 64 letters, digits, underscores, dots, colons and dashes.",
    source: "https://github.com/kaitranntt/ccs/issues/219",
    words: `* GenerateContentRequest.{}.function_call.name: [FIELD_INVALID] ${nameWords}`,
    breaches: (body) =>
      partsOf(body).flatMap(({ part: { functionCall, functionResponse }, at }) =>
        [functionCall, functionResponse].some((one) => one !== undefined && !NAME.test(one.name))
          ? [[at]]
          : [],
      ),
  },
  {
    id: "call-args",
    says: "The arguments of a call are an object.",
    source: reference,
    words: "Invalid value at '{}.function_call.args' (type.googleapis.com/google.protobuf.Struct)",
    breaches: (body) =>
      partsOf(body).flatMap(({ part: { functionCall }, at }) =>
        functionCall?.args !== undefined && !isObject(functionCall.args) ? [[at]] : [],
      ),
  },
  {
    id: "response-object",
    says: "A response is an object.",
    source: reference,
    words:
      "Invalid value at '{}.function_response.response' (type.googleapis.com/google.protobuf.Struct)",
    breaches: (body) =>
      partsOf(body).flatMap(({ part: { functionResponse }, at }) =>
        functionResponse !== undefined && !isObject(functionResponse.response) ? [[at]] : [],
      ),
  },
  {
    id: "thought-signature",
    says: "The first call of each content of the current turn has its thought signature (Gemini 3).",
    source: "https://ai.google.dev/gemini-api/docs/thought-signatures",
    words:
      "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{}` , position {}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
    breaches: ({ contents }) => {
      const turn = contents.findLastIndex(
        ({ role, parts }) =>
          role === "user" && parts.some(({ functionResponse }) => functionResponse === undefined),
      );
      return contents.flatMap(({ parts }, index) => {
        const first = parts.find(({ functionCall }) => functionCall !== undefined);
        return index > turn && first !== undefined && (first.thoughtSignature ?? "") === ""
          ? [[first.functionCall?.name ?? "", index]]
          : [];
      });
    },
  },
  {
    id: "signature-bytes",
    says: "A thought signature is base64.",
    source: "https://ai.google.dev/gemini-api/docs/thought-signatures",
    words: "Invalid value at '{}.thought_signature' (TYPE_BYTES), Base64 decoding failed",
    breaches: (body) =>
      partsOf(body).flatMap(({ part: { thoughtSignature: signature }, at }) =>
        signature !== undefined &&
        !BASE64.test(signature) &&
        signature !== "skip_thought_signature_validator"
          ? [[at]]
          : [],
      ),
  },
  {
    id: "inline-data",
    says: "A file has data.",
    source: reference,
    words: "* GenerateContentRequest.{}.inline_data.data: must not be empty",
    breaches: (body) =>
      partsOf(body).flatMap(({ part: { inlineData }, at }) =>
        inlineData?.data === "" ? [[at]] : [],
      ),
  },
  {
    id: "image-data",
    says: "A picture is a JPEG, PNG or WebP, and whole.",
    source: "https://ai.google.dev/gemini-api/docs/image-understanding",
    words:
      "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting ({})",
    breaches: (body) =>
      partsOf(body).flatMap(({ part: { inlineData }, at }) => {
        if (inlineData?.mimeType.startsWith("image/") !== true || inlineData.data === "") return [];
        const type = typeOfData(inlineData.data);
        const isGood = type?.startsWith("image/") === true && isWhole(inlineData.data, type);
        return isGood ? [] : [[at]];
      }),
  },
  {
    id: "pdf",
    says: "A PDF is one, and whole.",
    source: "https://ai.google.dev/gemini-api/docs/document-processing",
    words: "The document has no pages. ({})",
    breaches: (body) =>
      partsOf(body).flatMap(({ part: { inlineData }, at }) =>
        inlineData?.mimeType === "application/pdf" &&
        !(
          typeOfData(inlineData.data) === "application/pdf" &&
          isWhole(inlineData.data, "application/pdf")
        )
          ? [[at]]
          : [],
      ),
  },
  {
    id: "tool-name",
    says: "A function's name begins with a letter or underscore and has at most 64 letters, digits, underscores, dots, colons and dashes.",
    source: "https://github.com/kaitranntt/ccs/issues/219",
    words: `* GenerateContentRequest.tools[0].function_declarations[{}].name: [FIELD_INVALID] ${nameWords}`,
    breaches: (body) =>
      declarations(body).flatMap(({ name }, index) => (NAME.test(name) ? [] : [[index]])),
  },
  {
    id: "unique-tools",
    says: "No two functions have one name.",
    source: calling,
    words: "Duplicate function declaration found: {}",
    breaches: (body) => repeated(declarations(body), ({ name }) => name).map(({ name }) => [name]),
  },
  {
    id: "object-schema",
    says: "The schema of a function's parameters has the type object.",
    source: "https://ai.google.dev/api/caching#FunctionDeclaration",
    words:
      "* GenerateContentRequest.tools[0].function_declarations[{}].parameters.type: must be OBJECT",
    breaches: (body) =>
      declarations(body).flatMap(({ parameters }, index) =>
        parameters === undefined ||
        parameters === null ||
        /^object$/i.test(String(parameters["type"]))
          ? []
          : [[index]],
      ),
  },
];

export const googleRules = rulebook(googleBody, rules);
