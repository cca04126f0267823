import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../project.ts";
import { declared } from "./index.ts";

it("the package of the client declares what its sources have", () => {
  const text = readFileSync(join(import.meta.dirname, "index.d.ts"), "utf8");
  const imported = [...text.matchAll(/"\.\/([\w-]+)\.js"/g)].map(([, name = ""]) => name);
  const isDeclared = (name: string): boolean => name === "types" || declared.includes(name);
  expect(imported.filter((name) => !isDeclared(name))).toEqual([]);
  expect(declared.filter((name) => !existsSync(join(root, `src/client/${name}.ts`)))).toEqual([]);
});
