import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { aptPaths } from "./arguments.ts";
import { createDatabase } from "./database.ts";
import { createOffers } from "./offers.ts";

const signal = new AbortController().signal;
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "steward-offers-"));
  mkdirSync(join(root, "lists"));
  mkdirSync(join(root, "state"));
});
afterEach(() => rmSync(root, { recursive: true }));

const stanza = (name: string, version: string): string =>
  `Package: ${name}\nStatus: install ok installed\nArchitecture: amd64\nVersion: ${version}\n\n`;

const files = `Package files:
 500 file:/srv ./ Packages
     release o=Debian,a=stable-security,n=stable-security,l=Debian-Security,c=
`;
const policyOf = (installed: string): string => `openssl:
  Installed: ${installed}
  Candidate: 9
  Version table:
     9 500
        500 file:/srv ./ Packages
 *** ${installed} 100
        100 /var/lib/dpkg/status
`;

const at = (name: string): string => join(root, name);
const paths = () => ({
  ...aptPaths,
  status: at("status"),
  updates: at("updates"),
  lists: at("lists"),
  settings: [at("sources.list")],
});

/** What is installed, written as dpkg does: beside, then renamed, in the same second. */
function install(version: string): void {
  writeFileSync(at("status-new"), stanza("dpkg", "1") + stanza("openssl", version));
  utimesSync(at("status-new"), 1_700_000_000, 1_700_000_000);
  renameSync(at("status-new"), at("status"));
}

/** A process of its own each time: what the one before has in memory is gone. */
function startProcess(
  parts: { stateDir?: string; meanwhile?: () => void; installed?: string; laterMs?: number; refusal?: string } = {},
) {
  const { stateDir = at("state"), meanwhile, installed = "1", laterMs = 10_000, refusal = "" } = parts;
  const asked: string[] = [];
  const words: (readonly string[])[] = [];
  const exec: Exec = (argv) => {
    words.push(argv);
    asked.push(argv.includes("--") ? "versions" : "sources");
    meanwhile?.();
    return Promise.resolve({
      exitCode: refusal === "" ? 0 : 100,
      stdout: argv.includes("--") ? policyOf(installed) : files,
      stderr: refusal,
      truncated: false,
    });
  };
  const where = paths();
  const offers = createOffers({
    exec,
    database: createDatabase(where),
    paths: where,
    lists: { directory: () => Promise.resolve(where.lists) },
    stateDir,
    now: () => Date.now() + laterMs,
  });
  const versions = async () =>
    (await offers(signal)).map(({ entry, candidate, suites }) => [entry.version, candidate, ...suites]);
  return { versions, asked, words };
}

describe("offers", () => {
  it("are known to the next process without a question to apt", async () => {
    install("1");
    const first = startProcess();
    expect(await first.versions()).toEqual([["1", "9", "stable-security"]]);
    expect(first.asked.sort()).toEqual(["sources", "versions"]);
    const second = startProcess();
    expect(await second.versions()).toEqual([["1", "9", "stable-security"]]);
    expect(second.asked).toEqual([]);
  });

  it("that apt refuses to tell are not available for the reason that it gives, and not remembered", async () => {
    install("1");
    const refusal =
      "E: Malformed entry 1 in list file /etc/apt/sources.list (URI)\nE: The list of sources could not be read.\n";
    await expect(startProcess({ refusal }).versions()).rejects.toMatchObject({
      message: expect.stringMatching(
        /^apt refuses to answer: Malformed entry 1 in list file \/etc\/apt\/sources\.list/,
      ),
      details: { missing: "answer of the package manager", retryable: false },
    });
    expect(await startProcess().versions()).toEqual([["1", "9", "stable-security"]]);
  });

  it("are asked for by names of installed packages alone, after the end of the options [package-names]", async () => {
    install("1");
    const more = ["Package: -o Evil\nStatus: install ok installed", "Package: gone\nStatus: deinstall ok config-files"];
    appendFileSync(at("status"), more.map((each) => `${each}\nArchitecture: all\nVersion: 1\n\n`).join(""));
    const { versions, words } = startProcess();
    await versions();
    const asked = words.find((argv) => argv.includes("--")) ?? [];
    expect(asked.slice(asked.indexOf("--") + 1)).toEqual(["dpkg", "openssl"]);
  });

  it("are asked for again when the status file is another of the same size and second", async () => {
    install("1");
    await startProcess().versions();
    const before = statSync(at("status"));
    install("2");
    const after = statSync(at("status"));
    expect([after.size, after.mtimeMs]).toEqual([before.size, before.mtimeMs]);
    const next = startProcess({ installed: "2" });
    expect(await next.versions()).toEqual([["2", "9", "stable-security"]]);
    // Where versions come from has not changed.
    expect(next.asked).toEqual(["versions"]);
  });

  it.each([
    ["a list", () => writeFileSync(at("lists/srv_Packages"), "")],
    ["the sources", () => writeFileSync(at("sources.list"), "deb file:/srv ./\n")],
    ["the architectures", () => writeFileSync(at("arch"), "amd64\ni386\n")],
  ])("are asked for again when %s changed", async (_, change) => {
    install("1");
    await startProcess().versions();
    change();
    const next = startProcess();
    await next.versions();
    expect(next.asked.sort()).toEqual(["sources", "versions"]);
  });

  it("are not kept when something changed while apt was asked", async () => {
    install("1");
    await startProcess({ meanwhile: () => install("2") }).versions();
    const next = startProcess({ installed: "2" });
    expect(await next.versions()).toEqual([["2", "9", "stable-security"]]);
    expect(next.asked).toEqual(["versions"]);
  });

  it.each([
    ["have changed just now, and may do so again within the same tick", 0],
    ["will only have changed, since the clock was set back", -3_600_000],
  ])("are not kept while files %s", async (_, laterMs) => {
    install("1");
    await startProcess({ laterMs }).versions();
    const next = startProcess({ laterMs });
    await next.versions();
    // What all of them depend on has been there for long, but for the lists.
    expect(next.asked).toContain("versions");
  });

  it("are asked for each time where nothing can be kept", async () => {
    install("1");
    writeFileSync(at("file"), "");
    for (let run = 0; run < 2; run += 1) {
      const { versions, asked } = startProcess({ stateDir: at("file") });
      expect(await versions()).toEqual([["1", "9", "stable-security"]]);
      expect(asked.sort()).toEqual(["sources", "versions"]);
    }
  });
});
