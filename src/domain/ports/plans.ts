/** Seals plan tokens, and remembers which were used. What a restart of the service must not forget is on the disk. */
export interface PlanSeals {
  readonly newId: () => string;
  /** A digest of a text, base64url. */
  readonly digest: (text: string) => string;
  /** An authentication code of a text by a secret of this host, base64url. */
  readonly sign: (text: string) => string;
  /** Compares in constant time. */
  readonly isSigned: (text: string, code: string) => boolean;
  /** Which request has used a plan; undefined while none has. */
  readonly userOf: (id: string) => string | undefined;
  /**
   * Records that a plan is used, before it is carried out.
   * @param by distinguishes the request from others.
   * @param forgetAfter epoch milliseconds.
   * @returns false when it was used already.
   * @throws HostUnavailable when that cannot be recorded.
   */
  readonly use: (id: string, by: string, forgetAfter: number) => boolean;
}
