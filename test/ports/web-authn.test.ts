import { describe, expect, it } from "vitest";
import { createWebAuthn } from "#adapters/webauthn/index.ts";
import { PasskeyRefused, type WebAuthn } from "#domain/ports/sessions.ts";
import { createAuthenticator } from "../api/authenticator.ts";

const origin = "https://web1.example.org:8470";
const user = { id: "a2V5" };
type Expected = Parameters<WebAuthn["verifyRegistration"]>[1];
const registering: Expected = { purpose: "register s1", origin, nowMs: 1000 };
const proving: Expected = { purpose: "prove", origin, nowMs: 1000 };
const answerTo = (challenge: string) => createAuthenticator(origin).create({ challenge, user });

describe("web authentication", () => {
  it("takes what an authenticator makes of its challenges, and says which one", async () => {
    const webauthn = createWebAuthn();
    const authenticator = createAuthenticator(origin);
    const challenge = webauthn.challenge("register s1", 5000);
    const made = await webauthn.verifyRegistration(authenticator.create({ challenge, user }), registering);
    expect(made).toMatchObject({
      ...{ credentialId: authenticator.id, domain: "web1.example.org" },
      challenge: { text: challenge, endsAtMs: 5000 },
    });
    const passkey = { ...made, id: "p", keyId: "key", name: "laptop", createdAt: 0, lastUsedAt: null };
    const asked = webauthn.challenge("prove", 6000);
    const verified = await webauthn.verifyAssertion(authenticator.get({ challenge: asked }), proving, passkey);
    expect(verified).toEqual({ counter: 1, challenge: { text: asked, endsAtMs: 6000 } });
    expect(webauthn.challenge("prove", 6000)).not.toBe(asked);
    expect(webauthn.userHandle("key")).toBe("a2V5");
  });

  it.each<[string, Partial<Expected>]>([
    ["another page", { origin: "https://web2.example.org:8470" }],
    ["another port", { origin: "https://web1.example.org" }],
    ["another session", { purpose: "register s2" }],
    ["another purpose", { purpose: "prove" }],
    ["another time", { nowMs: 5000 }],
  ])("refuses an answer that is for %s", async (_, more) => {
    const webauthn = createWebAuthn();
    const answer = answerTo(webauthn.challenge("register s1", 5000));
    await expect(webauthn.verifyRegistration(answer, { ...registering, ...more })).rejects.toThrow(PasskeyRefused);
  });

  it("refuses a challenge of another process, and one that was changed", async () => {
    const webauthn = createWebAuthn();
    const good = webauthn.challenge("register s1", 5000);
    const bytes = Buffer.from(good, "base64url");
    const changed = Array.from(bytes, (_, at) => {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] ?? 0) ^ 1;
      return copy.toString("base64url");
    });
    const foreign = createWebAuthn().challenge("register s1", 5000);
    for (const challenge of [foreign, "", `${good}AAAA`, ...changed]) {
      const verified = webauthn.verifyRegistration(answerTo(challenge), registering);
      await expect(verified).rejects.toThrow("its challenge is not a current one");
    }
  });
});
