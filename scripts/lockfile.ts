import { readFileSync, writeFileSync } from "node:fs";

/**
 * Adds what npm leaves out of the lockfile when the registry at hand does not carry it: optional dependencies for
 * other platforms. Without an entry `npm ci` refuses the lockfile; with one it knows that they are not for this
 * machine. What has no checksum from the registry gets one that no file has, so that npm never installs it, on the platform
 * that it is for neither: it leaves an optional package out whose checksum is wrong. Run after every `npm install`; an invariant
 * test fails when it was forgotten.
 */
interface LockedPackage {
  readonly version?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}
interface Lockfile {
  packages: Record<string, LockedPackage>;
}

const path = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(path, "utf8")) as Lockfile;

const first = (text: string, words: readonly string[]): string | undefined =>
  words.find((word) => new RegExp(`(^|[-/])${word}($|-)`).test(text));

/** The platform that such a package is for, by its name. */
function platformOf(name: string): object {
  const os = first(name, [
    "darwin",
    "win32",
    "android",
    "freebsd",
    "openharmony",
    "linux",
    "sunos",
    "netbsd",
    "openbsd",
    "aix",
  ]);
  const cpu = first(name, ["arm64", "x64", "arm", "ia32", "ppc64", "riscv64", "s390x", "loong64", "mips64el"]);
  const libc = first(name, ["musl", "musleabihf"]) === undefined ? undefined : "musl";
  if (os === undefined || cpu === undefined) throw new Error(`cannot tell the platform of ${name} (add it by hand)`);
  return { cpu: [cpu], ...(libc !== undefined && { libc: [libc] }), os: [os] };
}

let added = 0;
for (const { dev, optionalDependencies = {} } of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const key = `node_modules/${name}`;
    if (Object.keys(lock.packages).some((each) => each === key || each.endsWith(`/${key}`))) continue;
    const entry = { version, ...platformOf(name), ...(dev === true && { dev }), optional: true };
    lock.packages[key] = entry;
    added += 1;
  }
}
/** The SHA-512 of nothing that anybody could make. */
const ofNoFile = `sha512-${Buffer.alloc(64).toString("base64")}`;

for (const [key, entry] of Object.entries(lock.packages)) {
  if (key === "" || entry.link === true || entry.integrity !== undefined) continue;
  if (entry.optional !== true) throw new Error(`cannot lock ${key}: the registry gives no checksum of it`);
  lock.packages[key] = { ...entry, integrity: ofNoFile };
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en")));
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`package-lock.json: ${added} entries added`);
