import type { HttpService } from "./http.ts";
import { serviceUrl, toToken } from "./settings.ts";
import { titleAndFacts } from "./text.ts";

export interface MatrixTarget {
  readonly service: "matrix";
  readonly url: string;
  readonly room: string;
  readonly tokenFile: string;
}

/**
 * https://spec.matrix.org/latest/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid. A repetition has the same
 * transaction, so the server takes it once.
 */
export const matrixService = ({ url, room, tokenFile }: MatrixTarget): HttpService => ({
  name: "the Matrix server",
  request: (message, read) => {
    const transaction = encodeURIComponent(`steward-${message.id}`);
    const path = `/_matrix/client/v3/rooms/${encodeURIComponent(room)}/send/m.room.message/${transaction}`;
    return {
      url: serviceUrl(url, path),
      method: "PUT",
      headers: { authorization: `Bearer ${toToken(read(tokenFile), tokenFile)}` },
      // A notice (`m.notice`) would be silent. No mentions: no name in the text calls anybody.
      body: { msgtype: "m.text", body: titleAndFacts(message), "m.mentions": {} },
    };
  },
});
