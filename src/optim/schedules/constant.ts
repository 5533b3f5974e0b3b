/** A constant learning rate, as in DomainBed. */

import { defineSchedule } from "../define-schedule.js";

export const constant = defineSchedule({ id: "constant", title: "constant", options: {}, factor: () => 1 });
