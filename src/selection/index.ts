/** The selection methods there are, in the order of DomainBed's tables; a new one is a file and a line here. */

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

/** DomainBed's classes of them. */
const referenceNames: Readonly<Record<string, string>> = {
  IIDAccuracySelectionMethod: trainingDomain.id,
  LeaveOneOutSelectionMethod: leaveOneDomainOut.id,
  OracleSelectionMethod: oracle.id,
};

/** The selection method of this id; an unknown one is an error that names the nearest, or what DomainBed's name is here. */
export function selectionNamed(id: string): SelectionMethod {
  if (Object.hasOwn(referenceNames, id))
    throw new UsageError(`unknown selection method "${id}": DomainBed's name; here it is ${referenceNames[id]}`);
  if (!Object.hasOwn(selections, id))
    throw new UsageError(unknownName("selection method", id, Object.keys(selections)));
  return selections[id];
}
