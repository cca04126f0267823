export { createChatNotifier } from "./chat.ts";
export { createEmailNotifier, type MailSettings } from "./email.ts";
