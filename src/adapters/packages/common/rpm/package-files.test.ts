import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileNameOf, parseIdentity, settleRpm } from "./package-files.ts";

const app = { name: "app", version: "1:1.0-1", architecture: "noarch" };
const lib = { name: "lib", version: "2.0-1", architecture: "x86_64" };

describe("package files of rpm", () => {
  it("are identified by name, version and architecture", () => {
    expect(parseIdentity("app|1|1.0|1|noarch\n")).toEqual(app);
    expect(parseIdentity("lib|0|2.0|1|x86_64\n")).toEqual(lib);
    expect(parseIdentity("")).toBeUndefined();
    expect(fileNameOf(app)).toBe("app-1.0-1.noarch.rpm");
  });
});

describe("a transaction of rpm", () => {
  it("lets the second pass in which rpm may have been killed, once its unit is over", async () => {
    const booted = mkdtempSync(join(tmpdir(), "steward-settle-"));
    try {
      mkdirSync(join(booted, "system"));
      const happened: (string | number)[] = [];
      const states = ["active\n", "deactivating\n", "failed\n"];
      const host = {
        exec: () => {
          const stdout = states.shift() ?? "";
          happened.push(stdout.trim());
          return Promise.resolve({ exitCode: 0, stdout, stderr: "", truncated: false });
        },
        clock: {
          sleep: (ms: number) => {
            happened.push(ms);
            return Promise.resolve();
          },
        },
        places: { booted },
      };
      await settleRpm(host, "steward-packages-one", new AbortController().signal);
      expect(happened).toEqual(["active", 200, "deactivating", 200, "failed", 1_000]);
      const stopped = AbortSignal.abort(new Error("stopped"));
      await expect(settleRpm(host, "steward-packages-one", stopped)).rejects.toThrow("stopped");
    } finally {
      rmSync(booted, { recursive: true });
    }
  });
});
