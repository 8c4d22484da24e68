"""What `placec check --json` says that a step sends."""


def predicted(report, averages):
    """By axis, of the stage that sends most along it; `averages`: of a step behind which parameters are averaged."""
    traffic = {}
    for stage in {row["stage"] for row in report["communication"]}:
        sent = {}
        for row in report["communication"]:
            if row["stage"] == stage and (averages or row["every"] == 1):
                sent[row["axis"]] = sent.get(row["axis"], 0) + row["bytes"]
        traffic = {axis: max(traffic.get(axis, 0), sent.get(axis, 0)) for axis in traffic | sent}
    return traffic


def is_average(report, number, n_steps):
    """Whether parameters are averaged behind a step: each so-manieth, and the last."""
    return number == n_steps or any(number % row["every"] == 0 for row in report["communication"] if row["every"] > 1)


def total(report):
    """Of the stage that sends most."""
    stages = {}
    for row in report["communication"]:
        stages[row["stage"]] = stages.get(row["stage"], 0) + row["bytes"]
    return max(stages.values(), default=0)
