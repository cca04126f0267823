import type { CredentialCodec } from "#domain/ports/access.ts";

/** Credentials that can be foretold: `key:1`, `token:2`, …; the digest is the text itself. */
export function createFakeCredentialCodec(): CredentialCodec {
  let made = 0;
  return {
    mint(kind) {
      made += 1;
      const text = `${kind}:${made}`;
      return { text, id: String(made), digest: text };
    },
    parse(text) {
      const match = /^(key|token):(\d+)$/.exec(text);
      if (match === null) return undefined;
      return { kind: match[1] === "key" ? "key" : "token", id: match[2] ?? "", digest: text };
    },
    sameDigest: (a, b) => a === b,
  };
}
