/**
 * The mistakes of a trained model: confusion matrices by domain, and the pictures whose true class has the lowest
 * probability.
 */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Assessment, WrongPicture } from "../api.js";
import { Empty, filled, inWords, Select } from "./view.js";

/** The maximum number of classes in a confusion matrix on the page. */
const MOST_CLASSES = 40;

/** The whole section. `run` is the id for requesting pictures. */
export function Mistakes({ run, assessment }: { run: string; assessment: Assessment | null }): JSX.Element {
  if (!assessment)
    return (
      <Empty
        title="No assessment of this run"
        words={inWords(
          "A run on pictures writes one when it finishes. For any model and folder, use `nudge eval MODEL --data DIR`.",
        )}
      />
    );
  const { classes, confusion, mostWrong, of } = assessment;
  return (
    <div class="mistakes">
      {confusion.length > 0 && classes.length <= MOST_CLASSES && <Confusion {...assessment} />}
      <section>
        <h3>Worst mistakes</h3>
        <p class="soft">
          {mostWrong.length === 0
            ? `None on ${of}.`
            : `On ${of}, sorted by the probability of the true class, lowest first.`}
        </p>
        <ul class="pictures">
          {mostWrong.map((picture) => (
            <Picture key={picture.n} run={run} {...picture} />
          ))}
        </ul>
      </section>
    </div>
  );
}

function Confusion({ classes, confusion: domains }: Assessment): JSX.Element {
  const [shown, setShown] = useState("0");
  const { counts } = domains[Number(shown)] ?? domains[0];
  return (
    <section>
      <h3>Confusion matrix</h3>
      <div class="bar">
        <Select
          label="Domain"
          options={domains.map(({ domain }, i) => ({ id: String(i), label: domain }))}
          chosen={shown}
          choose={setShown}
        />
      </div>
      <div class="scroll">
        <table class="confusion">
          <thead>
            <tr>
              <td />
              {classes.map((name) => (
                <th key={name} scope="col">
                  <span>{name}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {counts.map((row, i) => (
              <tr key={classes[i]}>
                <th scope="row">{classes[i]}</th>
                {row.map((count, j) => {
                  const sum = row.reduce((a, b) => a + b, 0);
                  return (
                    <td
                      key={classes[j]}
                      class={i === j ? "right" : "wrong"}
                      style={filled(sum > 0 ? count / sum : 0)}
                      title={`${classes[i]} predicted as ${classes[j]}: ${count} of ${sum}`}
                    >
                      {count > 0 ? count : ""}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="soft">Rows are true classes, columns are predicted classes.</p>
    </section>
  );
}

const percentOf = (share: number): string => `${(100 * share).toFixed(1)}\u00a0%`;

function Picture({
  run,
  n,
  name,
  domain,
  label,
  predicted,
  confidence,
  truth,
  shown,
}: WrongPicture & { run: string }): JSX.Element {
  const address = `/api/picture?${new URLSearchParams({ run, n: String(n) })}`;
  return (
    <li title={name}>
      {shown ? (
        <img src={address} alt={`${label}, predicted ${predicted}`} loading="lazy" decoding="async" />
      ) : (
        <div
          class="no-picture"
          title="The file is not on this machine, or not below a folder given with nudge dashboard --data"
        >
          not shown
        </div>
      )}
      <strong>{label}</strong>
      <span>{`predicted ${predicted}, ${percentOf(confidence)}`}</span>
      <span class="soft">{`${label}: ${percentOf(truth)}`}</span>
      <span class="soft">{domain}</span>
    </li>
  );
}
