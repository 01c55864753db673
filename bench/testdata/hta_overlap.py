# How much of the communication is hidden, in HolisticTraceAnalysis' words? Prints per cent by rank,
# as JSON, of a folder with a trace a rank.
import json
import os
import sys

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else begins and ends become whole microseconds
from hta.trace_analysis import TraceAnalysis

analysis = TraceAnalysis(trace_dir=sys.argv[1], include_last_profiler_step=True)
overlap = analysis.get_comm_comp_overlap(visualize=False).sort_values("rank")
print(json.dumps(list(overlap["comp_comm_overlap_pctg"])))
