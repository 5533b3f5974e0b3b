/** The training pictures of a model, for `nudge eval`, and the output of the comparison with them. */

import type { SignatureOptions } from "../data/picture-signatures.js";
import { countOf } from "../data/show-name.js";
import { readTrainingPictures, type TrainingPictures } from "../model/training-pictures.js";
import { roughly } from "../own-data/estimate.js";
import { terminalLine } from "./terminal-line.js";

/** Reads the training pictures, if the run folder of the model has them. */
export function knownTraining(model: string): { training?: TrainingPictures; comparing: SignatureOptions } {
  const line = terminalLine();
  return {
    training: readTrainingPictures(model),
    comparing: {
      announce: (seconds, total) =>
        process.stderr.write(
          `comparing ${countOf(total, "picture")} with the training pictures: about ${roughly(seconds)}, as measured just now\n`,
        ),
      progress: (done, total) => {
        line.show(`comparing with the training pictures: ${done} of ${total}`);
        if (done + 16 > total) line.clear();
      },
    },
  };
}
