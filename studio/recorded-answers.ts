// Answers what the studio of the site asks for from a recording, as the site has no server. `test/studio/record-site.ts` makes
// the recording and puts this file beside the studio's page, before its program.

const fetchFile = globalThis.fetch.bind(globalThis);

interface Recording {
  /** The place of each answer among the texts, by what was asked for. */
  readonly places: Readonly<Record<string, number>>;
  readonly texts: readonly string[];
}

const recording = (async (): Promise<Recording> => {
  const { body } = await fetchFile("./answers.bin");
  const opened = body?.pipeThrough(new DecompressionStream("gzip"));
  // Made by the same build.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (await new Response(opened).json()) as Recording;
})();

globalThis.fetch = async (asked, init) => {
  const request = new Request(asked, init);
  const { pathname, search } = new URL(request.url);
  if (!pathname.startsWith("/api/")) return await fetchFile(request);
  const { places, texts } = await recording;
  const place = request.method === "GET" ? places[pathname + search] : undefined;
  const text = place === undefined ? undefined : texts[place];
  if (text !== undefined) return answered(text);
  const problem = {
    status: 404,
    code: "NOT_FOUND",
    detail:
      "This studio shows a recording, which has no answer to that. Run `npx turnlog studio --demo` for one that has.",
  };
  return answered(JSON.stringify(problem), problem.status);
};

function answered(text: string, status = 200): Response {
  const type = status === 200 ? "application/json" : "application/problem+json";
  return new Response(text, { status, headers: { "content-type": type, "turnlog-protocol": "1" } });
}

/** A recording has no news: the source opens, and is silent. */
class SilentSource extends EventTarget {
  constructor() {
    super();
    setTimeout(() => this.dispatchEvent(new Event("open")));
  }

  close(): void {}
}
Object.assign(globalThis, { EventSource: SilentSource });
