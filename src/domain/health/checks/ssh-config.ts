import type { SshServer } from "#domain/ports/network.ts";
import { counted, listNames } from "#kernel/text.ts";
import { type Check, type CheckSettings, createIgnore, type Outcome, skip } from "../check.ts";

type Options = Readonly<Record<string, string>>;

interface Finding {
  readonly option: string;
  readonly value: string;
  readonly status: "warn" | "fail";
  readonly problem: string;
  readonly advice: string;
}

const isOn = (options: Options, name: string): boolean => options[name] === "yes";

function mayAlone(options: Options, method: string): boolean {
  const lists = (options["authenticationmethods"] ?? "any").split(" ");
  return lists.some((list) => list === "any" || list.split(",").every((each) => each.split(":")[0] === method));
}

/** Options by which a password may be enough. */
const passwordWays = {
  passwordauthentication: {
    spelled: "PasswordAuthentication",
    problem: "a password is enough to log in, and passwords can be guessed",
  },
  kbdinteractiveauthentication: {
    spelled: "KbdInteractiveAuthentication",
    problem: "PAM alone is enough to log in, and asks for a password unless configured otherwise",
  },
} as const;

function passwordOption(options: Options): keyof typeof passwordWays | undefined {
  if (isOn(options, "passwordauthentication") && mayAlone(options, "password")) return "passwordauthentication";
  const asksPam = isOn(options, "usepam") && isOn(options, "kbdinteractiveauthentication");
  return asksPam && mayAlone(options, "keyboard-interactive") ? "kbdinteractiveauthentication" : undefined;
}

/** What else is wrong where a password is enough. */
const withPasswords: readonly Finding[] = [
  {
    option: "permitrootlogin",
    value: "yes",
    status: "fail",
    problem: "root may log in with a password",
    advice: "Set PermitRootLogin prohibit-password",
  },
  {
    option: "permitemptypasswords",
    value: "yes",
    status: "fail",
    problem: "accounts without a password are open to everybody",
    advice: "Set PermitEmptyPasswords no",
  },
];

const always: readonly Finding[] = [
  {
    option: "strictmodes",
    value: "no",
    status: "warn",
    problem: "key files are accepted even if other users can write to them",
    advice: "Set StrictModes yes",
  },
  {
    option: "permituserenvironment",
    value: "yes",
    status: "warn",
    problem: "users can bypass forced commands with environment variables of their own",
    advice: "Set PermitUserEnvironment no",
  },
];

function passwordFindings(options: Options): readonly Finding[] {
  const option = passwordOption(options);
  if (option === undefined) return [];
  const { problem, spelled } = passwordWays[option];
  const advice = `When all users have keys, set ${spelled} no`;
  return [{ option, value: "yes", status: "warn", problem, advice }, ...withPasswords];
}

/** Weak algorithms that no supported release offers by default. */
const broken: readonly { readonly option: string; readonly spelled: string; readonly pattern: RegExp }[] = [
  { option: "ciphers", spelled: "Ciphers", pattern: /^(3des|blowfish|cast128|arcfour)|-cbc/ },
  { option: "macs", spelled: "MACs", pattern: /^hmac-(md5|ripemd160)|^hmac-sha1-96/ },
  { option: "kexalgorithms", spelled: "KexAlgorithms", pattern: /^diffie-hellman-.*-sha1$/ },
  { option: "hostkeyalgorithms", spelled: "HostKeyAlgorithms", pattern: /^ssh-(dss|rsa)(-cert-v01@openssh\.com)?$/ },
  {
    option: "pubkeyacceptedalgorithms",
    spelled: "PubkeyAcceptedAlgorithms",
    pattern: /^ssh-(dss|rsa)(-cert-v01@openssh\.com)?$/,
  },
];

function algorithmFindings(options: Options): readonly Finding[] {
  return broken.flatMap(({ option, spelled, pattern }) => {
    const found = (options[option] ?? "").split(",").filter((name) => pattern.test(name));
    if (found.length === 0) return [];
    return [
      {
        option,
        value: found.join(","),
        status: "warn",
        problem: `${listNames(found)} ${found.length === 1 ? "is" : "are"} broken or weak`,
        advice: `Take ${listNames(found)} out of ${spelled}, or the whole line`,
      },
    ];
  });
}

function judgeOptions(options: Options, { ignore }: CheckSettings): Outcome {
  const isIgnored = createIgnore(ignore.map((name) => name.toLowerCase()));
  const fixed = [...passwordFindings(options), ...always].filter(({ option, value }) => options[option] === value);
  const findings = [...fixed, ...algorithmFindings(options)]
    .filter(({ option }) => !isIgnored(option))
    .sort((a, b) => Number(b.status === "fail") - Number(a.status === "fail"));
  const details = { findings };
  const [worst, ...others] = findings;
  if (worst === undefined) return { status: "pass", message: "sshd accepts only strong authentication", details };
  const more = others.length === 0 ? "" : ` (and ${counted(others.length, "more finding")})`;
  return { status: worst.status, message: `sshd: ${worst.problem}. ${worst.advice}${more}`, details };
}

/**
 * sshd's effective configuration. Fails for root with a password, empty passwords, and a configuration with which sshd would not
 * start. Warns for a password alone, keys that others may write, user variables, and weak algorithms. `Match` blocks count
 * where they fit every connection. A default Debian warns, since passwords are enough; settings can ignore
 * `passwordauthentication`. X11 forwarding is not reported, since it endangers clients, nor `PermitRootLogin yes` where a
 * password is not enough. `ignore` takes names of options.
 */
export const sshConfigCheck = ({ ssh }: { ssh: SshServer }): Check => ({
  id: "ssh_config",
  name: "SSH server configuration",
  category: "security",
  severity: "high",
  guardedBy: "change",
  intervalMs: 10 * 60_000,
  async run(settings, signal) {
    const config = await ssh.config(signal);
    if (config === undefined) return skip("There is no SSH server on this host");
    if (config.is === "unknown") {
      const message = `The configuration of the SSH server cannot be read: ${config.reason}`;
      return { status: "skip", message, details: { reason: config.reason } };
    }
    if (config.is === "refused") {
      const message = `sshd would not start with its configuration: ${config.message}`;
      return { status: "fail", message, details: { error: config.message } };
    }
    return judgeOptions(config.options, settings);
  },
});
