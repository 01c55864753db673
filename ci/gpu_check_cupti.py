"""Did CUPTI record all of a run, and does it agree with CUDA's events? For ci/gpu_check: its
argument is the records of a run with --profile cupti; what is wrong is said, and is red.

A step begins at the same kernel for both, so its times differ by microseconds of many milliseconds:
15 % is far more, and less than a clock of another unit or a lost step. What ran inside of spans is
no longer than the spans (2 % for the clocks' own steps), and at 16 x 1024 tokens, where kernels are
long beside the gaps between them, more than half of it."""
import json
import sys


def wrong_with(record):
    profile = record["profile"]
    if profile is None:
        return [record["profile_reason"]]
    said = []
    for rank in profile["ranks"]:
        said += [f"rank {rank['rank']}: {sentence}" for sentence in rank["missing"]]
        for what in "untimed", "dropped", "unreadable":
            if rank[what] > 0:
                said.append(f"rank {rank['rank']}: {rank[what]} {what}")
        if rank["activities"]["count"] == 0:
            said.append(f"rank {rank['rank']}: no activity was recorded")
    events, activities = profile["by_events"], profile["by_activities"]
    for name, parts, least, most in (
        ("step", ("step_ns",), 0.85, 1.15),
        ("forward and backward", ("forward_ns", "backward_ns"), 0.5, 1.02),
    ):
        a, b = sum(activities[p] for p in parts), sum(events[p] for p in parts)
        sentence = f"{name}: {a * 1e-6:.3f} ms by activities, {b * 1e-6:.3f} ms by events"
        print(sentence)
        if not least * b <= a <= most * b or b == 0:
            said.append(f"{sentence}; {least} to {most} of it was asked for")
    return said


with open(sys.argv[1], encoding="utf-8") as lines:
    records = [json.loads(line) for line in lines]
wrong = [sentence for record in records for sentence in wrong_with(record)]
if not records:
    wrong.append("there is no record")
for one in wrong:
    print("wrong:", one)
sys.exit(bool(wrong))
