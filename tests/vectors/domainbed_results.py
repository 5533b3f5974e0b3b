"""Writes a small sweep of invented numbers in DomainBed's format. Its collector's text is domainbed-results.txt:

    python3 tests/vectors/domainbed_results.py FOLDER
    python3 -m domainbed.scripts.collect_results --input_dir FOLDER   # DomainBed b93c22a; listdir sorted
    cp FOLDER/results.txt tests/vectors/domainbed-results.txt

src/selection/domainbed-tables.test.ts writes the same folder by the same formula.
"""
import json
import os
import sys

draws = 0


def value():
    """Fortieths, so that there are ties."""
    global draws
    draws += 1
    return (draws * draws * 7919 + draws * 104729) % 41 / 40


def write(folder, dataset, environments, algorithm, test_envs, trial_seed, hparams_seed):
    path = os.path.join(folder, f"{dataset}-{algorithm}-{'-'.join(map(str, test_envs))}-{trial_seed}-{hparams_seed}")
    os.makedirs(path)
    with open(os.path.join(path, "results.jsonl"), "w") as file:
        for step in (0, 300, 600):
            line = {"step": step, "epoch": step / 41, "loss": float("nan"), "hparams": {"lr": 5e-05}}
            line["args"] = {
                "algorithm": algorithm,
                "dataset": dataset,
                "test_envs": test_envs,
                "trial_seed": trial_seed,
                "hparams_seed": hparams_seed,
            }
            for i in range(environments):
                line[f"env{i}_in_acc"] = value()
                line[f"env{i}_out_acc"] = value()
            file.write(json.dumps(line, sort_keys=True) + "\n")


def main(folder):
    singles = [[i] for i in range(4)]
    pairs = [[i, j] for i in range(4) for j in range(i + 1, 4)]
    for trial_seed in range(3):
        for hparams_seed in range(3):
            for test_envs in singles + pairs:
                write(folder, "PACS", 4, "ERM", test_envs, trial_seed, hparams_seed)
            for test_envs in singles:
                write(folder, "PACS", 4, "VREx", test_envs, trial_seed, hparams_seed)
    for test_env in range(5):  # one of six is missing
        write(folder, "RotatedMNIST", 6, "A_name_of_more_than_25_letters", [test_env], 0, 0)
    write(folder, "Unheard", 2, "ERM", [0], 0, 0)


main(sys.argv[1])
