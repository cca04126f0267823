import type { Session } from "./session.ts";

/** Whose keys there are; the one of `former` has expired since. */
export type Signer = "maker" | "former" | "stranger";

/** Where their keys are on the host. */
export const signingKeys = "/root/signing-keys";
const gpg = `gpg --homedir ${signingKeys} --batch --quiet --yes`;
/** Times from which on, and at which, the key of `former` was good. */
const formerBegin = "20200101T000000!";
const formerTime = "20200201T000000!";

/** Makes real keys on the host. */
export async function makeSigningKeys({ shell }: Pick<Session, "shell">): Promise<void> {
  const make = (name: Signer, expires: string, options = ""): string =>
    `${gpg} ${options} --passphrase '' --quick-generate-key '${name} <${name}@example.org>' ed25519 sign ${expires} 2>&1`;
  await shell(`mkdir -m 700 ${signingKeys}`);
  await shell(make("maker", "never"));
  await shell(make("stranger", "never"));
  await shell(make("former", "2020-06-01", `--faked-system-time ${formerBegin}`));
}

/** A line of shell that prints public keys. */
export const exportKeys = (names: readonly Signer[], options = ""): string =>
  `${gpg} ${options} --export ${names.join(" ")}`;

/** A line of shell that signs in the name of somebody. */
export const signed = (signer: Signer, words: string): string =>
  `${gpg} ${signer === "former" ? `--faked-system-time ${formerTime}` : ""} --local-user ${signer} ${words} 2>&1`;
