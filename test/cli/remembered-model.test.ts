/** The next chat begins with the model of the last `/model`. */

import { readFile } from "node:fs/promises";
import { afterEach, expect, it, vi } from "vitest";
import { rememberedModel, rememberModel } from "../../src/cli/chat/model/chat-models.ts";
import { run } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

afterEach(() => vi.unstubAllEnvs());

it("a chosen model decides before the keys, and after --model and MODEL; offline forgets it", async () => {
  await using folder = await temporaryFolder({});
  const XDG_CONFIG_HOME = folder.at("config");
  vi.stubEnv("XDG_CONFIG_HOME", XDG_CONFIG_HOME);
  expect(await rememberedModel()).toBeUndefined();
  expect(await rememberModel("openai:x")).toBe(true);
  expect(await rememberedModel()).toBe("openai:x");
  const options = { cwd: folder.path, env: { XDG_CONFIG_HOME, GOOGLE_GENERATIVE_AI_API_KEY: "g" } };
  const { code, stderr } = await run(["hello there"], options);
  expect(code).toBe(2);
  expect(stderr).toContain("The model that /model chose last cannot be used: openai:x needs a key");
  expect(await run(["--model", "offline", "hello there"], options)).toMatchObject({ code: 0 });
  const env = { ...options.env, MODEL: "offline" };
  expect(await run(["hello there"], { ...options, env })).toMatchObject({ code: 0 });
  expect(await rememberModel("offline")).toBe(false);
  expect(await rememberedModel()).toBeUndefined();
});

it("no key is kept, and a file that cannot be written is no error", async () => {
  await using folder = await temporaryFolder({ file: "" });
  vi.stubEnv("XDG_CONFIG_HOME", folder.path);
  expect(await rememberModel("http://127.0.0.1:9/v1#m")).toBe(true);
  const settings = folder.at("turnlog/settings.json");
  expect(await readFile(settings, "utf8")).toBe('{"model":"http://127.0.0.1:9/v1#m"}\n');
  for (const secret of ["http://me:key@127.0.0.1/v1#m", "http://127.0.0.1/v1?key=k#m"])
    expect([await rememberModel(secret), await rememberedModel()]).toEqual([false, undefined]);
  vi.stubEnv("XDG_CONFIG_HOME", folder.at("file"));
  expect(await rememberModel("openai:x")).toBe(false);
});
