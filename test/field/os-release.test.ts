import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { distributionOf, isSuse, parseOsRelease } from "#adapters/files/etc.ts";
import { isRolling } from "#adapters/packages/zypper/index.ts";
import { describeCases } from "./cases.ts";

type Facts = readonly [id: string, versionId: string | null, idLike: string | null, prettyName: string | null];

const releases: Readonly<Record<string, Facts>> = {
  alma_10: ["almalinux", "10.0", "rhel centos fedora", "AlmaLinux 10.0 (Purple Lion)"],
  alma_8: ["almalinux", "8.10", "rhel centos fedora", "AlmaLinux 8.10 (Cerulean Leopard)"],
  alma_9: ["almalinux", "9.6", "rhel centos fedora", "AlmaLinux 9.6 (Sage Margay)"],
  alpine_3_20: ["alpine", "3.20.7", null, "Alpine Linux v3.20"],
  alpine_3_21: ["alpine", "3.21.4", null, "Alpine Linux v3.21"],
  alpine_3_22: ["alpine", "3.22.1", null, "Alpine Linux v3.22"],
  alpine_3_23: ["alpine", "3.23.2", null, "Alpine Linux v3.23"],
  amazon_2: ["amzn", "2", "centos rhel fedora", "Amazon Linux 2"],
  amazon_2018: ["amzn", "2018.03", "rhel fedora", "Amazon Linux AMI 2018.03"],
  amazon_2023: ["amzn", "2023", "fedora", "Amazon Linux 2023.8.20250915"],
  antergos: ["antergos", null, "arch", "Antergos Linux"],
  arch: ["arch", "TEMPLATE_VERSION_ID", null, "Arch Linux"],
  archarm: ["archarm", null, "arch", "Arch Linux ARM"],
  arcolinux: ["arcolinux", null, "arch", null],
  azurelinux_3: ["azurelinux", "3.0", null, "Microsoft Azure Linux 3.0"],
  buildroot: ["buildroot", "2019.02.9", null, "Buildroot 2019.02.9"],
  cachyos: ["cachyos", "20251228.0.475343", null, "CachyOS"],
  "cbl-mariner_2": ["mariner", "2.0", null, "CBL-Mariner/Linux"],
  centos_7: ["centos", "7", "rhel fedora", "CentOS Linux 7 (Core)"],
  centos_8: ["centos", "8", "rhel fedora", "CentOS Linux 8"],
  centos_stream_8: ["centos", "8", "rhel fedora", "CentOS Stream 8"],
  centos_stream_9: ["centos", "9", "rhel fedora", "CentOS Stream 9"],
  clearlinux_1: ["clear-linux-os", "38250", "clear-linux-os", "Clear Linux OS"],
  clearos_7: ["clearos", "7", "rhel fedora", "ClearOS 7 (Final)"],
  coreos: ["coreos", "766.3.0", null, "CoreOS 766.3.0"],
  cos_97: ["cos", "97", null, "Container-Optimized OS from Google"],
  cumulus_3_7: ["cumulus-linux", "3.7.2", "debian", "Cumulus Linux"],
  debian_10: ["debian", "10", null, "Debian GNU/Linux 10 (buster)"],
  debian_11: ["debian", "11", null, "Debian GNU/Linux 11 (bullseye)"],
  debian_12: ["debian", "12", null, "Debian GNU/Linux 12 (bookworm)"],
  debian_7: ["debian", "7", null, "Debian GNU/Linux 7 (wheezy)"],
  debian_8: ["debian", "8", null, "Debian GNU/Linux 8 (jessie)"],
  debian_9: ["debian", "9", null, "Debian GNU/Linux 9 (stretch)"],
  "distro-amazon2016": ["amzn", "2016.03", "rhel fedora", "Amazon Linux AMI 2016.03"],
  "distro-armbian": ["debian", "10", null, "Debian GNU/Linux 10 (buster)"],
  "distro-bttcb1": ["debian", "11", null, "BTT-CB1 2.3.1 Bullseye"],
  "distro-cloudlinux7": ["cloudlinux", "7.3", "rhel fedora centos", "CloudLinux 7.3 (Yury Malyshev)"],
  "distro-debiantesting": ["debian", null, null, "Debian GNU/Linux bookworm/sid"],
  "distro-mageia5": ["mageia", "5", "mandriva fedora", "Mageia 5"],
  "distro-openelec6": ["openelec", "6.0", null, "OpenELEC (official) - Version: 6.0.3"],
  "distro-raspbian7": ["raspbian", "7", "debian", "Raspbian GNU/Linux 7 (wheezy)"],
  "distro-slackware14": ["slackware", "14.1", null, "Slackware 14.1"],
  "distro-ubuntu2604": ["ubuntu", "26.04", "debian", "Ubuntu 26.04 LTS"],
  elementary_5: ["elementary", "5.0", "ubuntu", "elementary OS 5.0 Juno"],
  elementary_6: ["elementary", "6", "ubuntu", "elementary OS 6 Odin"],
  elementary_7: ["elementary", "7", "ubuntu debian", "elementary OS 7 Horus"],
  endeavouros: ["endeavouros", null, "arch", "EndeavourOS"],
  "facter-rhel-with-comments": ["rhel", "8.6", "fedora", "Red Hat Enterprise Linux 8.6 (Ootpa)"],
  fedora_37: ["fedora", "37", null, "Fedora Linux 37 (Container Image)"],
  fedora_38: ["fedora", "38", null, "Fedora Linux 38 (Workstation Edition)"],
  fedora_39: ["fedora", "39", null, "Fedora Linux 39 (Workstation Edition)"],
  fedora_40: ["fedora", "40", null, "Fedora Linux 40 (Workstation Edition)"],
  fedora_41: ["fedora", "41", null, "Fedora Linux 41 (Container Image)"],
  fedora_42: ["fedora", "42", null, "Fedora Linux 42 (Container Image)"],
  fedora_43: ["fedora", "43", null, "Fedora Linux 43 (Container Image)"],
  gardenlinux: ["hce", "2.0", null, "Huawei Cloud EulerOS 2.0 (x86_64)"],
  gentoo_214: ["gentoo", "2.14", null, "Gentoo/Linux"],
  "gosysinfo-linuxmint20": ["linuxmint", "20", "ubuntu", "Linux Mint 20"],
  "gosysinfo-openeuler20.03": ["openEuler", "20.03", null, "openEuler 20.03 (LTS-SP3)"],
  "gosysinfo-sled15sp5": ["sled", "15.5", "suse", "SUSE Linux Enterprise Desktop 15 SP5"],
  hce_2: ["hce", "2.0", null, "Huawei Cloud EulerOS 2.0 (x86_64)"],
  kali_2018_4: ["kali", "2018.4", "debian", "Kali GNU/Linux Rolling"],
  kali_2019_4: ["kali", "2019.4", "debian", "Kali GNU/Linux Rolling"],
  kali_2025_4: ["kali", "2025.4", "debian", "Kali GNU/Linux Rolling"],
  linuxmint_18: ["linuxmint", "18.2", "ubuntu", "Linux Mint 18.2"],
  linuxmint_19: ["linuxmint", "19.3", "ubuntu", "Linux Mint 19.3"],
  linuxmint_20: ["linuxmint", "20.3", "ubuntu", "Linux Mint 20.3"],
  linuxmint_21: ["linuxmint", "21.3", "ubuntu debian", "Linux Mint 21.3"],
  linuxmint_22: ["linuxmint", "22", "ubuntu debian", "Linux Mint 22"],
  mageia_6: ["mageia", "6", "mandriva fedora", "Mageia 6"],
  mageia_9: ["mageia", "9", "mandriva fedora", "Mageia 9"],
  manjaro: ["manjaro", null, "arch", "Manjaro Linux"],
  "manjaro-arm": ["manjaro-arm", null, "manjaro arch", "Manjaro ARM"],
  openeuler: ["openEuler", "24.03", null, "openEuler 24.03 (LTS-SP2)"],
  opensuse_13: ["opensuse", "13.2", "suse", "openSUSE 13.2 (Harlequin) (x86_64)"],
  opensuseleap_15: ["opensuse-leap", "15.6", "suse opensuse", "openSUSE Leap 15.6"],
  opensuseleap_42_3: ["opensuse", "42.3", "suse", "openSUSE Leap 42.3"],
  opensusetumbleweed: ["opensuse-tumbleweed", "20240823", "opensuse suse", "openSUSE Tumbleweed"],
  oracle_7: ["ol", "7.9", "fedora", "Oracle Linux Server 7.9"],
  oracle_8: ["ol", "8.7", "fedora", "Oracle Linux Server 8.7"],
  oracle_9: ["ol", "9.1", "fedora", "Oracle Linux Server 9.1"],
  photon_1: ["photon", "1.0", null, "VMware Photon/Linux"],
  photon_2: ["photon", "2.0", null, "VMware Photon OS/Linux"],
  pop_os_22_04: ["pop", "22.04", "ubuntu debian", "Pop!_OS 22.04 LTS"],
  raspbian_10: ["raspbian", "10", "debian", "Raspbian GNU/Linux 10 (buster)"],
  raspbian_11: ["raspbian", "11", "debian", "Raspbian GNU/Linux 11 (bullseye)"],
  raspbian_8: ["raspbian", "8", "debian", "Raspbian GNU/Linux 8 (jessie)"],
  redhat_10: ["rhel", "10.0", "centos fedora", "Red Hat Enterprise Linux 10.0 (Coughlan)"],
  redhat_7: ["rhel", "7.5", "fedora", "Red Hat Enterprise Linux Server 7.5 (Maipo)"],
  redhat_8: ["rhel", "8.10", "fedora", "Red Hat Enterprise Linux 8.10 (Ootpa)"],
  redhat_9: ["rhel", "9.6", "fedora", "Red Hat Enterprise Linux 9.6 (Plow)"],
  rocky_8: ["rocky", "8.9", "rhel centos fedora", "Rocky Linux 8.9 (Green Obsidian)"],
  rocky_9: ["rocky", "9.3", "rhel centos fedora", "Rocky Linux 9.3 (Blue Onyx)"],
  scientific_7: ["scientific", "7.5", "rhel centos fedora", "Scientific Linux 7.5 (Nitrogen)"],
  slackware_14_2: ["slackware", "14.2", null, "Slackware 14.2"],
  sled_12_3: ["sled", "12.3", null, "SUSE Linux Enterprise Desktop 12 SP3"],
  sled_15: ["sled", "15", "suse", "SUSE Linux Enterprise Desktop 15"],
  sles_11: ["sles", "11.4", null, "SUSE Linux Enterprise Server 11 SP4"],
  sles_12: ["sles", "12.5", null, "SUSE Linux Enterprise Server 12 SP5"],
  sles_15: ["sles", "15.7", "suse", "SUSE Linux Enterprise Server 15 SP7"],
  sles_sap_12_2: ["sles_sap", "12.2", null, "SUSE Linux Enterprise Server for SAP Applications 12 SP2"],
  "suse-microos": ["suse-microos", "5.1", "suse", "SUSE Linux Enterprise Micro 5.1"],
  ubuntu_1404: ["ubuntu", "14.04", "debian", "Ubuntu 14.04.6 LTS"],
  ubuntu_1604: ["ubuntu", "16.04", "debian", "Ubuntu 16.04.7 LTS"],
  ubuntu_1804: ["ubuntu", "18.04", "debian", "Ubuntu 18.04.6 LTS"],
  ubuntu_2004: ["ubuntu", "20.04", "debian", "Ubuntu 20.04.6 LTS"],
  ubuntu_2204: ["ubuntu", "22.04", "debian", "Ubuntu 22.04.5 LTS"],
  ubuntu_2404: ["ubuntu", "24.04", "debian", "Ubuntu 24.04.3 LTS"],
  ubuntu_2504: ["ubuntu", "25.04", "debian", "Ubuntu 25.04"],
  xbian: ["raspbian", "1.0", "debian", "XBian 1.0 (knockout)"],
  "xcp-ng_7_4": ["XCP-ng", "7.4.0", "centos rhel fedora", "XCP-ng 7.4.0"],
  "xcp-ng_7_5": ["xenenterprise", "7.5.0", "centos rhel fedora", "XCP-ng 7.5.0"],
  xenserver_7_6: ["xenenterprise", null, "centos rhel fedora", "XenServer 7.6.0"],
  zorin: ["zorin", "16", "ubuntu", "Zorin OS 16"],
};

/** What is shown as the version where `VERSION_ID` is missing or was never filled in. */
const otherVersions: Readonly<Record<string, string>> = {
  antergos: "18.11-ISO-Rolling",
  arch: "rolling",
  xenserver_7_6: "7.6.0",
};

const suse = [
  "gosysinfo-sled15sp5",
  "opensuse_13",
  "opensuseleap_15",
  "opensuseleap_42_3",
  "opensusetumbleweed",
  "sled_12_3",
  "sled_15",
  "sles_11",
  "sles_12",
  "sles_15",
  "sles_sap_12_2",
  "suse-microos",
];

describeCases("os-release", ({ path, text }) => {
  const having = (isIt: (file: string) => boolean): readonly string[] => Object.keys(releases).filter(isIt);

  it("every file is one of those below", () => {
    const files = readdirSync(path("")).filter((name) => name !== "README.md");
    expect(files.toSorted()).toEqual(Object.keys(releases).toSorted());
  });

  it.each(Object.entries(releases))("%s: which distribution it is", (file, [id, versionId, idLike, prettyName]) => {
    const release = parseOsRelease(text(file));
    const fields = ["ID", "VERSION_ID", "ID_LIKE", "PRETTY_NAME"].map((field) => release.get(field) ?? null);
    expect(fields).toEqual([id, versionId, idLike, prettyName]);
    expect(distributionOf(release).version).toBe(otherVersions[file] ?? versionId ?? "rolling");
  });

  it("the SUSE family is zypper's, and of it Tumbleweed has no releases", () => {
    expect(having((file) => isSuse(parseOsRelease(text(file)))).toSorted()).toEqual(suse);
    expect(having((file) => isRolling(text(file)))).toEqual(["opensusetumbleweed"]);
  });
});
