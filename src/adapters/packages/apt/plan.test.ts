import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { aptOffer, dpkgEntry } from "../../../../test/ports/support/dpkg.ts";
import { securityPreferences, withPreferences } from "./plan.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-apt-test-"));
});

afterEach(() => rmSync(directory, { recursive: true }));

describe("preferences for security updates", () => {
  const offers = [
    aptOffer("both", { candidate: "1.2", securityVersion: "1.1" }),
    aptOffer("plain"),
    aptOffer("libc6", { entry: dpkgEntry("libc6", { isMultiArchSame: true }) }),
  ];

  it("choose security versions, and leave all others where they are", () => {
    expect(securityPreferences(offers, "amd64")).toBe(
      `Package: both\nPin: version 1.1\nPin-Priority: 1000\n
Package: plain\nPin: version 1.0\nPin-Priority: 1000\n
Package: libc6:amd64\nPin: version 1.0\nPin-Priority: 1000\n`,
    );
  });

  it("come before those of the host, and are gone afterwards", async () => {
    const own = join(directory, "preferences");
    writeFileSync(own, "Package: mine\n");
    let path = "";
    await withPreferences("Package: ours\n", own, (option) => {
      path = option.replace("--option=Dir::Etc::preferences=", "");
      expect(readFileSync(path, "utf8")).toBe("Package: ours\n\nPackage: mine\n");
      return Promise.resolve();
    });
    expect(existsSync(path)).toBe(false);
    await expect(
      withPreferences("x", join(directory, "none"), (option) => {
        path = option.replace("--option=Dir::Etc::preferences=", "");
        return Promise.reject(new Error("broken"));
      }),
    ).rejects.toThrow("broken");
    expect(existsSync(path)).toBe(false);
  });
});
