/** Environment variables about downloads. */

const isSet = (name: string): boolean => !["", "0", "false", "no"].includes((process.env[name] ?? "").toLowerCase());

/** Whether `NUDGE_NO_DOWNLOAD` forbids downloads. */
export const downloadsForbidden = (): boolean => isSet("NUDGE_NO_DOWNLOAD");

/** Whether `NUDGE_DOWNLOAD` allows downloads without asking. */
export const downloadsAllowed = (): boolean => isSet("NUDGE_DOWNLOAD");
