import { describe, expect, it } from "vitest";
import { credentialCodec as codec } from "#adapters/keystore/codec.ts";

describe("credentials", () => {
  it.each(["key", "token", "cookie", "session", "code", "ticket"] as const)(
    "of the kind %s are read as made",
    (kind) => {
      const made = codec.mint(kind);
      const read = codec.parse(made.text);
      expect(read).toMatchObject({ kind, id: made.id });
      expect(codec.proves(read, made.digest)).toBe(true);
    },
  );

  it("of a session have both halves under one id, and no two others are alike", () => {
    const cookie = codec.mint("cookie");
    const session = codec.mint("session", cookie.id);
    expect([session.id, codec.parse(session.text)?.id]).toEqual([cookie.id, cookie.id]);
    const [a, b] = [codec.mint("key"), codec.mint("key")];
    expect(a.id).not.toBe(b.id);
    expect(codec.proves(codec.parse(a.text), b.digest)).toBe(false);
  });

  it("are read the same whatever the same sender sent before", () => {
    const sender = {};
    const [own, other] = [codec.mint("key"), codec.mint("token")];
    const [half, second] = [codec.mint("cookie", own.id), codec.mint("session", own.id)];
    const [another, swapped] = [codec.mint("cookie", own.id), half.text.replace("sth_", "sts_")];
    const slip = `${own.text.slice(0, -1)}${own.text.endsWith("0") ? "1" : "x"}`;
    const keys = [own.text, own.text, other.text, slip, own.text, "", `${own.text} `, own.text, slip];
    const halves = [half.text, second.text, half.text, another.text, swapped, second.text, another.text, half.text];
    for (const text of [...keys, ...halves, "stx_", own.text])
      expect([text, codec.parse(text, sender)]).toEqual([text, codec.parse(text)]);
  });

  it("are proved by their own digest alone, also where they were proved before", () => {
    const sender = {};
    const [own, other] = [codec.mint("key"), codec.mint("key")];
    const read = () => codec.parse(own.text, sender);
    for (const digest of [own.digest, other.digest, own.digest, undefined, "", `${own.digest}a`])
      expect([digest, codec.proves(read(), digest)]).toEqual([digest, digest === own.digest]);
    codec.parse(other.text, sender);
    expect([codec.proves(read(), other.digest), codec.proves(read(), own.digest)]).toEqual([false, true]);
    for (const digest of [own.digest, undefined, "0".repeat(64)]) expect(codec.proves(undefined, digest)).toBe(false);
    expect(codec.proves(read(), "0".repeat(64))).toBe(false);
  });

  it("are none where the codec did not make them, or one letter was mistyped [constant-401]", () => {
    const { text } = codec.mint("key");
    expect(text).toMatch(/^stw_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/);
    const slips = text
      .split("")
      .map((letter, at) => text.slice(0, at) + (letter === "a" ? "b" : "a") + text.slice(at + 1));
    for (const each of ["", "hello", `${text}x`, ` ${text}`, ...slips]) expect(codec.parse(each)).toBeUndefined();
  });

  it("hold 256 bits, spread evenly", () => {
    const counts = new Map<string, number>();
    for (let made = 0; made < 500; made += 1)
      for (const letter of codec.mint("token").text.slice(13, 56)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    const expected = (500 * 43) / 62;
    expect(counts.size).toBe(62);
    // Eight standard deviations: chance alone never gets there.
    for (const count of counts.values()) expect(Math.abs(count - expected)).toBeLessThan(8 * Math.sqrt(expected));
  });
});
