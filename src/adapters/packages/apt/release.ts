import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { parseOsRelease } from "#adapters/files/etc.ts";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { SystemRelease } from "#domain/ports/packages.ts";
import { toDay } from "#kernel/clock.ts";
import { orUndefined } from "#kernel/errors.ts";

export interface ReleaseHead {
  readonly origin: string;
  readonly label: string;
  /** The suite, as policies call it. */
  readonly archive: string;
  readonly codename: string;
  readonly version: string;
  readonly date: string;
}

export function parseReleaseHead(text: string): ReleaseHead {
  const [head = ""] = text.split(/^(?:MD5Sum|SHA\d+):/m, 1);
  const field = (name: string): string => new RegExp(`^${name}:[ \t]*(.*)$`, "m").exec(head)?.[1]?.trim() ?? "";
  const time = Date.parse(field("Date"));
  const date = Number.isNaN(time) ? "" : toDay(time);
  return {
    origin: field("Origin"),
    label: field("Label"),
    archive: field("Suite"),
    codename: field("Codename"),
    version: field("Version"),
    date,
  };
}

const numbers = (version: string): readonly number[] | undefined =>
  /^\d+(\.\d+)*$/.test(version) ? version.split(".").map(Number) : undefined;

/** Whether a version of the distribution, `12.10`, is newer than another, `12.9`. What is not a number is not newer. */
export function isNewerRelease(version: string, than: string): boolean {
  const [one, other] = [numbers(version), numbers(than)];
  if (one === undefined || other === undefined) return false;
  const at = one.findIndex((part, index) => part !== (other[index] ?? 0));
  return at >= 0 && (one[at] ?? 0) > (other[at] ?? 0);
}

export function changelogOf(text: string, version: string): string {
  const entries = text.split(/^(?=\S+ \(\S+\) )/m);
  const word = new RegExp(`(?<![\\d.])${version.replaceAll(".", "\\.")}(?![\\d]|\\.\\d)`);
  return entries.find((entry) => word.test(entry))?.trim() ?? "";
}

const unzip = promisify(gunzip);

const hostFiles = {
  osRelease: "/etc/os-release",
  debianVersion: "/etc/debian_version",
  changelog: "/usr/share/doc/base-files/changelog.gz",
} as const;

export type ReleaseFiles = { readonly [name in keyof typeof hostFiles]: string };

/** @param lists their directory. */
export function createRelease(
  lists: () => Promise<string>,
  files: ReleaseFiles = hostFiles,
): () => Promise<SystemRelease | undefined> {
  const heads = async (): Promise<readonly ReleaseHead[]> => {
    const directory = await lists();
    const names = (await orUndefined(readdir(directory))) ?? [];
    const releases = names.filter((name) => /_(In)?Release$/.test(name));
    return (await Promise.all(releases.map((name) => readTextOrEmpty(join(directory, name))))).map(parseReleaseHead);
  };

  const changelog = async (version: string): Promise<string> => {
    const packed = await orUndefined(readFile(files.changelog));
    return packed === undefined ? "" : changelogOf((await unzip(packed)).toString("utf8"), version);
  };

  return async () => {
    const os = parseOsRelease(await readTextOrEmpty(files.osRelease));
    const id = os.get("ID") ?? "";
    const codename = os.get("VERSION_CODENAME") ?? "";
    // Debian's own file knows the point release; what is made of Debian has its own versions.
    const point = id === "debian" ? (await readTextOrEmpty(files.debianVersion)).trim() : "";
    const installed = numbers(point) === undefined ? (os.get("VERSION_ID") ?? "") : point;
    const newer = (await heads())
      .filter((head) => head.codename === codename && head.origin.toLowerCase() === id)
      .filter(({ version }) => isNewerRelease(version, installed))
      .reduce<ReleaseHead | undefined>(
        (best, head) => (best && !isNewerRelease(head.version, best.version) ? best : head),
        undefined,
      );
    if (newer === undefined) return undefined;
    const { version, date } = newer;
    return { version, releaseDate: date, isSecurity: false, changelog: await changelog(version) };
  };
}
