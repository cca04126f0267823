import { describe, expect, it } from "vitest";
import { createWebAuthn } from "#adapters/webauthn/index.ts";
import { PasskeyRefused, type WebAuthn } from "#domain/ports/passkeys.ts";
import { createAuthenticator } from "../api/authenticator.ts";
import { createFakeWebAuthn } from "../fakes/web-authn.ts";

const origin = "https://web1.example.org:8470";
const user = { id: "a2V5" };
const registering = { purpose: "register s1", origin, nowMs: 1000 } as const;
const proving = { purpose: "prove", origin, nowMs: 1000 } as const;

describe.each([
  ["fake", createFakeWebAuthn],
  ["real", createWebAuthn],
] as const)("web authentication: %s", (_, make: () => WebAuthn) => {
  it("takes what an authenticator makes of its challenges, and says which one", async () => {
    const webauthn = make();
    const authenticator = createAuthenticator(origin);
    const challenge = webauthn.challenge("register s1", 5000);
    const made = await webauthn.verifyRegistration(authenticator.create({ challenge, user }), registering);
    expect(made).toMatchObject({
      credentialId: authenticator.id,
      domain: "web1.example.org",
      challenge: { text: challenge, endsAtMs: 5000 },
    });
    const passkey = { ...made, id: "p", keyId: "key", name: "laptop", createdAt: 0, lastUsedAt: null };
    const asked = webauthn.challenge("prove", 6000);
    expect(await webauthn.verifyAssertion(authenticator.get({ challenge: asked }), proving, passkey)).toEqual({
      counter: 1,
      challenge: { text: asked, endsAtMs: 6000 },
    });
    expect(webauthn.challenge("prove", 6000)).not.toBe(asked);
    expect(webauthn.userHandle("key")).toBe("a2V5");
  });

  it("refuses what is for another page, another purpose or another time, and challenges of others", async () => {
    const webauthn = make();
    const answerTo = (challenge: string) => createAuthenticator(origin).create({ challenge, user });
    const good = webauthn.challenge("register s1", 5000);
    for (const [challenge, expected] of [
      [good, { ...registering, origin: "https://web2.example.org:8470" }],
      [good, { ...registering, origin: "https://web1.example.org" }],
      [good, { ...registering, purpose: "register s2" }],
      [good, { ...registering, purpose: "prove" }],
      [good, { ...registering, nowMs: 5000 }],
      [make().challenge("register s2", 5000), registering],
      ["", registering],
    ] as const)
      await expect(webauthn.verifyRegistration(answerTo(challenge), expected)).rejects.toThrow(PasskeyRefused);
  });
});

it("takes no challenge of another process, nor one that was changed", async () => {
  const webauthn = createWebAuthn();
  const good = webauthn.challenge("register s1", 5000);
  const bytes = Buffer.from(good, "base64url");
  const changed = Array.from(bytes, (_, at) => {
    const copy = Buffer.from(bytes);
    copy[at] = (copy[at] ?? 0) ^ 1;
    return copy.toString("base64url");
  });
  for (const challenge of [createWebAuthn().challenge("register s1", 5000), `${good}AAAA`, ...changed]) {
    const answer = createAuthenticator(origin).create({ challenge, user });
    await expect(webauthn.verifyRegistration(answer, registering)).rejects.toThrow("its challenge is not one of now");
  }
});
