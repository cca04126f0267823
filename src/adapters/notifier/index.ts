export { createEmailNotifier, type MailSettings } from "./email.ts";
export { createHttpNotifier } from "./http.ts";
export { type HttpTarget, httpService } from "./services.ts";
