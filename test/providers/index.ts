/**
 * The providers' counter: fake servers over HTTP for the real clients.
 *
 * ```ts
 * await using provider = await fakeProvider("anthropic", {
 *   answers: [
 *     { parts: [{ text: "I look." }, { call: { name: "look", input: { at: "it" } } }] },
 *     { parts: [{ text: ["Half a sen", "tence"] }], ending: "cut" },
 *     { status: 200, body: { error: { code: 502, message: "Upstream" } } },
 *   ],
 *   refuse: (body) => (JSON.stringify(body).includes("bad") ? "It is bad." : undefined),
 * });
 * const agent = { model: provider.model, tools: { look } };
 * // … and then: provider.requests[0].body, provider.requests.flatMap(({ breaches }) => breaches)
 * ```
 *
 * Each posted body is checked by the provider's rules (`*-rules.ts`, shown in `docs/providers.md`): a breach is
 * answered with 400 in the provider's envelope and words, and kept in `requests`, as is what `refuse` refuses.
 * Everything else gets the next of `answers` as the provider streams it. `endings` names every way in which a
 * gateway spoils an answer.
 */

export { endings } from "./endings.ts";
export { fakeProvider, type Answer, type FakeProvider } from "./fake-provider.ts";
export { providerNames, providers } from "./providers.ts";
