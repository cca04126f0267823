import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { asksReboot, parseAdvisories, parseCheckUpdate } from "#adapters/packages/dnf/answers4.ts";
import { describeCases } from "./cases.ts";

/** Tables of dnf 4 with what can be upgraded: how many, and some by `name architecture version`. */
const upgrades: Readonly<Record<string, readonly [count: number, ...some: readonly string[]]>> = {
  "fedora30-upgrades.txt": [
    40,
    "libpcap x86_64 14:1.9.1-2.fc30",
    "openssl-libs x86_64 1:1.1.1g-1.fc30",
    "tzdata noarch 2020a-1.fc30",
    "vim-minimal x86_64 2:8.2.587-1.fc30",
  ],
  "fedora35-upgrades.txt": [2, "libxcrypt x86_64 4.4.33-3.fc35", "tzdata noarch 2022g-1.fc35"],
  "rhel8-upgrades.txt": [
    72,
    "audit-libs x86_64 3.1.2-1.el8_10.1",
    "dbus-common noarch 1:1.12.8-27.el8_10",
    "device-mapper x86_64 8:1.02.181-15.el8_10.3",
  ],
  "rhel9-upgrades.txt": [
    100,
    "libbpf x86_64 2:1.5.0-2.el9",
    "python3-dateutil noarch 1:2.9.0.post0-1.el9_7",
    "yum noarch 4.14.0-31.el9",
  ],
};

/** Advisories that dnf 4 lists: how many packages, and some by `advisory name architecture version`. */
const advisories: Readonly<Record<string, readonly [count: number, ...some: readonly string[]]>> = {
  "fedora30-updateinfo.txt": [
    40,
    "FEDORA-2020-28da9b3f28 elfutils-debuginfod-client x86_64 0.179-2.fc30",
    "FEDORA-2020-0c71c00af4 libxml2 x86_64 2.9.10-3.fc30",
    "FEDORA-2020-da2d1ef2d7 openssl x86_64 1:1.1.1g-1.fc30",
    "FEDORA-2020-0f078e7280 python-pip-wheel noarch 19.0.3-7.fc30",
  ],
  "fedora35-updateinfo.txt": [
    2,
    "FEDORA-2022-ae162c4397 libxcrypt x86_64 4.4.33-3.fc35",
    "FEDORA-2022-7e70abbf84 tzdata noarch 2022g-1.fc35",
  ],
  "insights-yum_updateinfo.txt": [
    12,
    "FEDORA-2020-352b61ce72 iwl1000-firmware noarch 1:39.31.5.1-115.fc32",
    "FEDORA-2020-352b61ce72 iwl2000-firmware noarch 18.168.6.1-115.fc32",
  ],
  // Notices and progress alone.
  "rhel9-updateinfo.txt": [0],
};

const asJson = "dnf 5 is asked for JSON";
const byRpm = "rpm and repoquery are asked in a format of their own";
const repositories = "repositories are not listed";
const modules = "modules are not listed";
const yum = "yum before dnf is not supported";
const inProc = "services with replaced files are found in /proc";

/** Outputs that nothing here reads, with the reason. */
const unread: Readonly<Record<string, string>> = {
  "dnf4_repolist_no_status.txt": repositories,
  "dnf4_states_repo_disabled.txt": repositories,
  "dnf4_version.txt": "the generation of dnf is known by its program",
  "dnf5_states_repo_disabled.txt": repositories,
  "fedora35-installed.txt": byRpm,
  "fedora43-updateinfo.txt": asJson,
  "fedora43-upgrades.txt": asJson,
  "insights-dnf_module_info.txt": modules,
  "insights-dnf_module_list.txt": modules,
  "insights-dnf_module_list_multi_sections.txt": modules,
  "insights-dnf_module_list_rhel8_wo_enabled.txt": modules,
  "insights-dnf_module_list_rhel9_wo_enabled.txt": modules,
  "insights-yum_updates.txt": "it is what a client of an inventory collected, of which dnf knows nothing",
  "needs-restarting-rhel-services-services.txt": inProc,
  "rpm-qa-alma-0.txt": byRpm,
  "rpm-qa-alma-2.txt": byRpm,
  "rpm-qa-alma-3.txt": byRpm,
  "rpm-qi-curl.txt": byRpm,
  "yum-centos7-repolist-all.txt": repositories,
  "yum-centos8-repolist-all.txt": repositories,
  "yumlog-doc.txt": yum,
  "yumlog-okay.txt": yum,
  "yumlog-okay2.txt": yum,
};

const reboot = "needs-restarting-rhel-clean-reboothint.txt";

describeCases("dnf", ({ path, text }) => {
  it("every file is one of those below", () => {
    const known = [reboot, ...Object.keys(upgrades), ...Object.keys(advisories), ...Object.keys(unread)];
    const files = readdirSync(path("")).filter((name) => name !== "README.md");
    expect(files.toSorted()).toEqual(known.toSorted());
  });

  it(`${reboot}: no reboot is needed`, () => {
    const required = "Reboot is required to fully utilize these updates.\n";
    // Whatever the status was: that of another failure is the same.
    expect([0, 1].map((exitCode) => asksReboot({ exitCode, stdout: text(reboot) }))).toEqual([false, false]);
    expect([0, 1].map((exitCode) => asksReboot({ exitCode, stdout: required }))).toEqual([false, true]);
  });

  it.each(Object.entries(upgrades))("%s: packages of the table, no line before it", (file, [count, ...some]) => {
    const found = parseCheckUpdate(text(file)).map((each) => `${each.name} ${each.architecture} ${each.version}`);
    expect(found).toHaveLength(count);
    expect(found).toEqual(expect.arrayContaining([...some]));
  });

  it.each(Object.entries(advisories))("%s: an advisory for each package", (file, [count, ...some]) => {
    const found = parseAdvisories(text(file)).map(
      (each) => `${each.advisory} ${each.name} ${each.architecture} ${each.version}`,
    );
    expect(found).toHaveLength(count);
    expect(found).toEqual(expect.arrayContaining([...some]));
  });
});
