import { expect, it } from "vitest";
import { filesBelow, read } from "./project.ts";

it("Typebox gives types only: the service starts without its hundreds of modules", () => {
  const files = filesBelow("src").filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"));
  expect(files.length).toBeGreaterThan(100);
  const loading = files.filter((path) => /^(?!import type ).*(?:from|import\() ?"typebox/m.test(read(path)));
  expect(loading, 'import { Type } from "#contract/type.ts" instead').toEqual([]);
});
