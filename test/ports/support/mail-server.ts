import { once } from "node:events";
import { SMTPServer } from "smtp-server";

/** A mail as it came over the wire. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body. */
  readonly raw: string;
  readonly isSecure: boolean;
  /** The user who logged in. */
  readonly user: string | undefined;
}

export interface MailServer {
  readonly port: number;
  readonly mails: readonly ReceivedMail[];
}

export interface MailServerOptions {
  readonly tls?: { readonly cert: string; readonly key: string };
  /** TLS from the first byte instead of STARTTLS. */
  readonly isSecure?: boolean;
  /** Anyone who does not log in so is refused. */
  readonly login?: { readonly user: string; readonly password: string };
  /** What it says to a recipient instead of taking it. */
  readonly refuse?: (to: string) => { readonly code: number; readonly message: string } | undefined;
}

const refusal = ({ code, message }: { code: number; message: string }): Error =>
  Object.assign(new Error(message), { responseCode: code });

/** Runs the test with a mail server on loopback that keeps what it is sent. */
export async function withMailServer(
  { tls, isSecure = false, login, refuse }: MailServerOptions,
  test: (server: MailServer) => Promise<void>,
): Promise<void> {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    secure: isSecure,
    ...(tls ?? {}),
    disabledCommands: [...(tls === undefined ? ["STARTTLS"] : []), ...(login === undefined ? ["AUTH"] : [])],
    authOptional: login === undefined,
    disableReverseLookup: true,
    onAuth({ username, password }, _, callback) {
      if (username === login?.user && password === login?.password) return callback(null, { user: username });
      callback(refusal({ code: 535, message: `5.7.8 no, ${String(password)} is wrong` }));
    },
    onRcptTo({ address }, _, callback) {
      const no = refuse?.(address);
      callback(no === undefined ? undefined : refusal(no));
    },
    onData(stream, session, callback) {
      const { mailFrom, rcptTo } = session.envelope;
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("error", callback);
      stream.on("end", () => {
        mails.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString("utf8"),
          isSecure: session.secure,
          user: typeof session.user === "string" ? session.user : undefined,
        });
        callback();
      });
    },
  });
  // A client that breaks a handshake off is what some tests are about.
  server.on("error", () => undefined);
  const listening = server.listen(0, "127.0.0.1");
  await once(listening, "listening");
  try {
    const address = listening.address();
    await test({ port: typeof address === "object" && address !== null ? address.port : 0, mails });
  } finally {
    await new Promise<void>((resolve) => server.close(resolve));
  }
}
