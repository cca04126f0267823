import { isIPv4, type Socket } from "node:net";
import { join } from "node:path";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import { mappedPrefix } from "./parse.ts";

export type LocalConnection = {
  readonly [Name in "remoteAddress" | "remotePort" | "localAddress" | "localPort"]?: Socket[Name] | undefined;
};

const hexOf = (byte: number): string => byte.toString(16).padStart(2, "0").toUpperCase();

function addressBytes(address: string): readonly number[] {
  if (isIPv4(address)) return address.split(".").map(Number);
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, "")}]`);
  const [head = "", tail] = hostname.slice(1, -1).split("::");
  const groups = (text: string | undefined): readonly string[] => (text ? text.split(":") : []);
  const [before, after] = [groups(head), groups(tail)];
  const between = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...between, ...after].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

function printed(bytes: readonly number[]): string {
  const words = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.slice(4 * at, 4 * at + 4));
  return words.map((word) => [...word].reverse().map(hexOf).join("")).join("");
}

function endsOf(address: string, port: number): readonly string[] {
  const bytes = addressBytes(address.replace(/^::ffff:(?=\d+\.)/i, ""));
  const all = bytes.length === 4 ? [bytes, [...mappedPrefix, ...bytes]] : [bytes];
  const [high, low] = [hexOf(port >> 8), hexOf(port & 0xff)];
  return all.map((each) => `${printed(each)}:${high}${low}`);
}

/** What follows the ends in a line: state, queues, timer, retransmissions, user, timeout, inode. */
const rest = /^[0-9A-F]{2} \S+ \S+ \S+ +(\d+) +\d+ +(\d+)/;

/** Undefined where unknown; a socket that its program has closed is shown as root's. */
export function peerIn(text: string, connection: LocalConnection): number | undefined {
  const { remoteAddress, remotePort, localAddress, localPort } = connection;
  if (remoteAddress === undefined || remotePort === undefined || localAddress === undefined || localPort === undefined)
    return undefined;
  const theirs = endsOf(remoteAddress, remotePort);
  const ours = endsOf(localAddress, localPort);
  for (const [at, their] of theirs.entries()) {
    const needle = ` ${their} ${ours[at]} `;
    const found = text.indexOf(needle);
    const [, uid, inode] = found < 0 ? [] : (rest.exec(text.slice(found + needle.length, found + 200)) ?? []);
    if (uid !== undefined && inode !== "0") return Number(uid);
  }
  return undefined;
}

/** Reads the kernel's files once for all connections that wait. @returns the uid in this user namespace. */
export function createPeerLookup(procDir = "/proc"): (connection: LocalConnection) => Promise<number | undefined> {
  const read = async (): Promise<string> =>
    (await Promise.all(["tcp", "tcp6"].map((name) => readTextOrEmpty(join(procDir, "net", name))))).join("");
  let next: Promise<string> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const reading = (): Promise<string> => {
    if (next !== undefined) return next;
    const started = last.then(() => {
      next = undefined;
      return read();
    });
    next = started;
    last = started.catch(() => undefined);
    return started;
  };
  return async (connection) => peerIn(await reading(), connection);
}
