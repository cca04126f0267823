import { expect, it } from "vitest";
import { operationProgram } from "./operations.ts";

it("the program of an operation gets absolute paths, and whether plugins are off", () => {
  const settings = { journal: { dir: "journal" } };
  expect(operationProgram({ stateDir: "./state", file: "steward.yaml", settings }).environment).toEqual({
    STEWARD_STATE_DIR: `${process.cwd()}/state`,
    STEWARD_CONFIG: `${process.cwd()}/steward.yaml`,
    STEWARD_JOURNAL_DIR: `${process.cwd()}/journal`,
  });
  expect(operationProgram({ stateDir: "/var/lib/steward", file: undefined, settings: {} }).environment).toEqual({
    STEWARD_STATE_DIR: "/var/lib/steward",
  });
  const config = { stateDir: "/var/lib/steward", file: undefined, settings: {} };
  expect(operationProgram(config, true).environment).toMatchObject({ STEWARD_SAFE_MODE: "1" });
});
