export class NoKey extends Error {
  override readonly name = "NoKey";
}

export class NoService extends Error {
  override readonly name = "NoService";
}
