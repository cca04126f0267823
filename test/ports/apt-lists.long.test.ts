import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Exec, exec } from "#adapters/exec/index.ts";
import { aptPaths } from "#adapters/packages/apt/arguments.ts";
import { createLists } from "#adapters/packages/apt/lists.ts";
import { refreshFailure } from "#adapters/packages/apt/refresh-problems.ts";
import { refreshLists } from "#adapters/packages/apt/repairs.ts";
import type { Transact } from "#adapters/packages/common/transactions.ts";

const { signal } = new AbortController();
const missing = ["/usr/bin/apt-get", "/usr/bin/gpg"].filter((program) => !existsSync(program));
if (missing.length > 0) process.stdout.write(`skipped: package lists of a real apt: missing ${missing.join(", ")}\n`);

const day = (number: number): string => `Thu, 0${number} Jan 2026 00:00:00 UTC`;

describe.skipIf(missing.length > 0)("package lists of a real apt, with a tree of its own", () => {
  let root: string;
  let server: Server;
  let url: string;
  let published = 0;
  const at = (path: string): string => join(root, path);
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), content);
  };

  const gpg = async (...words: readonly string[]): Promise<void> => {
    const options = ["--homedir", at("keys"), "--batch", "--quiet", "--yes", "--passphrase", ""];
    const { exitCode, stderr } = await exec(["/usr/bin/gpg", ...options, ...words], { timeoutMs: 60_000 });
    if (exitCode !== 0) throw new Error(stderr);
  };

  /** Publishes a suite of an archive as it is on a day; without a signature it is of nobody. */
  const publish = async (archive: string, suite: string, date: string, isSigned = true): Promise<void> => {
    const directory = `srv/${archive}/dists/${suite}`;
    rmSync(at(directory), { recursive: true, force: true });
    const packages = "main/binary-amd64/Packages";
    const content = `Package: plain\nVersion: ${date.replaceAll(/\D/g, "")}\nArchitecture: all\nFilename: x\nSize: 1\n\n`;
    write(`${directory}/${packages}`, content);
    const hash = createHash("sha256").update(content).digest("hex");
    const label = suite.endsWith("-security") ? "Debian-Security" : "Debian";
    const head = `Origin: Debian\nLabel: ${label}\nSuite: ${suite}\nCodename: ${suite}\nDate: ${date}\nArchitectures: amd64\nComponents: main\n`;
    write(`${directory}/Release`, `${head}SHA256:\n ${hash} ${content.length} ${packages}\n`);
    if (isSigned) {
      await gpg("--clearsign", "--output", at(`${directory}/InRelease`), at(`${directory}/Release`));
      rmSync(at(`${directory}/Release`));
    }
    // The server compares whole seconds.
    published += 60;
    const time = Date.now() / 1_000 + published;
    utimesSync(at(`${directory}/${isSigned ? "InRelease" : "Release"}`), time, time);
  };

  const withConfig: Exec = (argv, options) =>
    exec(["/usr/bin/env", `APT_CONFIG=${at("apt.conf")}`, ...argv], { timeoutMs: 60_000, ...options });
  const transact: Transact = async ({ argv, failureReason }) => {
    const { exitCode, stdout, stderr } = await withConfig(argv);
    const output = `${stdout}${stderr}`;
    if (exitCode !== 0) throw new Error((failureReason ?? refreshFailure)(output, exitCode));
    return output;
  };
  const open = () => {
    const paths = {
      ...aptPaths,
      settings: [at("etc/sources.list"), at("etc/sources.list.d")],
      refreshStamp: at("periodic/steward-refresh-stamp"),
    };
    const lists = createLists({ exec: withConfig, paths });
    return { ...lists, refresh: () => refreshLists({ transact, paths, lists }, signal) };
  };
  /** As a timer of the host does. */
  const update = () => withConfig(["/usr/bin/apt-get", "--quiet", "update"]);
  const source = (address: string, suite: string): string =>
    `deb [signed-by=${at("key.gpg")}] ${address} ${suite} main\n`;
  const changedAt = (file: string): number => statSync(at(`elsewhere/lists/${file}`)).ctimeMs;

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), "steward-apt-"));
    mkdirSync(at("keys"), { mode: 0o700 });
    await gpg("--quick-gen-key", "of a test <test@example.org>", "rsa2048", "sign", "0");
    await gpg("--output", at("key.gpg"), "--export");
    server = createServer((request, response) => {
      const path = at(`srv${request.url ?? ""}`);
      if (!existsSync(path) || !statSync(path).isFile()) return void response.writeHead(404).end();
      const modified = new Date(Math.floor(statSync(path).mtimeMs / 1_000) * 1_000);
      const since = Date.parse(request.headers["if-modified-since"] ?? "");
      if (since >= modified.getTime()) return void response.writeHead(304).end();
      response.writeHead(200, { "last-modified": modified.toUTCString() }).end(readFileSync(path));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    write(
      "apt.conf",
      `Dir "${root}";
Dir::Etc "etc"; Dir::State "state"; Dir::State::status "${at("status")}"; Dir::Cache "cache";
Dir::State::Lists "${at("elsewhere/lists")}";
APT::Architecture "amd64"; APT::Architectures { "amd64"; }; APT::Sandbox::User "root"; Acquire::Languages "none"; Acquire::Retries "0";
#clear APT::Update::Post-Invoke-Success;
APT::Update::Post-Invoke-Success { "touch ${at("periodic/update-success-stamp")}"; };
`,
    );
    write("status", "");
    write("srv/mirrors.txt", `${url}/main\n`);
    write("etc/mirrors.list", `${url}/main\n`);
    for (const path of ["periodic", "state", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d"])
      mkdirSync(at(path), { recursive: true });
  });
  afterAll(() => {
    server.close();
    rmSync(root, { recursive: true });
  });

  beforeEach(async () => {
    mkdirSync(at("elsewhere/lists/partial"), { recursive: true });
    mkdirSync(at("etc/sources.list.d"), { recursive: true });
    await publish("main", "stable", day(2));
    await publish("security", "stable-security", day(2));
  });
  afterEach(() => {
    for (const path of ["elsewhere", "etc/sources.list", "etc/sources.list.d", "periodic/steward-refresh-stamp"])
      rmSync(at(path), { recursive: true, force: true });
  });

  it("are as old as those of a security archive that does not answer, whatever stamp a hook touches", async () => {
    write("etc/sources.list", source(`${url}/main`, "stable"));
    const stanza = (archive: string, more = ""): string =>
      `Types: deb\nURIs: ${url}/${archive}\nSuites: stable-security\nComponents: main\nSigned-By: ${at("key.gpg")}\n${more}\n`;
    write("etc/sources.list.d/x.sources", `${stanza("security")}${stanza("never", "Enabled: no\n")}`);
    const { refreshedAt, refresh } = open();
    expect(await refreshedAt()).toBe(undefined);
    await update();
    const files = ["security_dists_stable-security_InRelease", "main_dists_stable_InRelease"] as const;
    const [security, main] = files.map((file) => `${url.slice("http://".length)}_${file}`);
    if (security === undefined || main === undefined) throw new Error("unreachable");
    const first = changedAt(security);
    expect(await refreshedAt("security")).toBe(first);

    rmSync(at("periodic/update-success-stamp"));
    rmSync(at("srv/security"), { recursive: true });
    await update();
    await publish("main", "stable", day(3));
    await update();
    expect(existsSync(at("periodic/update-success-stamp"))).toBe(true);
    expect(changedAt(main)).toBeGreaterThan(first);
    expect(await refreshedAt("security")).toBe(first);
    expect(await refreshedAt()).toBe(first);
    await expect(refresh()).rejects.toThrow("security");
    expect(await refreshedAt()).toBe(first);

    await publish("security", "stable-security", day(3));
    await refresh();
    expect(await refreshedAt("security")).toBeGreaterThan(first);
  });

  it.each<[string, () => string]>([
    ["http:", () => `${url}/main`],
    ["mirror+file:", () => `mirror+file:${at("etc/mirrors.list")}`],
    ["mirror+http:", () => `mirror+${url}/mirrors.txt`],
    ["file:", () => `file:${at("srv/main")}`],
    ["copy:", () => `copy:${at("srv/main")}`],
  ])("that a source gives older than before are refused: %s", async (scheme, address) => {
    write("etc/sources.list", source(address(), "stable") + source(`${url}/security`, "stable-security"));
    const { refresh, refreshedAt, sources } = open();
    await refresh();
    // The same once more is not an older one.
    await refresh();
    const before = await refreshedAt();
    await publish("main", "stable", day(1));
    await expect(refresh()).rejects.toThrow(`${address()}/dists/stable/ gave older lists than before`);
    if (!/^(file|copy):/.test(scheme)) expect(await refreshedAt()).toBe(before);
    await publish("main", "stable", day(3));
    await refresh();
    expect(await refreshedAt()).toBeGreaterThan(before ?? 0);
    expect(await sources()).toHaveLength(2);
  });

  it("that nobody has signed are not called older where they are the same, and are where they are", async () => {
    await publish("main", "stable", day(2), false);
    const unsigned = (address: string): string => `deb [trusted=yes] ${address} stable main\n`;
    for (const address of [`${url}/main`, `mirror+file:${at("etc/mirrors.list")}`, `file:${at("srv/main")}`]) {
      write("etc/sources.list", unsigned(address));
      const { refresh, refreshedAt } = open();
      await refresh();
      const before = await refreshedAt();
      await refresh();
      expect(await refreshedAt()).toBeGreaterThan(before ?? 0);
    }
    write("etc/sources.list", unsigned(`mirror+file:${at("etc/mirrors.list")}`));
    const { refresh } = open();
    await refresh();
    await publish("main", "stable", day(1), false);
    await expect(refresh()).rejects.toThrow("gave older lists than before");
  });
});
