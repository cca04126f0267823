import { appendFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";
import type { Received } from "./observability.ts";
import { receivers } from "./observability.ts";

// Runs inside the guest: a mail server and a webhook that write down what they get.
const { file, smtpPort, webhookPort } = receivers;
writeFileSync(file, "");
const note = (received: Received): void => appendFileSync(file, `${JSON.stringify(received)}\n`);

const mails = new SMTPServer({
  authOptional: true,
  disabledCommands: ["STARTTLS", "AUTH"],
  disableReverseLookup: true,
  onData(stream, { envelope }, callback) {
    let raw = "";
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      raw += chunk;
    });
    stream.on("error", callback);
    stream.on("end", () => {
      note({ by: "mail", to: envelope.rcptTo.map(({ address }) => address), raw });
      callback();
    });
  },
});
mails.listen(smtpPort, "127.0.0.1");

createServer((request, response) => {
  text(request).then(
    (body) => {
      note({ by: "webhook", path: request.url ?? "", body });
      response.end("ok");
    },
    (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
  );
}).listen(webhookPort, "127.0.0.1");
