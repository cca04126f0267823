import { describe, expect, it } from "vitest";
import { credentialCodec } from "#adapters/keystore/codec.ts";
import type { CredentialCodec } from "#domain/ports/access.ts";
import { createFakeCredentialCodec } from "../fakes/credential-codec.ts";

describe.each([
  ["fake", createFakeCredentialCodec()],
  ["real", credentialCodec],
] as const)("credential codec: %s", (_, codec: CredentialCodec) => {
  it.each(["key", "token", "cookie", "session", "code", "ticket"] as const)("reads the %s that it made", (kind) => {
    const made = codec.mint(kind);
    const read = codec.parse(made.text);
    expect(read).toMatchObject({ kind, id: made.id });
    expect(codec.proves(read, made.digest)).toBe(true);
  });

  it("makes both halves of a session under one id", () => {
    const [cookie, session] = [codec.mint("cookie"), codec.mint("session", codec.mint("cookie").id)];
    const other = codec.mint("session", cookie.id);
    expect([codec.parse(other.text)?.id, other.id, session.id === cookie.id]).toEqual([cookie.id, cookie.id, false]);
  });

  it("reads the same whatever the same sender sent before", () => {
    const sender = {};
    const [own, other] = [codec.mint("key"), codec.mint("token")];
    const [half, second] = [codec.mint("cookie", own.id), codec.mint("session", own.id)];
    const [another, swapped] = [codec.mint("cookie", own.id), half.text.replace("sth_", "sts_")];
    const slip = `${own.text.slice(0, -1)}${own.text.endsWith("0") ? "1" : "x"}`;
    const keys = [own.text, own.text, other.text, slip, own.text, "", `${own.text} `, own.text, slip];
    const halves = [half.text, second.text, half.text, another.text, swapped, second.text, another.text, half.text];
    const sent = [...keys, ...halves, "stx_", own.text];
    for (const text of sent) expect([text, codec.parse(text, sender)]).toEqual([text, codec.parse(text)]);
  });

  it("makes no two alike", () => {
    const [a, b] = [codec.mint("key"), codec.mint("key")];
    expect(a.id).not.toBe(b.id);
    expect(codec.proves(codec.parse(a.text), b.digest)).toBe(false);
  });

  it("is proved by its own digest alone, also where it was proved before", () => {
    const sender = {};
    const [own, other] = [codec.mint("key"), codec.mint("key")];
    const read = () => codec.parse(own.text, sender);
    for (const digest of [own.digest, other.digest, own.digest, undefined, "", `${own.digest}a`])
      expect([digest, codec.proves(read(), digest)]).toEqual([digest, digest === own.digest]);
    codec.parse(other.text, sender);
    expect([codec.proves(read(), other.digest), codec.proves(read(), own.digest)]).toEqual([false, true]);
    expect([codec.proves(undefined, own.digest), codec.proves(undefined, undefined)]).toEqual([false, false]);
    expect([codec.proves(undefined, "0".repeat(64)), codec.proves(read(), "0".repeat(64))]).toEqual([false, false]);
  });

  it("knows what it did not make", () => {
    for (const text of ["", "hello", `${codec.mint("key").text}x`, ` ${codec.mint("key").text}`]) {
      expect([text, codec.parse(text)]).toEqual([text, undefined]);
    }
  });
});

describe("credentials", () => {
  it("hold 256 bits, spread evenly, behind a checksum that catches a slip of the pen", () => {
    const { text } = credentialCodec.mint("key");
    expect(text).toMatch(/^stw_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/);
    const slips = text
      .split("")
      .map((letter, index) => `${text.slice(0, index)}${letter === "a" ? "b" : "a"}${text.slice(index + 1)}`);
    for (const slip of slips) expect(credentialCodec.parse(slip)).toBeUndefined();
    const counts = new Map<string, number>();
    for (let made = 0; made < 500; made += 1) {
      for (const letter of credentialCodec.mint("token").text.slice(13, 56))
        counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
    const expected = (500 * 43) / 62;
    expect(counts.size).toBe(62);
    for (const count of counts.values()) expect(Math.abs(count - expected)).toBeLessThan(expected * 0.4);
  });
});
