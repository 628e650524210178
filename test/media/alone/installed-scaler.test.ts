/** The library that scales pictures, where it is installed and where it is not. */

import { expect, it, vi } from "vitest";
import { installedScaler } from "../../../src/media/scaled-picture.ts";

it("is used where it is installed, and missed where it is not", async () => {
  expect(await installedScaler()).toBeDefined();
  vi.resetModules();
  vi.doMock("sharp", () => {
    throw Object.assign(new Error("Cannot find package 'sharp'"), { code: "ERR_MODULE_NOT_FOUND" });
  });
  const without = await import("../../../src/media/scaled-picture.ts");
  expect(await without.installedScaler()).toBeUndefined();
});
