import type { HttpService } from "./http.ts";
import {
  type ChatTarget,
  chatService,
  type GotifyTarget,
  gotifyService,
  type MatrixTarget,
  matrixService,
  type NtfyTarget,
  ntfyService,
  type TeamsTarget,
  type TelegramTarget,
  teamsService,
  telegramService,
} from "./messengers.ts";
import { type OpsgenieTarget, opsgenieService, type PagerdutyTarget, pagerdutyService } from "./paging.ts";
import { type WebhookTarget, webhookService } from "./webhook.ts";

export type HttpTarget =
  | ChatTarget
  | NtfyTarget
  | GotifyTarget
  | TelegramTarget
  | MatrixTarget
  | TeamsTarget
  | PagerdutyTarget
  | OpsgenieTarget
  | WebhookTarget;

/** @param host name of this host, for services that want to know what a message comes from. */
export function httpService(target: HttpTarget, host: string): HttpService {
  switch (target.service) {
    case "chat":
      return chatService(target);
    case "ntfy":
      return ntfyService(target);
    case "gotify":
      return gotifyService(target);
    case "telegram":
      return telegramService(target);
    case "matrix":
      return matrixService(target);
    case "teams":
      return teamsService(target);
    case "pagerduty":
      return pagerdutyService(target, host);
    case "opsgenie":
      return opsgenieService(target, host);
    case "webhook":
      return webhookService(target, host);
  }
}
