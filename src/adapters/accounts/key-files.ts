import type { Account } from "#domain/ports/accounts.ts";
import type { SshConfig, SshMatch } from "#domain/ports/network.ts";
import { listNames } from "#kernel/text.ts";
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

/** Options by which keys are found. */
const ofKeys = ["authorizedkeysfile", "authorizedkeyscommand", "pubkeyauthentication", "trustedusercakeys"];

type SshRules = Pick<Extract<SshConfig, { is: "valid" }>, "options" | "matches">;

const isAboutKeys = ({ options }: SshMatch): boolean => ofKeys.some((option) => options[option] !== undefined);

/** Where keys are by sshd's own configuration for a user; in the usual files where no sshd is installed. */
export function keyFilesOf(row: PasswdRow, config: SshConfig | undefined): KeyFiles {
  const { options, matches }: SshRules = config?.is === "valid" ? config : { options: {}, matches: [] };
  const differing = matches.filter(isAboutKeys).map(({ match }) => match);
  const byConnection =
    differing.length === 0 ? [] : [`sshd takes others from some connections (${listNames(differing)})`];
  const keysAre = differing.length === 0 ? "all" : "assumed";
  if (options["pubkeyauthentication"] === "no") return { files: [], keysAre, reasons: byConnection };
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
    ...byConnection,
    ...(isSet(command) ? [`sshd also asks ${command.split(" ", 1).join("")} for them (AuthorizedKeysCommand)`] : []),
    ...(isSet(options["trustedusercakeys"]) ? ["sshd also takes certificates (TrustedUserCAKeys)"] : []),
    ...patterns.map((pattern) => `those of the files ${pattern} are not read (AuthorizedKeysFile)`),
  ];
  return { files, keysAre: keysAre === "all" && reasons.length > 0 ? "some" : keysAre, reasons };
}
