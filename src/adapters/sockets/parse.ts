export interface ParsedSocket {
  readonly address: string;
  readonly port: number;
  readonly remotePort: number;
  readonly inode: number;
  readonly uid: number;
}

/** States of sockets, include/net/tcp_states.h; a UDP socket without a peer is `close`. */
export const states = { close: "07", listen: "0A" } as const;

/** Bytes of an address: the kernel prints 32-bit numbers in the byte order of the machine, little-endian on what Node runs on. */
const hexBytes = (hex: string): readonly number[] =>
  (hex.match(/.{8}/g) ?? []).flatMap((word) =>
    (word.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16)).reverse(),
  );

const toIpv6 = (bytes: readonly number[]): string => {
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0)).toString(16),
  );
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
};

export const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

export function toAddress(hex: string): string {
  const bytes = hexBytes(hex);
  if (bytes.length === 4) return bytes.join(".");
  return mappedPrefix.every((byte, at) => bytes[at] === byte) ? bytes.slice(12).join(".") : toIpv6(bytes);
}

const line =
  /^\s*\d+:\s+([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})\s+[0-9A-F]+:([0-9A-F]{4})\s+([0-9A-F]{2})\s+\S+\s+\S+\s+\S+\s+(\d+)\s+\d+\s+(\d+)/;

/** Skips other states unparsed: a busy host has a hundred thousand of them. */
export function parseSockets(text: string, state: (typeof states)[keyof typeof states]): readonly ParsedSocket[] {
  const lines = text.split("\n").filter((each) => each.includes(` ${state} `));
  return lines.flatMap((each) => {
    const [, address, port, remotePort, found, uid, inode] = line.exec(each) ?? [];
    if (address === undefined || port === undefined || remotePort === undefined || found !== state) return [];
    const hex = (digits: string): number => Number.parseInt(digits, 16);
    const ports = { port: hex(port), remotePort: hex(remotePort) };
    return [{ address: toAddress(address), ...ports, inode: Number(inode), uid: Number(uid) }];
  });
}

export function parsePortRange(text: string): { readonly first: number; readonly last: number } {
  const [, first = "32768", last = "60999"] = /^\s*(\d+)\s+(\d+)/.exec(text) ?? [];
  return { first: Number(first), last: Number(last) };
}

export function hasGlobalIpv6(text: string): boolean {
  return text.split("\n").some((each) => {
    const [, , , scope, , name] = each.trim().split(/\s+/);
    return scope === "00" && name !== "lo";
  });
}
