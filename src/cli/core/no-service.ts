export class NoKey extends Error {
  override readonly name = "NoKey";
}

export class NoService extends Error {
  override readonly name = "NoService";
}

/** How to look at a service that does not answer. @param where its host, if it is another one: ` on web-1` */
export const howToLook = (where = ""): string =>
  `is it running? systemctl status steward, journalctl -u steward${where}`;
