import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAuthorizedKeys } from "./authorized-keys.ts";

const field = (bytes: Buffer | string): Buffer => {
  const content = Buffer.from(bytes);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
};
const keyOf = (type: string, ...fields: readonly Buffer[]): string =>
  `${type} ${Buffer.concat([field(type), ...fields.map((each) => field(each))]).toString("base64")}`;
const ed25519 = keyOf("ssh-ed25519", Buffer.alloc(32, 7));
const rsa = keyOf("ssh-rsa", Buffer.from([1, 0, 1]), Buffer.concat([Buffer.from([0, 0x80]), Buffer.alloc(383, 1)]));

describe("authorized_keys", () => {
  it.each([
    [`${ed25519} eve@laptop`, ["ssh-ed25519", 256, "eve@laptop", []]],
    [rsa, ["ssh-rsa", 3072, "", []]],
    [
      `command="echo \\"a, b\\" x",no-pty,from="192.0.2.0/24" ${rsa} backup`,
      ["ssh-rsa", 3072, "backup", ["command", "no-pty", "from"]],
    ],
    [`restrict\t${ed25519}\ta  b`, ["ssh-ed25519", 256, "a  b", ["restrict"]]],
    [`${keyOf("new-type@example.org", Buffer.alloc(9))} x`, ["new-type@example.org", null, "x", []]],
    [`${ed25519} a\u001b[31mb\u202e`, ["ssh-ed25519", 256, "a [31mb", []]],
  ])("is parsed: %s", (line, expected) => {
    const read = parseAuthorizedKeys(`# a comment\n\n${line}\r\n`);
    expect(read.map(({ type, bits, comment, options }) => [type, bits, comment, options])).toEqual([expected]);
    expect(read[0]?.fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
  });

  it("has the fingerprint that ssh-keygen prints", () => {
    const line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
    expect(parseAuthorizedKeys(line)[0]?.fingerprint).toBe("SHA256:ZkAslGjFiUHdGf/WUL8rQvkib4PTvQatUV0OUQSncCA");
  });

  it.each([
    "root:$y$j9T$secret:19000:0:99999:7:::",
    "ssh-rsa",
    "ssh-rsa not*base64",
    `ssh-rsa ${ed25519.split(" ")[1]}`,
    `ssh-ed25519 ${(ed25519.split(" ")[1] ?? "").slice(0, 30)}`,
    'command="open ssh-rsa AAAA',
  ])("has no key in the line %s", (line) => expect(parseAuthorizedKeys(line)).toEqual([]));

  it("bounds keys, and the options of a key", () => {
    const [key] = parseAuthorizedKeys(`${"no-pty,".repeat(30_000)}no-pty ${ed25519}`);
    expect(key?.options).toHaveLength(32);
    expect(parseAuthorizedKeys(`${ed25519}\n`.repeat(300))).toHaveLength(100);
  });

  it("has only keys, whatever the file holds", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 400 }), (text) => {
        for (const line of text.split("\n")) if (!line.includes("AAAA")) expect(parseAuthorizedKeys(line)).toEqual([]);
        parseAuthorizedKeys(`${text} ${rsa} ${text}`);
      }),
    );
  });
});
