import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { parseStatusFile } from "#adapters/packages/apt/database.ts";
import { parseHistory } from "#adapters/packages/apt/history.ts";
import { newerVersions, parsePolicies, securityVersion } from "#adapters/packages/apt/policy.ts";
import { changesOf, parseSimulation } from "#adapters/packages/apt/simulation.ts";
import { describeCases } from "./cases.ts";

/** What dpkg has of each package: `name version`, in the order of the file. All of them are installed. */
const statusFiles: Readonly<Record<string, readonly string[]>> = {
  "dpkg-s-curl.txt": ["curl 7.35.0-1ubuntu2"],
  "dpkg-s-held.txt": ["held-package 1.2.3-1"],
  "dpkg-status-conffile": [
    "test-package 0.9",
    "test-package-2 0.9",
    "multiple-conffiles 1.0",
    "test-package-new-conffile 0.9",
  ],
  "dpkg-status-minimal": [
    "awstats 6.9~dfsg-1ubuntu3",
    "perl 5.10.1-17ubuntu1",
    "ant-doc 1.0",
    "apt-doc 0.7.25.3ubuntu9",
  ],
  "dpkg-status-rewind": ["test-package 1.0", "test2-package 1.0", "test3-package 1.0", "z-package 1.0"],
};

const policies: Readonly<Record<string, readonly [name: string, installed: string, candidate: string]>> = {
  "policy-0.txt": ["openssl", "1.0.2f-2ubuntu1", "1.0.2g-1ubuntu2"],
  "policy-2.txt": ["openssl", "1.0.1-4ubuntu5.33", "1.0.1-4ubuntu5.34"],
  "policy-3.txt": ["nvidia-container-toolkit", "1.14.2-1", "1.14.3-1"],
};

/** Outputs that nothing here reads, with what is asked in their place. */
const unread: Readonly<Record<string, string>> = {
  "checkrestart-trusty.txt": "services with replaced files are found in /proc",
  "dpkg-mixed.log": "the history is apt's own log, which has transactions",
  "dpkg-trusty-install.log": "the history is apt's own log, which has transactions",
  "list-upgradable-debian10.txt": "`apt list` has no stable output: apt-cache policy is asked",
  "list-upgradable-debian11.txt": "`apt list` has no stable output: apt-cache policy is asked",
  "list-upgradable-debian13.txt": "`apt list` has no stable output: apt-cache policy is asked",
  "list-upgradable-ubuntu2004.txt": "`apt list` has no stable output: apt-cache policy is asked",
  "list-upgradable-ubuntu2204.txt": "`apt list` has no stable output: apt-cache policy is asked",
  "list-upgradable-ubuntu2604.txt": "`apt list` has no stable output: apt-cache policy is asked",
  "needrestart--extralines.txt": "services with replaced files are found in /proc, kernels among the packages",
  "needrestart--standard.txt": "services with replaced files are found in /proc, kernels among the packages",
  "needs-restarting-debian-clean.txt": "services with replaced files are found in /proc, kernels among the packages",
};

describeCases("apt", ({ path, text }) => {
  it("every file is one of those below", () => {
    const others = ["apt-get-sqq.txt", "history-reinstall-jammy.log", "upgrade-dry-run-precise.txt"];
    const known = [...Object.keys(statusFiles), ...Object.keys(policies), ...Object.keys(unread), ...others];
    const files = readdirSync(path("")).filter((name) => name !== "README.md");
    expect(files.toSorted()).toEqual(known.toSorted());
  });

  it.each(Object.entries(statusFiles))("%s: packages that are installed, with their versions", (file, packages) => {
    const entries = parseStatusFile(text(file));
    expect(entries.map(({ name, version }) => `${name} ${version}`)).toEqual(packages);
    for (const { want, flag, state } of entries)
      expect([want, flag, state]).toEqual([file === "dpkg-s-held.txt" ? "hold" : "install", "ok", "installed"]);
  });

  it("apt-get-sqq.txt: each step with its versions and the releases that have it", () => {
    const dpkg = [
      { label: "Debian", suite: "oldstable" },
      { label: "Debian-Security", suite: "oldstable" },
    ];
    const steps = parseSimulation(text("apt-get-sqq.txt"));
    expect(
      steps.map(({ kind, name, from, to, architecture }) => `${kind} ${name} ${from} ${to} ${architecture}`),
    ).toEqual([
      "install dpkg 1.19.7 1.19.8 amd64",
      "install dpkg null 1.19.8 amd64",
      "configure dpkg 1.19.7 1.19.8 amd64",
      "remove dpkg 1.19.7 1.19.8 amd64",
      "install base-files 10.3+deb10u4 10.3+deb10u13 amd64",
      "configure base-files null 10.3+deb10u13 amd64",
      "install dpkg 1.19.7 1.19.8 amd64",
      "configure dpkg null 1.19.8 amd64",
    ]);
    for (const { name, releases } of steps)
      expect(releases).toEqual(name === "dpkg" ? dpkg : [{ label: "Debian", suite: "oldstable" }]);
    const entries = parseStatusFile(
      "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.19.7\n",
    );
    const changes = changesOf(steps, { entries, offers: [] });
    expect(changes.map(({ name, isSecurity }) => [name, isSecurity])).toEqual([
      ["base-files", false],
      ["dpkg", true],
    ]);
  });

  it("upgrade-dry-run-precise.txt: the list for people is not taken for steps", () => {
    // Its lines with the steps (`Inst …`), which are what is read, were cut off.
    expect(parseSimulation(text("upgrade-dry-run-precise.txt"))).toEqual([]);
  });

  it("history-reinstall-jammy.log: five reinstalls with their times", () => {
    const history = parseHistory(text("history-reinstall-jammy.log"));
    expect(history.map(({ commandLine }) => commandLine)).toEqual(
      ["adduser", "apt", "bsdutils", "dash", "gcc-12-base:amd64"].map((name) => `apt-get install --reinstall ${name}`),
    );
    expect(history.map(({ packages }) => packages)).toEqual(
      [
        ["adduser", "3.118ubuntu5"],
        ["apt", "2.4.5"],
        ["bsdutils", "1:2.37.2-4ubuntu3"],
        ["dash", "0.5.11+git20210903+057cd650a4ed-3build1"],
        ["gcc-12-base", "12-20220319-1ubuntu1"],
      ].map(([name, to]) => [
        { name, architecture: "amd64", action: "reinstall", from: undefined, to, isAutomatic: false },
      ]),
    );
    const local = (hour: number, minute: number, second: number) =>
      new Date(2022, 7, 15, hour, minute, second).getTime();
    expect([history[1]?.startedAt, history[1]?.endedAt]).toEqual([local(11, 50, 10), local(11, 50, 11)]);
  });

  it.each(Object.entries(policies))(
    "%s: what is installed, and what is newer",
    (file, [name, installed, candidate]) => {
      const [policy, ...more] = parsePolicies(text(file));
      if (policy === undefined || more.length > 0) throw new Error("expected one package");
      expect(policy).toMatchObject({ name, installed, candidate });
      expect(newerVersions(policy).map(({ version }) => version)).toEqual([candidate]);
      const files = policy.versions
        .flatMap(({ locations }) => locations)
        .map((location) => {
          const archive = /ubuntu\/? (\S+)\/main/.exec(location)?.[1] ?? "";
          return { location, origin: "", label: "", archive, codename: "", component: "" };
        });
      // The one of Ubuntu 12.04 is in the archives of updates and of security.
      expect(securityVersion(policy, files)).toBe(file === "policy-2.txt" ? candidate : null);
    },
  );
});
