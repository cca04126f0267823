import type { CredentialCodec, CredentialKind } from "#domain/ports/access.ts";

/** Credentials that can be foretold: `key:1:1`, `token:2:2`, …; the digest is the text itself. */
export function createFakeCredentialCodec(): CredentialCodec {
  let made = 0;
  return {
    mint(kind, id) {
      made += 1;
      const own = id ?? String(made);
      const text = `${kind}:${own}:${made}`;
      return { text, id: own, digest: text };
    },
    parse(text) {
      const match = /^(key|token|cookie|session|code|ticket):(\d+):\d+$/.exec(text);
      if (match === null) return undefined;
      return { kind: match[1] as CredentialKind, id: match[2] ?? "", digest: text };
    },
    proves: (presented, digest) => presented !== undefined && presented.digest === digest,
  };
}
