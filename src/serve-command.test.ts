import { describe, expect, it } from "vitest";
import { parseServe } from "./serve-command.ts";

describe("the options of serve", () => {
  it.each([
    [[], {}],
    [["--config", "a.yaml"], { config: "a.yaml" }],
    [["--config=a.yaml", "--safe-mode", "--new-admin-key"], { config: "a.yaml", safeMode: true, newAdminKey: true }],
  ])("are taken from %j", (argv, options) => {
    expect(parseServe(argv)).toMatchObject(options);
  });

  it.each([[["--help"]], [["--cofig", "a.yaml"]], [["--config"]], [["--safe-mode=yes"]], [["now"]], [["--", "now"]]])(
    "are left to the command line in %j",
    (argv) => {
      expect(parseServe(argv)).toBeUndefined();
    },
  );
});
