import type { Account } from "#domain/ports/accounts.ts";
import type { SshConfig } from "#domain/ports/network.ts";
import type { PasswdRow } from "./databases.ts";

const usualFiles = ".ssh/authorized_keys .ssh/authorized_keys2";

export interface KeyFiles {
  /** Absolute. */
  readonly files: readonly string[];
  readonly keysAre: Account["keysAre"];
  /** Why there may be other keys. */
  readonly reasons: readonly string[];
}

const isSet = (value: string | undefined): value is string =>
  value !== undefined && value !== "" && value.toLowerCase() !== "none";

/** TOKENS of sshd_config(5), as AuthorizedKeysFile takes them. */
function expand(file: string, { name, uid, home }: PasswdRow): string {
  const tokens: Readonly<Record<string, string>> = { "%%": "%", "%h": home, "%U": String(uid), "%u": name };
  return file.replaceAll(/%[%hUu]/g, (token) => tokens[token] ?? token);
}

/** Where keys are by sshd's own configuration for a user; in the usual files where no sshd is installed. */
export function keyFilesOf(row: PasswdRow, config: SshConfig | undefined): KeyFiles {
  const options = config?.is === "valid" ? config.options : {};
  if (options["pubkeyauthentication"] === "no") return { files: [], keysAre: "all", reasons: [] };
  const words = (options["authorizedkeysfile"] ?? usualFiles).split(" ").filter(isSet);
  // OpenSSH 10 takes patterns of glob(7), older versions names with these characters in them.
  const patterns = words.filter((word) => /[*?[]/.test(word));
  const files = words
    .filter((word) => !patterns.includes(word))
    .map((word) => expand(word, row))
    .map((file) => (file.startsWith("/") ? file : `${row.home}/${file}`));
  if (config !== undefined && config.is !== "valid") {
    const why = config.is === "unknown" ? config.reason : config.message;
    return {
      files,
      keysAre: "assumed",
      reasons: [`sshd does not say where they are, the usual files are read: ${why}`],
    };
  }
  const command = options["authorizedkeyscommand"];
  const reasons = [
    ...(isSet(command) ? [`sshd also asks ${command.split(" ", 1).join("")} for them (AuthorizedKeysCommand)`] : []),
    ...(isSet(options["trustedusercakeys"]) ? ["sshd also takes certificates (TrustedUserCAKeys)"] : []),
    ...patterns.map((pattern) => `those of the files ${pattern} are not read (AuthorizedKeysFile)`),
  ];
  return { files, keysAre: reasons.length === 0 ? "all" : "some", reasons };
}
