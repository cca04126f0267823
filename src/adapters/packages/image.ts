import { existsSync, readFileSync } from "node:fs";
import type { Exec } from "#adapters/exec/index.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { ImageBased, noOldKernels, type PackageManager, type SystemRelease } from "#domain/ports/packages.ts";
import { toDay } from "#kernel/clock.ts";
import { isRecord, parseJsonObject, recordsIn } from "#kernel/values.ts";
import type { Argv } from "./common/ports.ts";

/** What the tool of an image-based system says of the next image. */
export interface ImageState {
  readonly next: SystemRelease | undefined;
  /** Whether the next boot takes it. */
  readonly isStaged: boolean;
}

/** A tool that replaces the whole system by another image. */
export interface ImageTool {
  readonly name: string;
  readonly upgrade: string;
  /** Undefined where it answers nothing for programs. */
  readonly status?: Argv;
  /** @returns undefined where the system is not deployed by this tool. */
  readonly read?: (answer: unknown) => ImageState | undefined;
}

const records = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});
const textOr = (value: unknown, otherwise: string): string =>
  typeof value === "string" && value !== "" ? value : otherwise;
const dayOrNone = (epochMs: number): string => (Number.isFinite(epochMs) ? toDay(epochMs) : "");

const release = (version: string, releaseDate: string): SystemRelease => ({
  version,
  releaseDate,
  isSecurity: false,
  changelog: "",
});

/** `bootc status --json` (apiVersion `org.containers.bootc/v1`). */
export function readBootc(answer: unknown): ImageState | undefined {
  const { booted, staged } = records(records(answer)["status"]);
  const now = records(booted)["image"];
  if (!isRecord(now)) return undefined;
  const isOther = (image: unknown): boolean => isRecord(image) && image["imageDigest"] !== now["imageDigest"];
  const stagedImage = records(staged)["image"];
  const next = [stagedImage, records(booted)["cachedUpdate"]].find(isOther);
  if (!isRecord(next)) return { next: undefined, isStaged: false };
  const { version, imageDigest, timestamp } = next;
  const digest = textOr(imageDigest, "unknown");
  return {
    next: release(textOr(version, digest), dayOrNone(Date.parse(textOr(timestamp, "")))),
    isStaged: isOther(stagedImage),
  };
}

/** `rpm-ostree status --json`. The first deployment is that of the next boot. */
export function readRpmOstree(answer: unknown): ImageState | undefined {
  const deployments = recordsIn(records(answer)["deployments"]);
  const now = deployments.find(({ booted }) => booted === true);
  if (now === undefined) return undefined;
  const isOther = (image: unknown): boolean => isRecord(image) && image["checksum"] !== now["checksum"];
  const next = [deployments[0], records(answer)["cached-update"]].find(isOther);
  if (!isRecord(next)) return { next: undefined, isStaged: false };
  const { version, checksum, timestamp } = next;
  const name = textOr(version, textOr(checksum, "unknown"));
  return {
    next: release(name, typeof timestamp === "number" ? dayOrNone(timestamp * 1000) : ""),
    isStaged: isOther(deployments[0]),
  };
}

const bootc: ImageTool = {
  name: "bootc",
  upgrade: "bootc upgrade",
  status: ["/usr/bin/bootc", "status", "--json"],
  read: readBootc,
};
const rpmOstree: ImageTool = {
  name: "rpm-ostree",
  upgrade: "rpm-ostree upgrade",
  status: ["/usr/bin/rpm-ostree", "status", "--json"],
  read: readRpmOstree,
};
const transactional: ImageTool = { name: "transactional-update", upgrade: "transactional-update" };
const ostree: ImageTool = { name: "ostree", upgrade: "ostree admin upgrade" };

/** Whether `/` is mounted read-only at boot: a sandbox may have its own view of what is mounted. */
const isRootReadOnly = (fstab: string): boolean =>
  fstab.split("\n").some((line) => {
    const [source = "", place, , options = ""] = line.trim().split(/\s+/);
    return !source.startsWith("#") && place === "/" && options.split(",").includes("ro");
  });

/** The tools that replace the system of this host; none where packages are changed one by one. @param root of another system. */
export function findImageTools(root = ""): readonly ImageTool[] {
  const isThere = (path: string): boolean => existsSync(`${root}${path}`);
  if (isThere("/run/ostree-booted")) {
    const found = [bootc, rpmOstree].filter(({ status = [""] }) => isThere(status[0]));
    return found.length > 0 ? found : [ostree];
  }
  if (!isThere("/usr/sbin/transactional-update") || !isThere("/etc/fstab")) return [];
  return isRootReadOnly(readFileSync(`${root}/etc/fstab`, "utf8")) ? [transactional] : [];
}

async function askTools(tools: readonly ImageTool[], exec: Exec, signal: AbortSignal): Promise<ImageState | undefined> {
  for (const { name, status, read } of tools) {
    if (status === undefined || read === undefined) continue;
    const { exitCode, stdout, stderr } = await exec(status, { signal, timeoutMs: 30_000 });
    const answer = exitCode === 0 ? parseJsonObject(stdout) : undefined;
    if (answer === undefined) {
      const message = `${name} does not answer: ${stderr.trim() || `exit code ${exitCode}`}`;
      throw new HostUnavailable(message, { missing: name, retryable: true });
    }
    const state = read(answer);
    if (state !== undefined) return state;
  }
  return undefined;
}

/** The package manager of an image-based system: it is read, and everything that would write is refused with what to run instead. */
export function onImage(manager: PackageManager, tools: readonly ImageTool[], exec: Exec): PackageManager {
  const names = tools.map(({ name }) => name).join(" or ");
  const upgrades = tools.map(({ upgrade }) => upgrade).join(" or ");
  const refuse = (): Promise<never> => Promise.reject(new ImageBased(names, upgrades));
  return {
    ...manager,
    capabilities: { knowsSecurity: false, isPlannedByRoot: false, isImageBased: true },
    oldKernels: noOldKernels,
    // Without `present` there is no snapshot either: nothing could return to it.
    files: { ...manager.files, present: refuse, prefetch: refuse, fetch: refuse, restore: refuse },
    lists: {
      ...manager.lists,
      updates: () => Promise.resolve({ updates: [], held: [], listsAt: null }),
      security: () => Promise.resolve(undefined),
      release: async (signal) => (await askTools(tools, exec, signal))?.next,
      refresh: refuse,
    },
    async restartNeeds(signal) {
      const [needs, state] = await Promise.all([manager.restartNeeds(signal), askTools(tools, exec, signal)]);
      return { ...needs, requiresReboot: needs.requiresReboot || (state?.isStaged ?? false) };
    },
    plan: refuse,
    holds: { ...manager.holds, set: refuse },
    transactions: { ...manager.transactions, commit: refuse, repair: refuse },
    repairs: { finish: refuse, planMissing: refuse, installMissing: refuse },
  };
}
