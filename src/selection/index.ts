/** The selection methods, in the order of DomainBed's tables. To add one, add a file and a line here. */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import { leaveOneDomainOut } from "./leave-one-domain-out.js";
import { oracle } from "./oracle.js";
import type { SelectionMethod } from "./selection.js";
import { trainingDomain } from "./training-domain.js";

export { type GroupResult, groupRuns, type RunGroup, rankHparams, selectGroups } from "./across-hparams.js";
export {
  averageOf,
  type Cell,
  cellOf,
  datasetCell,
  domainCell,
  formatAverage,
  formatCell,
} from "./cells.js";
export { domainBedTables } from "./domainbed-tables.js";
export type { Choice, SelectionMethod } from "./selection.js";
export { leaveOneDomainOut, oracle, trainingDomain };

/** Selection methods by id. */
export const selections: Readonly<Record<string, SelectionMethod>> = Object.fromEntries(
  [trainingDomain, leaveOneDomainOut, oracle].map((method) => [method.id, method]),
);

/** The class names of the selection methods in DomainBed. */
const referenceNames: Readonly<Record<string, string>> = {
  IIDAccuracySelectionMethod: trainingDomain.id,
  LeaveOneOutSelectionMethod: leaveOneDomainOut.id,
  OracleSelectionMethod: oracle.id,
};

/**
 * Returns the selection method with this id. For an unknown id, the error suggests the closest id, or our id of
 * DomainBed's class name.
 */
export function selectionNamed(id: string): SelectionMethod {
  if (Object.hasOwn(referenceNames, id))
    throw new UsageError(`unknown selection method "${id}": DomainBed's name; here it is ${referenceNames[id]}`);
  if (!Object.hasOwn(selections, id))
    throw new UsageError(unknownName("selection method", id, Object.keys(selections)));
  return selections[id];
}
